/**
 * Isolation through HTTP: wallets are lists that adjustments append to, and settlements to two at a time; statements of
 * wallets are reads. The history must be one that a serial order explains. Afterwards the same with a build in which the
 * ledger has lost its lock: its constraints refuse what would be wrong, and without them as well the checker sees it.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newCash } from "../support/cod.ts";
import { sql } from "../support/db.ts";
import { tally } from "../support/races.ts";
import { type Attempt, Caller, lanes } from "./caller.ts";
import { check, type Transaction } from "./history.ts";
import { breachesOf } from "./invariants.ts";
import { figure, of, say, seed } from "./proof.ts";
import { newPlace, type Place, startWorld, type World } from "./world.ts";

const clients = 16;
const operationsMax = of({ test: 200, short: 1_500, full: 30_000 });
/** A statement shows so many entries at most. */
const shown = 100;

let world: World;
beforeAll(async () => void (world = await startWorld({ tenants: 0 })), 120_000);
afterAll(() => world?.stop());

interface Run {
  history: Transaction[];
  answers: Record<string, number>;
  found: ReturnType<typeof check>;
  breaches: string[];
}

interface Ground {
  place: Place;
  house: string;
  cash: { id: string; driver: number }[];
  operations: number;
}

/** A tenant with cash for a history of so many operations. */
async function prepare(operations: number): Promise<Ground> {
  const place = await newPlace(world.stack, {
    drivers: 4,
    customers: 0,
    funds: 100_000_000,
    units: 0,
  });
  const cash: Ground["cash"] = [];
  for (let n = 0; n < operations / 8; n++) {
    const driver = n % place.drivers.length;
    cash.push({ driver, ...await newCash(place.tenant, { driver: place.drivers[driver].id }) });
  }
  return { place, cash, house: await houseWallet(place), operations };
}

/** A history of operations, checked. */
async function run({ place, house, cash, operations }: Ground): Promise<Run> {
  const wallets = place.drivers.map(({ wallet }) => wallet);
  const caller = new Caller(world.ports);
  const history: Transaction[] = [];
  const note = ({ from, to }: Attempt, more: Omit<Transaction, "from" | "to">) =>
    history.push({ from, to, ...more });
  let dice = seed;
  // A small congruential generator: the same sequence of kinds for a seed.
  const die = () => (dice = (dice * 1_103_515_245 + 12_345) % 2_147_483_648) >> 8;
  await lanes(clients, () => history.length < operations, async () => {
    const driver = die() % wallets.length;
    const kind = die() % 10;
    if (kind < 4) {
      const list = die() % 5 ? wallets[driver] : house;
      const seen = await caller.once({
        token: place.admin.token,
        method: "GET",
        path: `/delivery/wallets/${list}/transactions?limit=${shown}`,
        key: false,
      });
      if (seen.status !== 200) return;
      const { data, pagination } = seen.body;
      const elements = data.map((row: { reference_id: string }) => row.reference_id).reverse();
      note(seen, { read: { list, elements, skipped: pagination.total - elements.length } });
    } else if (kind < 8) {
      const list = wallets[driver];
      const seen = await caller.once({
        token: place.admin.token,
        path: `/delivery/wallets/${list}/adjust`,
        body: { amount: 1 + die() % 500, direction: "credit", reason: randomUUID() },
      });
      if (seen.status === 200) {
        note(seen, { appends: { element: seen.body.payment_id, lists: [list] } });
      }
    } else {
      const row = cash.pop();
      if (!row) return;
      const seen = await caller.once({
        token: place.dispatcher.token,
        path: "/delivery/cod-collections/settle-by-wallet",
        body: { scope: "selected", cod_collection_ids: [row.id] },
      });
      if (seen.status !== 200) return;
      const lists = [wallets[row.driver], house];
      note(seen, { appends: { element: seen.body.data.settlement_payment_id, lists } });
    }
  });
  return {
    history,
    answers: tally(caller.log.flatMap(({ attempts }) => attempts)),
    found: check(history, await listsOf(place)),
    breaches: await breachesOf(sql, place.id),
  };
}

/** The tenant's own wallet; it is opened with its first money. */
async function houseWallet({ id }: Place): Promise<string> {
  return await sql.begin(async (tx) => {
    await tx`select set_config('app.tenant_id', ${id}, true)`;
    const [row] = await tx`select money.account_of('wallet', 'tenant', null, 'IQD') as id`;
    return row.id as string;
  });
}

/** Every wallet's entries in the end, as their payments, in the order they were booked. */
async function listsOf({ id }: Place): Promise<Map<string, string[]>> {
  const rows =
    await sql`select e.account_id, array_agg(t.reference_id::text order by e.version) as list
    from money.ledger_entries e
    join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id and a.kind = 'wallet'
    join money.ledger_transactions t on t.tenant_id = e.tenant_id and t.id = e.transaction_id
    where e.tenant_id = ${id} group by e.account_id`;
  return new Map(rows.map(({ account_id, list }) => [account_id, list]));
}

const wrong = ({ found }: Run) =>
  found.lost.length + found.doubled.length + found.impossible.length + found.cycles.length;

test(`${operationsMax} operations have a serial order (seed ${seed})`, async () => {
  const done = await run(await prepare(operationsMax));
  say(`${done.history.length} acknowledged: ${JSON.stringify(done.answers)}`);
  figure({
    what: "operations in the history",
    asked: of({ test: "some", short: "some", full: "at least 30000" }),
    reached: done.history.length,
    holds: done.history.length >= operationsMax,
  });
  figure({
    what: "writes lost or doubled, impossible reads, circles",
    asked: "0",
    reached: wrong(done),
    holds: wrong(done) === 0,
  });
  expect(done.found).toEqual({ lost: [], doubled: [], impossible: [], cycles: [] });
  expect(done.breaches).toEqual([]);
}, of({ test: 60_000, short: 240_000, full: 1_800_000 }));

test("a ledger without its lock is caught", async () => {
  const locking = " order by a.id for no key update";
  const lock =
    `select a.* from money.accounts a where a.tenant_id = v_tenant and a.id = any (v_accounts)${locking}`;
  const operations = of({ test: 150, short: 400, full: 2_000 });
  const [first, second] = [await prepare(operations), await prepare(operations)];
  const [{ body }] =
    await sql`select pg_get_functiondef('money.post(jsonb)'::regprocedure) as body`;
  expect(body).toContain(lock);
  await sql.unsafe(body.replace(lock, lock.replace(locking, "")));
  const guarded = await run(first);
  say(`without the lock: ${JSON.stringify(guarded.answers)}, ${wrong(guarded)} anomalies`);
  const refused = Object.entries(guarded.answers).filter(([what]) => !what.startsWith("200"))
    .reduce((sum, [, n]) => sum + n, 0);
  figure({
    what: "without the lock: writes that the constraints refused",
    asked: "at least 1",
    reached: refused,
    holds: refused > 0,
  });
  await sql`alter table money.ledger_entries drop constraint entry_version_taken`;
  const bare = await run(second);
  say(
    `without lock and constraint: ${JSON.stringify(bare.answers)}, ${
      JSON.stringify(bare.found).slice(0, 500)
    }`,
  );
  const caught = wrong(bare);
  figure({
    what: "without lock and constraint: anomalies that the checker finds",
    asked: "at least 1",
    reached: caught,
    holds: caught > 0,
  });
  expect(refused).toBeGreaterThan(0);
  expect(guarded.breaches).toEqual([]);
  expect(bare.breaches.length).toBeGreaterThan(0);
  expect(caught).toBeGreaterThan(0);
}, of({ test: 60_000, short: 240_000, full: 600_000 }));
