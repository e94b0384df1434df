/** Kept totals: always what counting would say, whoever writes at the same time. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { sql } from "../support/db.ts";
import { newEverything } from "../support/everything.ts";
import { moveToOwnStack } from "../support/move-to-own-stack.ts";
import { overlapping } from "../support/overlapping.ts";

let tenant: string;
let warehouse: string;
let made = 0;
let leave: () => Promise<void>;

beforeAll(async () => {
  // Folding goes over the totals of every company, of which the shared system has thousands.
  ({ leave } = await moveToOwnStack());
  const { things } = await newEverything();
  tenant = things.tenant;
  warehouse = things.warehouse;
});
afterAll(() => leave());

const statuses = ["pending", "in_progress", "completed", "cancelled"];

const add = (count: number, status: string) =>
  sql`insert into warehousing.picking_orders (tenant_id, reference_number, warehouse_id, order_type, status)
    select ${tenant}, 'T-' || ${made +=
    count} || '-' || n, ${warehouse}, 'batch', ${status} from generate_series(1, ${count}) n`;

/** Of this tenant: others fill lists without their triggers at the same time, or are writing just now. */
const differences = () => sql`select * from private.tallies_verify() where tenant_id = ${tenant}`;

async function keptTotal(
  wanted: Record<string, string> = {},
  tally = "picking_orders",
): Promise<number> {
  return await sql.begin(async (tx) => {
    await tx`select set_config('app.tenant_id', ${tenant}, true)`;
    const [row] = await tx`select app.tally(${tally}, ${tx.json(wanted)}) as answer`;
    return Number(row.answer.entries);
  });
}

test("totals follow what is added, changed and removed", async () => {
  const before = await keptTotal();
  await add(7, "pending");
  await sql`update warehousing.picking_orders set status = 'completed', notes = 'done'
    where id in (select id from warehousing.picking_orders where tenant_id = ${tenant} and reference_number like 'T-%' limit 3)`;
  await sql`delete from warehousing.picking_orders where id in (
    select id from warehousing.picking_orders where tenant_id = ${tenant} and reference_number like 'T-%' and status = 'completed' limit 1)`;
  expect(await keptTotal() - before).toBe(6);
  expect(await keptTotal({ warehouse_id: warehouse, status: "completed" })).toBe(2);
  expect(await keptTotal({ status: "handed_off" })).toBe(0);
  expect(await differences()).toEqual([]);
});

test("what is undone was never counted", async () => {
  const before = await keptTotal();
  await sql.begin(async (tx) => {
    await tx`insert into warehousing.picking_orders (tenant_id, reference_number, warehouse_id, order_type)
      values (${tenant}, 'undone', ${warehouse}, 'batch')`;
    throw new Error("undo");
  }).catch(() => undefined);
  expect(await keptTotal()).toBe(before);
});

test("writers at the same time wait for nobody and lose nothing, also while totals are folded", async () => {
  const before = await keptTotal();
  await Promise.all(
    Array.from({ length: 40 }, async (_, i) => {
      if (i % 10 === 0) await sql`select private.tallies_fold()`;
      await add(5, statuses[i % statuses.length]);
    }),
  );
  await sql`select private.tallies_fold()`;
  expect(await keptTotal() - before).toBe(200);
  expect(await differences()).toEqual([]);
  const [{ crowded }] = await sql`select count(*)::int as crowded from (
    select from app.tallies where tenant_id = ${tenant} group by tally, dims having count(*) > 1) c`;
  expect(crowded).toBe(0);
});

test("a total that was lost is found out and counted anew", async () => {
  await sql`delete from app.tallies where tenant_id = ${tenant} and tally = 'picking_orders'`;
  expect((await differences()).length).toBeGreaterThan(0);
  await sql`select private.tally_rebuild('picking_orders')`;
  expect(await differences()).toEqual([]);
});

test("a count anew waits for a fold that is under way, and counts nothing twice", async () => {
  await add(5, "pending");
  await overlapping(
    (session) => session`select private.tallies_fold()`,
    async () => await sql`select private.tally_rebuild('picking_orders')`,
  );
  expect(await differences()).toEqual([]);
});

test("a roll-up says the same with fewer groups, and is what a total without the others reads", async () => {
  const [driver] = await sql`select driver_id, count(*)::int as rows from delivery.assignments
    where tenant_id = ${tenant} group by 1 order by 2 desc limit 1`;
  const ofAll = () => keptTotal({}, "assignments");
  const ofDriver = () => keptTotal({ driver_id: driver.driver_id }, "assignments");
  const before = await ofAll();
  expect(before).toBeGreaterThan(0);
  expect(await ofDriver()).toBe(driver.rows);
  await sql`delete from app.tallies where tenant_id = ${tenant} and tally = 'assignments_rollup'`;
  expect([await ofAll(), await ofDriver()]).toEqual([0, driver.rows]);
  await sql`select private.tally_rebuild('assignments')`;
  expect([await ofAll(), await ofDriver()]).toEqual([before, driver.rows]);
  await sql`update delivery.assignments set status = 'rejected' where tenant_id = ${tenant}`;
  expect(await keptTotal({ status: "rejected" }, "assignments")).toBe(before);
  expect(await differences()).toEqual([]);
});

test("a roll-up has no column that its tally is not kept by", async () => {
  await expect(sql`select private.tally_rolled_up('{status,driver_id}', '{status,currency}')`)
    .rejects.toThrow("are not among");
});

test("a list is not counted by what it has no totals for", async () => {
  await expect(keptTotal({ priority: "1" })).rejects.toThrow("is not counted by");
});
