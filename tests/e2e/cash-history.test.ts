/**
 * Random histories of cash under many callers, while connections are cut: deliveries are completed,
 * cash is remitted and settled by rows and as a whole, wallets are adjusted, settlements and adjustments reversed,
 * calls repeated with their keys. Afterwards the books hold, nothing is missing, and every answer a client was given is in the
 * database exactly once.
 */
import fc from "fast-check";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Stack } from "../../supabase/local/stack.ts";
import { figure, of, seed } from "../prove/proof.ts";
import { startOwnStack } from "../support/own-stack.ts";
import { type Answer, complete, surely } from "./cash-calls.ts";
import { type Operation, operation } from "./cash-operations.ts";

const operations = of({ brief: 60, test: 250, short: 1_000, full: 10_000 });
const workers = 16;
const driverCount = 6;
const walletStart = 50_000;

let stack: Stack;
let tenantId: string;
/** Tokens. */
let office: string;
let drivers: { id: string; token: string }[];
let order: Record<string, unknown>;
const driverOf = (step: { driver: number }) => drivers[step.driver % driverCount];

beforeAll(async () => {
  stack = await startOwnStack({
    durable: true,
    seed: true,
    workers: 2,
    env: { BARID_STRICT: "1", BARID_LOG_LEVEL: "silent", BARID_DB_POOL: "8" },
  });
  const { sql } = stack;
  const [admin] = await sql`select u.user_id, u.tenant_id from tenancy.tenant_users u
    join tenancy.profiles p on p.id = u.user_id where p.email = 'admin@demo.test'`;
  tenantId = admin.tenant_id;
  office = await tokenOf(admin.user_id);
  const ids = Array.from({ length: driverCount }, () => randomUUID());
  for (const [n, id] of ids.entries()) {
    await sql`insert into auth.users (id, email) values (${id}, ${`cash-${n}@demo.test`})`;
    await sql`insert into tenancy.profiles (id, full_name, email) values (${id}, ${`Driver ${n}`}, ${`cash-${n}@demo.test`})
      on conflict (id) do update set full_name = excluded.full_name`;
    await sql`insert into tenancy.tenant_users (tenant_id, user_id, tenant_user_type) values (${tenantId}, ${id}, 'driver')`;
    await sql`insert into tenancy.tenant_user_roles (tenant_id, user_id, role_key) values (${tenantId}, ${id}, 'driver')`;
    const [vehicle] =
      await sql`insert into delivery.vehicles (tenant_id, name, unit_capacity) values (${tenantId}, 'Van', 100000) returning id`;
    await sql`insert into delivery.drivers (tenant_id, user_id, vehicle_id, all_zones) values (${tenantId}, ${id}, ${vehicle.id}, true)`;
  }
  drivers = await Promise.all(ids.map(async (id) => ({ id, token: await tokenOf(id) })));
  for (const { id } of drivers) {
    await sql.begin(async (tx) => {
      await tx`select set_config('app.tenant_id', ${tenantId}, true)`;
      const posting = { journal: "j", kind: "fund", reference_type: "test", reference_id: id };
      const [{ wallet, outside }] =
        await tx`select money.account_of('wallet', 'driver', ${id}, 'IQD') as wallet,
        money.account_of('external', 'tenant', null, 'IQD') as outside`;
      await tx`select money.post(${
        tx.json([
          { ...posting, account_id: wallet, amount: walletStart },
          { ...posting, account_id: outside, amount: -walletStart },
        ])
      })`;
    });
  }
  const [service] =
    await sql`select id from delivery.delivery_services where tenant_id = ${tenantId} and active and access_mode = 'all_users'
    and zone_access_mode = 'all_zones' limit 1`;
  const [address] =
    await sql`select id from delivery.addresses where tenant_id = ${tenantId} and owner_user_id is null and latitude is not null limit 1`;
  const [merchant] =
    await sql`select u.user_id from tenancy.tenant_users u where u.tenant_id = ${tenantId} and u.tenant_user_type = 'customer' limit 1`;
  order = {
    customer_id: merchant.user_id,
    delivery_service_id: service.id,
    pickup_address_id: address.id,
    dropoff_address_id: address.id,
    recipient: { name: "Recipient", phone: "+9647701234567" },
    payment_method: "cash",
  };
}, 120_000);

afterAll(async () => {
  await stack?.stop();
});

const tokenOf = (id: string) => stack.jwtSign({ sub: id, app_metadata: { tenant_id: tenantId } });

interface Sent {
  token: string;
  path: string;
  body: unknown;
  key: `${string}-${string}-${string}-${string}-${string}`;
  answers: Answer[];
}

test(`cash survives whatever happens to it (seed ${seed})`, async () => {
  const { sql } = stack;
  const queue = fc.sample(operation, { seed, numRuns: operations });
  const sent: Sent[] = [];
  const walletOf = new Map<string, string>();
  const send = async (entry: Omit<Sent, "answers">, twins = 1) => {
    const record: Sent = { ...entry, answers: [] };
    sent.push(record);
    await Promise.all(Array.from({ length: twins }, async () => {
      record.answers.push(await surely(stack, entry.token, entry.path, entry.body, entry.key));
    }));
    return record.answers[0];
  };
  const run = async (step: Operation): Promise<void> => {
    if (step.kind === "complete") {
      const driver = driverOf(step);
      return await complete(stack, { office, driver, order, rule: step.rule, cod: step.cod });
    }
    if (step.kind === "cut") {
      await sql`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'barid_api' and random() < 0.5`;
      return;
    }
    if (step.kind === "adjust") {
      const [wallet] =
        await sql`select id from money.accounts where tenant_id = ${tenantId} and kind = 'wallet' and owner_user_id = ${
          driverOf(step).id
        }`;
      walletOf.set(driverOf(step).id, wallet.id);
      await send({
        token: office,
        path: `wallets/${wallet.id}/adjust`,
        body: {
          amount: step.amount,
          direction: step.credit ? "credit" : "debit",
          reason: "history",
        },
        key: randomUUID(),
      });
      return;
    }
    if (step.kind === "reverse") {
      const made = sent.flatMap(({ path, answers }) => {
        const done = answers.find(({ status }) => status === 200)?.body;
        if (!done || path.endsWith("/reverse")) return [];
        return path.endsWith("/adjust")
          ? [path.replace("adjust", `adjustments/${done.payment_id}/reverse`)]
          : [`cod-settlements/${done.data.settlement_payment_id}/reverse`];
      });
      if (made.length === 0) return;
      await send({
        token: office,
        path: made[step.pick % made.length],
        body: { reason: "history" },
        key: randomUUID(),
      }, step.twins);
      return;
    }
    if (step.kind === "replay") {
      const known = sent.filter(({ answers }) => answers.length > 0);
      if (known.length === 0) return;
      const again = known[step.pick % known.length];
      const answer = await surely(stack, again.token, again.path, again.body, again.key);
      again.answers.push(answer);
      return;
    }
    const driver = driverOf(step);
    const rows = step.scope === "all"
      ? []
      : await sql`select id from money.cod_collections where tenant_id = ${tenantId} and driver_id = ${driver.id}
      and status = 'collected' order by random() limit ${step.take}`;
    if (step.scope === "selected" && rows.length === 0) return;
    await send({
      token: step.byOffice ? office : driver.token,
      path: `cod-collections/${step.kind === "remit" ? "remit" : "settle-by-wallet"}`,
      body: step.scope === "all"
        ? { scope: "all", driver_id: driver.id }
        : { scope: "selected", cod_collection_ids: rows.map(({ id }) => id) },
      key: randomUUID(),
    }, step.twins);
  };
  await Promise.all(Array.from({ length: workers }, async () => {
    for (let step = queue.shift(); step; step = queue.shift()) await run(step);
  }));
  // At the end of the day every driver hands in the rest, so that settlements do not depend on who came first.
  for (const { id } of drivers) {
    await send({
      token: office,
      path: "cod-collections/remit",
      body: { scope: "all", driver_id: id },
      key: randomUUID(),
    });
  }
  expect(
    await sql`select id from money.cod_collections where tenant_id = ${tenantId} and status = 'collected'
      and driver_id = any (${drivers.map(({ id }) => id)})`,
  ).toEqual([]);

  // Every answer: known, the same to all who asked with the key, refused with a word of ours or done.
  const settlements = sent.filter(({ path }) => path.startsWith("cod-collections/"));
  for (const { answers, path } of sent) {
    for (const { status, body } of answers) {
      expect([200, 400, 409], `${path} ${JSON.stringify(body)}`).toContain(status);
    }
    const done = answers.filter(({ status }) => status === 200);
    if (path.startsWith("cod-collections/")) {
      for (const { body } of done) {
        expect({ ...body.data, receipt_status: "" }).toEqual({
          ...done[0].body.data,
          receipt_status: "",
        });
      }
    }
  }
  // Every acknowledged result is stored once, and nothing else is.
  const acknowledged = new Map(
    settlements.flatMap(({ answers }) => answers.filter(({ status }) => status === 200).slice(0, 1))
      .map((
        { body: { data } },
      ) => [data.settlement_payment_id, data.total_remitted ?? data.total_settled]),
  );
  const stored =
    await sql`select payment_id, total from money.cod_settlements where tenant_id = ${tenantId}`;
  expect(new Map(stored.map(({ payment_id, total }) => [payment_id, Number(total)]))).toEqual(
    acknowledged,
  );
  expect(acknowledged.size).toBeGreaterThan(0);
  const keys = new Set(
    settlements.filter(({ answers }) => answers.some(({ status }) => status === 200)).map((
      { key },
    ) => key),
  );
  expect(keys.size).toBe(acknowledged.size);
  const takenBack = sent.filter(({ path, answers }) =>
    path.startsWith("cod-settlements/") && answers.some(({ status }) => status === 200)
  ).map(({ path }) => path.split("/")[1]);
  const reversed = await sql`select payment_id from money.cod_settlements
    where tenant_id = ${tenantId} and reversed_at is not null`;
  expect(reversed.map(({ payment_id }) => payment_id).sort()).toEqual(takenBack.sort());

  expect(await sql`select * from money.verify_books()`).toEqual([]);
  expect(await sql`select * from money.cod_differences(${tenantId}, now())`).toEqual([]);
  expect(await sql`select * from private.tallies_verify()`).toEqual([]);
  expect(await sql`select id from money.accounts where floor is not null and balance < floor`)
    .toEqual([]);
  // Each driver's wallet: what it began with, what was adjusted, less what was settled from it.
  for (const { id } of drivers) {
    const [{ balance }] =
      await sql`select balance from money.accounts where tenant_id = ${tenantId} and kind = 'wallet' and owner_user_id = ${id}`;
    // A refused adjustment may go through when it is repeated later: what counts is that it was answered.
    const adjusted = sent
      .filter(({ path, answers }) =>
        path === `wallets/${walletOf.get(id)}/adjust` &&
        answers.some(({ status }) => status === 200)
      )
      .map(({ body }) => body as { amount: number; direction: string })
      .reduce((sum, { amount, direction }) => sum + (direction === "credit" ? amount : -amount), 0);
    const reversed = sent
      .filter(({ path }) => path.startsWith(`wallets/${walletOf.get(id)}/adjustments/`))
      .flatMap(({ answers }) => answers.filter(({ status }) => status === 200).slice(0, 1))
      .reduce((sum, { body }) => sum + body.transaction.amount, 0);
    const [{ paid }] = await sql`select coalesce(sum(total), 0) as paid from money.cod_settlements
      where tenant_id = ${tenantId} and driver_id = ${id} and method = 'wallet' and reversed_at is null`;
    expect(Number(balance)).toBe(walletStart + adjusted + reversed - Number(paid));
  }
  figure({
    what: `settlements acknowledged in ${operations} operations, each there exactly once`,
    asked: "at least one",
    reached: acknowledged.size,
    holds: true,
  });
  const half =
    await sql`select p.id from money.payments p where p.tenant_id = ${tenantId} and p.type = 'COD_SETTLEMENT'
    and not exists (select from money.cod_settlements s where s.payment_id = p.id)`;
  expect(half).toEqual([]);
}, of({ test: 600_000, short: 600_000, full: 1_800_000 }));
