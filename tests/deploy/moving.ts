/** A company in a project of its own and others', and a second project with companies that it moves into. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type postgres from "postgres";
import { expect } from "vitest";
import type { Stack } from "../../supabase/local/stack.ts";
import { exportTenant } from "../../supabase/tenant/export.ts";
import { importTenant } from "../../supabase/tenant/import.ts";
import { openPlace, type Place } from "../../supabase/tenant/place.ts";
import { signedIn } from "../support/api.ts";
import { moveTo, sql } from "../support/db.ts";
import { type Everything, newEverything } from "../support/everything.ts";
import { startOwnStack } from "../support/own-stack.ts";
import { newSystemAdmin } from "../support/people.ts";
import { runProgram } from "../tools/checks/programs.ts";
import { commandsUnder, wordsOf } from "./operations-page.ts";

export const password = "Move-me-2026";
export const passwordHere = "Known-here-2026";
export const photo = new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10, 1, 2, 3]);
const lists = [
  "/delivery/deliveries",
  "/delivery/transfer-manifests",
  "/delivery/wallets",
  "/delivery/assignments",
  "/delivery/cod-collections",
  "/warehousing/inventory",
  "/warehousing/picking-orders",
  "/storefront/orders",
  "/tenants/me/api-keys",
];
/** A payment that is open at its gateway, under this number. */
export const openNumber = "900000000001";

export let folder: string;
export let old: Stack;
export let fresh: Stack;
let from: Place;
export let to: Place;
export let moved: Everything;
export let neighbour: Everything;
let leave = () => Promise.resolve();
export const slug = () => `t-${moved.tenant.id}`;
export const path = () => `${moved.tenant.id}/deliveries/photo.png`;

/** From now on tests ask this project. */
export async function goTo(stack: Stack) {
  await leave();
  leave = moveTo(stack);
}

const placeOf = ({ dbUrl, url, secretKey }: Stack) =>
  openPlace({ databaseUrl: dbUrl, url, secretKey });

/** The lines of a command, and its failure. */
async function said(work: (print: (line: string) => void) => Promise<void>) {
  const lines: string[] = [];
  try {
    await work((line) => lines.push(line));
    return { lines };
  } catch (error) {
    return { lines, failure: (error as Error).message };
  }
}

export const exported = (
  options: { slug?: string; dryRun?: boolean; whileActive?: boolean; to?: string } = {},
) =>
  said((print) =>
    exportTenant(from, { slug: slug(), dryRun: false, whileActive: false, ...options }, print)
  );
export const imported = (options: { dryRun?: boolean; from?: string } = {}) =>
  said((print) =>
    importTenant(to, { from: join(folder, "export"), dryRun: false, ...options }, print)
  );

export const answers = async (tenant: Everything["tenant"]) =>
  Object.fromEntries(
    await Promise.all(lists.map(async (list) => {
      const { status, body } = await signedIn(tenant.admin.id, tenant.id).get(list, {
        query: { limit: 100 },
      });
      expect(status, list).toBe(200);
      expect(JSON.stringify(body), list).toMatch(/"id":"/);
      return [list, body];
    })),
  );

export const members = async () => {
  const found =
    await sql`select u.email from tenancy.tenant_users m join auth.users u on u.id = m.user_id
    where m.tenant_id = ${moved.tenant.id} and m.is_active order by 1`;
  return found.map(({ email }) => email as string);
};

/** Changes rows behind their guards, as an import does. */
export const unguarded = (work: (tx: postgres.TransactionSql) => Promise<void>) =>
  sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await work(tx);
  });

export const numbersOf = ({ tenant }: Everything) =>
  sql`select gateway_order_id as number from money.payments
    where tenant_id = ${tenant.id} and gateway_order_id is not null order by 1`;

/** Of each outcome: which move of its delivery it ended with, by place, and whether a transaction to come undoes it. */
export const outcomes = ({ tenant }: Everything) =>
  sql`select o.result, count(h.id)::int as moves, bool_or(h.id = o.last_move_id) as is_move,
      o.undone_in >= pg_current_xact_id() as undone_later
    from delivery.outcomes o
    left join delivery.delivery_status_history h on h.tenant_id = o.tenant_id and h.delivery_id = o.delivery_id and h.id <= o.last_move_id
    where o.tenant_id = ${tenant.id} group by o.id order by o.id`;

/** The cursor of changes after all deliveries. */
async function cursorOf({ tenant }: Everything): Promise<string> {
  const query = { updated_since: "2000-01-01T00:00:00Z", limit: 100 };
  const { status, body } = await signedIn(tenant.admin.id, tenant.id)
    .get("/delivery/deliveries", { query });
  expect(status).toBe(200);
  return body.next_cursor;
}

/** The number of a transaction that has ended. */
async function transactionOf({ sql }: Stack): Promise<string> {
  const [{ number }] = await sql`select pg_current_xact_id()::text as number`;
  return number;
}

/** A command of the page, as its reader types it. */
export function command(position: number, { dbUrl, url, secretKey }: Stack) {
  const values = { slug: slug(), folder: join(folder, "export") };
  const [, , , , ...args] = wordsOf(
    commandsUnder("Move a company").filter((line) => line.startsWith("npm run tenant"))[position]!,
    values,
  );
  return runProgram(process.execPath, ["supabase/local/bootstrap.mjs", "tenant", ...args], {
    env: { ...process.env, DATABASE_URL: dbUrl, SUPABASE_URL: url, SUPABASE_SECRET_KEY: secretKey },
  });
}

export let closedNumber: string;
export let known: { id: string; email: string; name: string; phone: string };
export let before: {
  lists: Awaited<ReturnType<typeof answers>>;
  members: string[];
  outcomes: Awaited<ReturnType<typeof outcomes>>;
  cursor: string;
  transaction: string;
};

/** Starts both projects, with companies in each, and notes how the one that moves looks. */
export async function prepare(): Promise<void> {
  folder = mkdtempSync(join(tmpdir(), "barid-tenant-"));
  old = await startOwnStack({ env: { BARID_LOG_LEVEL: "error" } });
  fresh = await startOwnStack({ env: { BARID_LOG_LEVEL: "error" } });
  [from, to] = [placeOf(old), placeOf(fresh)];
  await goTo(fresh);
  await newEverything();
  neighbour = await newEverything("received");
  await goTo(old);
  const other = await newEverything("received");
  moved = await newEverything("received");
  const system = await newSystemAdmin();
  await sql`update storefront.markets set approved_by = ${system.id} where tenant_id = ${moved.tenant.id}`;
  await sql`insert into tenancy.api_keys (tenant_id, name, key_hash, created_by, expires_at)
    values (${moved.tenant.id}, 'Of the other project', sha256('other'), ${system.id}, now() + interval '1 month')`;
  await sql`update auth.users set encrypted_password = extensions.crypt(${password}, extensions.gen_salt('bf', 4)),
    email_confirmed_at = now(), aud = 'authenticated', role = 'authenticated', instance_id = '00000000-0000-0000-0000-000000000000'
    where id in (select user_id from tenancy.tenant_users where tenant_id = ${moved.tenant.id})`;
  await sql`insert into auth.identities (provider_id, user_id, identity_data, provider)
    select u.id::text, u.id, jsonb_build_object('sub', u.id, 'email', u.email), 'email' from auth.users u
    where u.id in (select user_id from tenancy.tenant_users where tenant_id = ${moved.tenant.id})
    on conflict do nothing`;
  for (const id of [moved.tenant.id, other.tenant.id]) {
    const { error } = await from.storage.from("proofs")
      .upload(`${id}/deliveries/photo.png`, photo, { contentType: "image/png" });
    expect(error).toBeNull();
  }
  [{ number: closedNumber }] = await numbersOf(moved);
  await unguarded(async (tx) => {
    await tx`insert into money.payments select p.* from money.payments o, jsonb_populate_record(o, jsonb_build_object(
        'id', gen_random_uuid(), 'gateway_order_id', ${openNumber}::text, 'redirect_url', 'https://pay.test', 'opened_at', now())) p
      where o.tenant_id = ${moved.tenant.id} and o.gateway_order_id = ${closedNumber}`;
  });
  await unguarded(async (tx) => {
    for (const to of ["failed", "returned"]) {
      await tx`insert into delivery.delivery_status_history (tenant_id, delivery_id, to_status)
        select o.tenant_id, o.delivery_id, ${to} from delivery.outcomes o where o.tenant_id = ${moved.tenant.id}`;
    }
    await tx`update delivery.outcomes o set undone_at = now(), undo_reason = 'Wrong door', undone_in = '9000000000', last_move_id = (
        select max(h.id) from delivery.delivery_status_history h where h.delivery_id = o.delivery_id and h.to_status = 'failed')
      where o.tenant_id = ${moved.tenant.id}`;
  });
  [known] = await sql<{ id: string; email: string; name: string; phone: string }[]>`
    select id, email, full_name as name, phone from tenancy.profiles where id = ${moved.tenant.driver.id}`;
  before = {
    lists: await answers(moved.tenant),
    members: await members(),
    outcomes: await outcomes(moved),
    cursor: await cursorOf(moved),
    transaction: await transactionOf(fresh),
  };
}

/** Stops both. */
export async function end(): Promise<void> {
  await leave();
  await from?.close();
  await to?.close();
  await old?.stop();
  await fresh?.stop();
  rmSync(folder, { recursive: true, force: true });
}

/** Gives the neighbour a number at a gateway that the moved company has as well, and one of its people an account here. */
export async function shareWithNeighbour(): Promise<void> {
  // The neighbour has the number of the store as well.
  const [{ code }] = await old
    .sql`select code from storefront.markets where tenant_id = ${moved.tenant.id}`;
  expect(await sql`select from storefront.markets where code = ${code}`).toHaveLength(1);
  await unguarded(async (tx) => {
    await tx`update money.payments set gateway_order_id = ${closedNumber}
      where tenant_id = ${neighbour.tenant.id} and gateway_order_id is not null`;
    // One person is known here, with another password.
    await tx`insert into auth.users (id, email, aud, role, instance_id, email_confirmed_at, encrypted_password)
      values (${known.id}, ${known.email}, 'authenticated', 'authenticated', '00000000-0000-0000-0000-000000000000', now(),
        extensions.crypt(${passwordHere}, extensions.gen_salt('bf', 4)))`;
    await tx`insert into tenancy.profiles (id, full_name, phone, email) values (${known.id}, ${known.name}, ${known.phone}, ${known.email})`;
    await tx`insert into auth.identities (provider_id, user_id, identity_data, provider)
      values (${known.id}, ${known.id}, ${
      tx.json({ sub: known.id, email: known.email })
    }, 'email')`;
  });
}
