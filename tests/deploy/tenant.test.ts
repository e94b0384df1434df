/** `npm run tenant` moves one company from one project into another, which has companies of its own. */
import { appendFileSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { tenantTables } from "../../supabase/tenant/tables.ts";
import { signedIn, withToken } from "../support/api.ts";
import { signIn } from "../support/auth.ts";
import { sql } from "../support/db.ts";
import { fingerprintOf } from "../support/everything.ts";
import {
  answers,
  before,
  closedNumber,
  command,
  end,
  exported,
  folder,
  fresh,
  goTo,
  imported,
  known,
  members,
  moved,
  neighbour,
  numbersOf,
  old,
  openNumber,
  outcomes,
  password,
  passwordHere,
  path,
  photo,
  prepare,
  shareWithNeighbour,
  slug,
  to,
  unguarded,
} from "./moving.ts";

beforeAll(prepare, 300_000);
afterAll(end);

describe("the tables", () => {
  test("stop a move when there is one that nobody decided about", async () => {
    await sql`create table app.forgotten (id uuid)`;
    const { failure } = await exported({ dryRun: true, whileActive: true });
    await sql`drop table app.forgotten`;
    expect(failure).toContain("Whose rows are in app.forgotten?");
  });
});

describe("an export", () => {
  test("refuses a company that is active, or has jobs that wait", async () => {
    const { failure } = await exported({ to: join(folder, "export") });
    expect(failure).toContain(`${slug()} is active: suspend it first`);
    expect(failure).toContain(
      "1 jobs none.none are queued, the last from 9999-01-01 00:00 UTC on: wait",
    );
    expect(existsSync(join(folder, "export"))).toBe(false);
  });

  test("refuses a slug that no company has", async () => {
    const { failure } = await exported({ slug: "nobody", dryRun: true });
    expect(failure).toBe('This project has no company "nobody".');
  });

  test("with --dry-run says what it would write, and writes nothing", async () => {
    await sql`delete from app.jobs where tenant_id = ${moved.tenant.id}`;
    const { lines, failure } = await exported({
      to: join(folder, "dry"),
      dryRun: true,
      whileActive: true,
    });
    expect(failure).toBeUndefined();
    expect(lines).toContain("Files: 1");
    expect(lines.at(-1)).toBe("Nothing was written.");
    expect(existsSync(join(folder, "dry"))).toBe(false);
  });

  test("writes the suspended company into a folder that others cannot read", async () => {
    await sql`update tenancy.tenants set status = 'suspended' where id = ${moved.tenant.id}`;
    await sql`delete from app.jobs where tenant_id = ${moved.tenant.id}`;
    const { code, lines } = await command(0, old);
    expect(code, lines.join("\n")).toBe(0);
    expect(statSync(join(folder, "export", "manifest.json")).mode & 0o077).toBe(0);
    const users = readFileSync(join(folder, "export", "tables", "auth.users.copy"), "utf8");
    expect(users.trim().split("\n").length).toBe(before.members.length);
    expect(existsSync(join(folder, "export", "files", "proofs", path()))).toBe(true);
  });

  test("wants a folder of its own", async () => {
    const { failure } = await exported({ to: join(folder, "export") });
    expect(failure).toContain("is not empty");
  });
});

describe("an import that fails", () => {
  const rows = async () => {
    const [found] = await sql`select
      (select count(*)::int from tenancy.tenants) as tenants, (select count(*)::int from auth.users) as users,
      (select count(*)::int from storage.objects) as files,
      (select count(*)::int from app.audit_log where tenant_id = ${moved.tenant.id}) as audits,
      (select count(*)::int from app.tallies where tenant_id = ${moved.tenant.id}) as tallies`;
    return { ...found };
  };
  let empty: Awaited<ReturnType<typeof rows>>;
  beforeAll(async () => {
    await goTo(fresh);
    empty = await rows();
  });

  test("names everybody whose address another account has", async () => {
    const [first, second] = before.members;
    await sql`insert into auth.users (id, email) values
      ('00000000-0000-4000-8000-000000000001', ${first!}), ('00000000-0000-4000-8000-000000000002', ${second!})`;
    const { failure } = await imported();
    await sql`delete from auth.users where email in (${first!}, ${second!})`;
    expect(failure).toContain(`${first} is 00000000-0000-4000-8000-000000000001 here`);
    expect(failure).toContain(`${second} is 00000000-0000-4000-8000-000000000002 here`);
    expect(await rows()).toEqual(empty);
  });

  test("names what only one company of a project can have", async () => {
    const [{ own }] =
      await sql`select store_name as own from storefront.markets where tenant_id = ${neighbour.tenant.id}`;
    const [{ wanted }] = await old
      .sql`select store_name as wanted from storefront.markets where tenant_id = ${moved.tenant.id}`;
    const change = (name: string, number: string) =>
      unguarded(async (tx) => {
        await tx`update storefront.markets set store_name = ${name} where tenant_id = ${neighbour.tenant.id}`;
        await tx`update money.payments set gateway_order_id = ${number}
          where tenant_id = ${neighbour.tenant.id} and gateway_order_id is not null`;
      });
    const [{ number }] = await numbersOf(neighbour);
    await change(wanted, openNumber);
    const { failure } = await imported();
    await change(own, number);
    expect(failure).toContain("storefront.markets has");
    expect(failure).toContain("store_name_taken");
    expect(failure).toContain(`is open at gatewayone as ${openNumber}`);
    expect(await rows()).toEqual(empty);
  });

  test("refuses a slug that another company has", async () => {
    await sql`update tenancy.tenants set slug = ${slug()} where id = ${neighbour.tenant.id}`;
    const { failure } = await imported();
    await sql`update tenancy.tenants set slug = ${`t-${neighbour.tenant.id}`} where id = ${neighbour.tenant.id}`;
    expect(failure).toContain(`This project has the company ${slug()}`);
    expect(await rows()).toEqual(empty);
  });

  test("refuses a folder that is no whole export, or is not as it was exported", async () => {
    const damaged = join(folder, "export", "tables", "money.accounts.copy");
    const text = readFileSync(damaged, "utf8");
    expect((await imported({ from: folder })).failure).toContain("manifest.json is missing");
    writeFileSync(damaged, text.replace("IQD", "USD"));
    const { failure } = await imported();
    writeFileSync(damaged, text);
    expect(failure).toContain("money.accounts.copy is not as it was exported");
    appendFileSync(join(folder, "export", "files", "proofs", path()), "x");
    const file = await imported();
    writeFileSync(join(folder, "export", "files", "proofs", path()), photo);
    expect(file.failure).toContain("photo.png is not as it was exported");
    expect(await rows()).toEqual(empty);
  });

  test("takes files and rows back when the figures differ at the end", async () => {
    const manifest = join(folder, "export", "manifest.json");
    const text = readFileSync(manifest, "utf8");
    const changed = JSON.parse(text);
    changed.figures.books["wallet IQD"] = "another balance";
    writeFileSync(manifest, JSON.stringify(changed));
    const { failure } = await imported();
    writeFileSync(manifest, text);
    expect(failure).toContain("wallet IQD: another balance became");
    expect(await rows()).toEqual(empty);
  });

  test("refuses another schema", async () => {
    const manifest = join(folder, "export", "manifest.json");
    const text = readFileSync(manifest, "utf8");
    writeFileSync(manifest, text.replace(/"schema": "\d+"/, '"schema": "20200101000000"'));
    const { failure } = await imported();
    writeFileSync(manifest, text);
    expect(failure).toContain("The export has schema 20200101000000");
  });

  test("with --dry-run goes the whole way, and leaves nothing", async () => {
    const { lines, failure } = await imported({ dryRun: true });
    expect(failure).toBeUndefined();
    expect(lines.at(-1)).toBe("Nothing was written.");
    expect(await rows()).toEqual(empty);
  });
});

describe("an import", () => {
  let result: Awaited<ReturnType<typeof command>>;
  let unchanged: Record<string, string>;
  beforeAll(async () => {
    await goTo(fresh);
    await shareWithNeighbour();
    unchanged = await fingerprintOf(neighbour.tenant.id);
    result = await command(1, fresh);
    await sql`update tenancy.tenants set status = 'active' where id = ${moved.tenant.id}`;
  }, 120_000);

  test("succeeds, and says what is next", () => {
    expect(result.code, result.lines.join("\n")).toBe(0);
    expect(result.lines.join("\n")).toContain("then activate it here");
    expect(result.lines.join("\n")).toMatch(
      /until one of the company takes them over: Of the other project$/m,
    );
  });

  test("lets everybody sign in with the password of before", async () => {
    expect(await members()).toEqual(before.members);
    for (const email of before.members) {
      const session = await signIn(email, email === known.email ? passwordHere : password);
      expect(session, email).toBeDefined();
    }
    const session = await signIn(before.members[0]!, password);
    const { status } = await withToken(session!.access_token).get("/tenants/me");
    expect(status).toBe(200);
  });

  test("answers lists as before", async () => {
    const after = await answers(moved.tenant);
    expect(after).toEqual(before.lists);
  });

  test("has right books, stock and kept totals", async () => {
    expect(await sql`select * from money.verify_books()`).toEqual([]);
    expect(await sql`select * from private.tallies_verify()`).toEqual([]);
    const [{ same }] =
      await sql`select count(*)::int as same from warehousing.stock_differences(${moved.tenant.id}, 'infinity')`;
    const [{ was }] = await old
      .sql`select count(*)::int as was from warehousing.stock_differences(${moved.tenant.id}, 'infinity')`;
    expect(same).toBe(was);
  });

  test("has a row in every table that had one", async () => {
    const count = async (place: typeof sql): Promise<Record<string, number>> => {
      const tables = await place.begin((tx) => tenantTables(tx, moved.tenant.id));
      const own = tables.filter(({ condition }) => condition.startsWith("tenant_id"));
      const counts = await place.unsafe(
        own.map(({ name, condition }) =>
          `select '${name}' as name, count(*)::int as rows from ${name} where ${condition}`
        )
          .join(" union all "),
      );
      return Object.fromEntries(counts.map(({ name, rows }) => [name, rows]));
    };
    const wasThere = await count(old.sql as typeof sql);
    expect(Object.values(wasThere).filter((rows) => rows > 0).length).toBeGreaterThan(100);
    // Activating it here was written down.
    const { "app.audit_log": audits, "integration.system_events": _, ...rest } = await count(sql);
    expect(audits).toBeGreaterThanOrEqual(wasThere["app.audit_log"]);
    expect(wasThere).toMatchObject(rest);
  });

  test("gives new numbers for those that are taken, and keeps the others", async () => {
    const numbers = (await numbersOf(moved)).map(({ number }) => number);
    expect(numbers).toHaveLength(2);
    expect(numbers).toContain(openNumber);
    expect(numbers).not.toContain(closedNumber);
    const [{ codes }] =
      await sql`select count(distinct code)::int as codes from storefront.markets`;
    expect(codes).toBe(3);
  });

  test("has the files", async () => {
    const { data } = await to.storage.from("proofs").download(path());
    expect(new Uint8Array(await data!.arrayBuffer())).toEqual(photo);
    const objects = await sql`select name from storage.objects where bucket_id = 'proofs'`;
    expect(objects.map(({ name }) => name)).toEqual([path()]);
  });

  test("leaves the administrators of the other project there", async () => {
    const [{ approved_by }] =
      await sql`select approved_by from storefront.markets where tenant_id = ${moved.tenant.id}`;
    expect(approved_by).toBeNull();
    expect(await sql`select from tenancy.profiles where full_name = 'System'`).toHaveLength(0);
  });

  test("leaves the companies that were there as they were", async () => {
    expect(await fingerprintOf(neighbour.tenant.id)).toEqual(unchanged);
  });

  test("holds no number of a transaction that is still to come", async () => {
    const [{ newest }] =
      await sql`select max(changed)::int as newest from delivery.deliveries where tenant_id = ${moved.tenant.id}`;
    expect(newest).toBe(1);
  });

  test("refuses every cursor that was given before, also when its number has come again", async () => {
    const format = (number: bigint) =>
      btoa(`${number}.00000000-0000-4000-8000-000000000000`).replaceAll("=", "");
    const poll = (list: string, query: Record<string, string>) =>
      signedIn(moved.tenant.admin.id, moved.tenant.id).get(list, { query });
    for (const list of ["/delivery/deliveries", "/warehousing/picking-orders"]) {
      for (const number of [0n, 1n, 100n, BigInt(before.transaction)]) {
        expect(await poll(list, { cursor: format(number) })).toFailWith(400, "invalid_cursor");
      }
      const { body } = await poll(list, { updated_since: "2000-01-01T00:00:00Z" });
      expect(await poll(list, { cursor: body.next_cursor })).toSucceed(200);
    }
    expect(await poll("/delivery/deliveries", { cursor: before.cursor }))
      .toFailWith(400, "invalid_cursor");
    // Of the company that was here before, they continue.
    const there = await signedIn(neighbour.tenant.admin.id, neighbour.tenant.id)
      .get("/delivery/deliveries", { query: { cursor: format(1n) } });
    expect(there).toSucceed(200);
  });

  test("lets the planner know what it wrote", async () => {
    const counted = await sql`select relname from pg_stat_user_tables
      where schemaname || '.' || relname in ('delivery.deliveries', 'money.ledger_entries') and last_analyze is not null`;
    expect(counted).toHaveLength(2);
  });

  test("knows with which move an attempt ended", async () => {
    const ended = before.outcomes.map((outcome) => ({ ...outcome, undone_later: false }));
    expect(ended).toMatchObject([{ is_move: true }]);
    expect(await outcomes(moved)).toEqual(ended);
  });

  test("is not repeated", async () => {
    expect((await imported()).failure).toContain("already");
  });
});
