/** Counts that run while others move, reserve, receive and count the same stock. */
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { tries } from "../../prove/proof.ts";
import type { Answer } from "../../support/api.ts";
import { sql, stack } from "../../support/db.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { times } from "../../support/races.ts";
import {
  checkStock,
  inTenant,
  newBin,
  newItem,
  newShelf,
  type Shelf,
  stockIn,
  unitsOf,
} from "../../support/warehouses.ts";

const path = "/warehousing/inventory/counts";
let tenant: Tenant;
let many: postgres.Sql;

beforeAll(async () => {
  tenant = await newTenant();
  many = postgres(stack.dbUrl, { max: 12, onnotice: () => {} });
});
afterAll(() => many.end());

const line = (at: Shelf, counted: number) => ({ item_id: at.item, bin_id: at.bin, counted });
const count = (at: Shelf, counted: number, more: object = {}) =>
  tenant.ops.post(path, { warehouse_id: at.warehouse, items: [line(at, counted)], ...more });
const totals = (answers: Answer[]) => answers.map(({ body }) => body.count.differences);

/** A core called at once by twelve connections; what it answers, or why it failed. */
async function core(name: string, input: object): Promise<Record<string, unknown> | string> {
  const statement = `select warehousing.${name}($1::text::jsonb) as answer`;
  try {
    const [{ answer }] = await inTenant<{ answer: Record<string, unknown> }>(
      tenant,
      statement,
      [input],
      many as unknown as typeof sql,
    );
    return answer;
  } catch (error) {
    return String((error as Error).message);
  }
}

test.each([[0, 5, false], [0, 5, true], [10, 4, false], [10, 16, true]])(
  "twenty who find, where %s are known, %s at the same moment have found that once (whole bins: %s)",
  async (known, found, whole_bins) => {
    const at = await newShelf(tenant, known);
    const answers = await times(20, () => count(at, found, { whole_bins }));
    for (const answer of answers) expect(answer).toSucceed(201);
    expect(totals(answers).reduce((sum, n) => sum + n, 0)).toBe(1);
    expect(await unitsOf(at.item)).toEqual({ available: found });
    await checkStock(tenant);
  },
);

/** Until so many calls of a core wait for a lock. */
async function waiting(name: string, n = 1): Promise<void> {
  await expect.poll(async () => {
    const [row] = await sql`select count(*)::int as n from pg_stat_activity
      where wait_event_type = 'Lock' and query like ${`%${name}(%`}`;
    return row.n;
  }, { timeout: 10_000 }).toBe(n);
}

test("what comes to a whole bin while a count waits is counted, and held in the order of all", async () => {
  const at = await newShelf(tenant, 10);
  const warehouse_id = at.warehouse;
  const beside = await newBin(tenant, warehouse_id);
  const late = await newItem(tenant);
  let release = () => {};
  const held = new Promise<void>((resolve) => release = resolve);
  const holder = sql.begin(async (tx) => {
    await tx`select from warehousing.stock where item_id = ${at.item} for update`;
    await held;
  });
  const items = [line(at, 9)];
  const told = core("count_create", { warehouse_id, items, whole_bins: true });
  await waiting("count_create");
  // It comes first in the order of ids, and whoever moves both holds it while waiting for the other.
  await sql`insert into warehousing.stock (id, tenant_id, warehouse_id, bin_id, item_id) values (
    (overlay(gen_random_uuid()::text placing '00000000' from 1))::uuid, ${tenant.id}, ${warehouse_id}, ${at.bin}, ${late})`;
  await stockIn(tenant, { item_id: late, warehouse_id, bin_id: at.bin, quantity: 3 });
  const step = { from_bin_id: at.bin, to_bin_id: beside, quantity: 1 };
  const moved = core("move_create", {
    warehouse_id,
    items: [{ ...step, item_id: at.item }, { ...step, item_id: late }],
  });
  await waiting("move_create");
  release();
  await holder;
  expect(await moved).toMatchObject({ transactions: [{ quantity: 1 }, { quantity: 1 }] });
  // Ten, less the one that was moved, were there; and two of what nobody named.
  expect(await told).toMatchObject({
    count: { lines: 2, differences: 1, units_found: 0, units_missing: 2 },
  });
  expect([await unitsOf(at.item, at.bin), await unitsOf(late, at.bin)]).toEqual([
    { available: 9 },
    {},
  ]);
  await checkStock(tenant);
});

test("setting aside and giving back change nothing that a count sees", async () => {
  const at = await newShelf(tenant, 40);
  const order = {
    warehouse_id: at.warehouse,
    order_type: "individual",
    status: "in_progress",
    item_details: [{ item_id: at.item, bin_id: at.bin, quantity: 2 }],
  };
  const differing: unknown[] = [];
  await times(12, async (n) => {
    for (let turn = 0; turn < tries(10, 3); turn++) {
      if (n % 2) {
        const whole_bins = turn % 2 === 0;
        const input = { warehouse_id: at.warehouse, items: [line(at, 40)], whole_bins };
        const told = await core("count_create", input);
        const { differences } = (told as { count?: { differences: number } }).count ?? {};
        if (differences !== 0) differing.push(told);
        continue;
      }
      const made = await core("picking_order_create", order) as { order?: { id: string } };
      if (!made.order) differing.push(made);
      else await core("picking_order_update", { id: made.order.id, status: "cancelled" });
    }
  });
  expect(differing).toEqual([]);
  expect(await unitsOf(at.item)).toEqual({ available: 40 });
  await checkStock(tenant);
}, 60_000);

test(
  "counts, moves, receipts and picks of the same bins: no deadlock, nothing negative, nothing lost",
  async () => {
    const at = await newShelf(tenant, 300);
    const beside = await newBin(tenant, at.warehouse);
    const items = [at.item, await newItem(tenant), await newItem(tenant)];
    for (const item_id of items.slice(1)) {
      await stockIn(tenant, { item_id, warehouse_id: at.warehouse, bin_id: at.bin, quantity: 300 });
    }
    const bins = [at.bin, beside];
    const deadlocks = async () => {
      const [row] = await sql`select pg_stat_clear_snapshot(), deadlocks::int from pg_stat_database
      where datname = current_database()`;
      return row.deadlocks;
    };
    const before = await deadlocks();
    const failed: string[] = [];
    await times(tries(240, 120), async (i) => {
      const [one, two] = [items[i % 3], items[(i * 2 + 1) % 3]];
      const [from, to] = i % 2 ? bins : [...bins].reverse();
      const both = [...new Set([one, two])];
      const lot = i % 7 ? {} : { lot_number: `L${i % 4}` };
      const warehouse_id = at.warehouse;
      const told = await [
        () =>
          core("count_create", {
            warehouse_id,
            whole_bins: i % 10 === 0,
            items: both.map((item_id) => ({ item_id, bin_id: from, counted: 50 + i % 30, ...lot })),
          }),
        () =>
          core("move_create", {
            warehouse_id,
            items: both.map((item_id) => ({
              item_id,
              from_bin_id: from,
              to_bin_id: to,
              quantity: 1 + i % 5,
              ...i % 3 ? {} : { to_status: "damaged" },
            })),
          }),
        () =>
          core("receipt_create", {
            warehouse_id,
            items: both.map((item_id) => ({ item_id, bin_id: to, quantity: 3, ...lot })),
          }),
        () =>
          core("picking_order_create", {
            warehouse_id,
            order_type: "individual",
            status: i % 2 ? "in_progress" : "completed",
            item_details: both.map((item_id) => ({ item_id, bin_id: from, quantity: 1 })),
          }),
      ][i % 4]();
      if (
        typeof told === "string" &&
        !/^(insufficient_stock|count_below_reserved|item_not_in_bin|lot_number_required)$/.test(
          told,
        )
      ) {
        failed.push(told);
      }
    });
    expect(failed).toEqual([]);
    expect(await deadlocks()).toBe(before);
    await checkStock(tenant);
    const [{ least }] = await sql`select min(quantity)::int as least from warehousing.stock
    where tenant_id = ${tenant.id}`;
    expect(least).toBe(0);
    const [made] = await sql`select count(*)::int as counts from warehousing.inventory_counts
    where warehouse_id = ${at.warehouse}`;
    expect(made.counts).toBeGreaterThan(tries(20, 10));
    // The movements of each count equal its reported differences.
    const wrong = await sql`select c.id from warehousing.inventory_counts c
    left join lateral (select count(*) as n, coalesce(sum(t.quantity) filter (where t.from_stock_id is null), 0) as found,
        coalesce(sum(t.quantity) filter (where t.to_stock_id is null), 0) as missing
      from warehousing.inventory_transactions t where t.reference_id = c.id and t.transaction_type = 'count') t on true
    where c.tenant_id = ${tenant.id} and (c.differences, c.units_found, c.units_missing) is distinct from (t.n, t.found, t.missing)`;
    expect(wrong).toEqual([]);
  },
  120_000,
);
