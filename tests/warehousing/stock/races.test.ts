/** Many who want the same stock at the same moment. */
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { tries } from "../../prove/proof.ts";
import { sql, stack } from "../../support/db.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { tally, times } from "../../support/races.ts";
import {
  checkStock,
  inTenant,
  movementsOf,
  newBin,
  newShelf,
  newWarehouse,
  stockIn,
  unitsOf,
} from "../../support/warehouses.ts";

const orders = "/warehousing/picking-orders";
const transfers = "/warehousing/inventory-transfers";
let tenant: Tenant;
let many: postgres.Sql;

beforeAll(async () => {
  tenant = await newTenant();
  many = postgres(stack.dbUrl, { max: 16, onnotice: () => {} });
});
afterAll(() => many.end());

const wanted = ({ warehouse, bin, item }: Record<string, string>, more: object = {}) => ({
  warehouse_id: warehouse,
  order_type: "individual",
  status: "in_progress",
  item_details: [{ item_id: item, bin_id: bin, quantity: 1 }],
  ...more,
});

describe("fifty want one unit each of ten", () => {
  test("ten get it, forty are told that there is not enough, nothing is lost", async () => {
    const shelf = await newShelf(tenant, 10);
    const answers = await times(50, () => tenant.ops.post(orders, wanted({ ...shelf })));
    expect(tally(answers)).toEqual({ "201": 10, "409 insufficient_stock": 40 });
    for (const { status, body } of answers) {
      if (status === 409) {
        expect(body).toMatchObject({ item_id: shelf.item, field: "item_details.0.quantity" });
      }
    }
    expect(await unitsOf(shelf.item)).toEqual({ reserved: 10 });
    const [{ made }] = await sql`select count(*)::int as made from warehousing.picking_orders
      where warehouse_id = ${shelf.warehouse}`;
    expect(made).toBe(10);
    await checkStock(tenant);
  });

  test("so do those who are completed at once: ten units leave", async () => {
    const shelf = await newShelf(tenant, 10);
    const answers = await times(
      50,
      () => tenant.ops.post(orders, wanted({ ...shelf }, { status: "completed" })),
    );
    expect(tally(answers)).toEqual({ "201": 10, "409 insufficient_stock": 40 });
    expect(await unitsOf(shelf.item)).toEqual({});
    const picked = (await movementsOf(shelf.item)).filter(([type]) => type === "pick");
    expect(picked).toHaveLength(10);
    await checkStock(tenant);
  });
});

describe("one order at the same moment", () => {
  test("is completed once and cancelled never, or the other way", async () => {
    for (let round = 0; round < tries(6, 2); round++) {
      const shelf = await newShelf(tenant, 5);
      const made = await tenant.ops.post(orders, wanted({ ...shelf }));
      const path = `${orders}/${made.body.order.id}`;
      const answers = await times(
        8,
        (i) => tenant.ops.put(path, { status: i % 2 ? "completed" : "cancelled" }),
      );
      const [{ status }] =
        await sql`select status from warehousing.picking_orders where id = ${made.body.order.id}`;
      expect(answers.filter((answer) => answer.status === 200).map((a) => a.body.order.status))
        .toEqual(Array(4).fill(status));
      expect(tally(answers)["409 invalid_status_transition"]).toBe(4);
      expect(await unitsOf(shelf.item)).toEqual({ available: status === "completed" ? 4 : 5 });
      await checkStock(tenant);
    }
  });

  test("a warehouse is removed or receives, never both", async () => {
    for (let round = 0; round < tries(6, 2); round++) {
      const { warehouse, bin, item } = await newShelf(tenant, 0);
      const [removed, received] = await Promise.all([
        tenant.ops.delete(`/warehousing/warehouses/${warehouse}`),
        tenant.ops.post("/warehousing/inventory/receipts", {
          warehouse_id: warehouse,
          items: [{ item_id: item, bin_id: bin, quantity: 1 }],
        }),
      ]);
      expect([removed.status, received.status].filter((status) => status < 300)).toHaveLength(1);
      const [{ deleted_at }] =
        await sql`select deleted_at from warehousing.warehouses where id = ${warehouse}`;
      expect(await unitsOf(item)).toEqual(deleted_at ? {} : { available: 1 });
    }
  });
});

test(
  "orders whose lines change to and fro, on the same places: no deadlock, no lost unit",
  async () => {
    const here = await newWarehouse(tenant);
    const places = await Promise.all([1, 2, 3].map(async () => {
      const { item } = await newShelf(tenant, 0);
      const bin = await newBin(tenant, here);
      await stockIn(tenant, { item_id: item, warehouse_id: here, bin_id: bin, quantity: 100 });
      return { item_id: item, bin_id: bin };
    }));
    const made = await times(8, () =>
      tenant.ops.post(orders, {
        warehouse_id: here,
        order_type: "individual",
        status: "in_progress",
        item_details: [{ ...places[0], quantity: 1 }],
      }));
    const failed: string[] = [];
    // Each order changes one time after the other; the eight of them at once.
    await times(8, async (order) => {
      for (let turn = 0; turn < tries(40, 6); turn++) {
        const lines = [places[(order + turn) % 3], places[(order * 2 + turn + 1) % 3]];
        try {
          await inTenant(
            tenant,
            "select warehousing.picking_order_update($1::text::jsonb)",
            [{
              id: made[order].body.order.id,
              item_details: [...new Set(lines)].map((line) => ({
                ...line,
                quantity: 1 + turn % 3,
              })),
            }],
            many as unknown as typeof sql,
          );
        } catch (error) {
          failed.push(String(error));
        }
      }
    });
    expect(failed).toEqual([]);
    for (const { item_id } of places) {
      const { available = 0, reserved = 0 } = await unitsOf(item_id);
      expect(available + reserved).toBe(100);
    }
    await checkStock(tenant);
  },
  60_000,
);

describe("transfers in opposite directions", () => {
  test("forty through the API: none clashes, no unit is lost", async () => {
    const here = await newShelf(tenant, 200);
    const there = await newWarehouse(tenant);
    const bin = await newBin(tenant, there);
    await stockIn(tenant, {
      item_id: here.item,
      warehouse_id: there,
      bin_id: bin,
      quantity: 200,
    });
    const answers = await times(40, (i) => {
      const [from, to] = i % 2 ? [there, here.warehouse] : [here.warehouse, there];
      const [source_bin_id, destination_bin_id] = i % 2 ? [bin, here.bin] : [here.bin, bin];
      return tenant.warehouse.post(transfers, {
        source_warehouse_id: from,
        destination_warehouse_id: to,
        items: [{ item_id: here.item, quantity: 1 + i % 3, source_bin_id, destination_bin_id }],
      });
    });
    expect(tally(answers)).toEqual({ "201": 40 });
    expect(await unitsOf(here.item)).toEqual({ available: 400 });
    await checkStock(tenant);
  });

  const count = tries(1_000, 100);
  test(
    "many at sixteen connections, several items each: no deadlock, no lost unit",
    async () => {
      const a = await newWarehouse(tenant);
      const b = await newWarehouse(tenant);
      const [binA, binB] = [await newBin(tenant, a), await newBin(tenant, b)];
      const items: string[] = [];
      for (let i = 0; i < 4; i++) {
        const { item } = await newShelf(tenant, 0);
        for (const [warehouse_id, bin_id] of [[a, binA], [b, binB]]) {
          await stockIn(tenant, { item_id: item, warehouse_id, bin_id, quantity: 1_000 });
        }
        items.push(item);
      }
      const [{ deadlocks: before }] = await sql`select deadlocks::int from pg_stat_database
      where datname = current_database()`;
      const failed: string[] = [];
      await times(count, async (i) => {
        const back = i % 2 === 1;
        // Two items in an order of their own, so that nobody happens to lock in the same one.
        const lines = [items[i % 4], items[(i * 3 + 1) % 4]].map((item_id) => ({
          item_id,
          quantity: 1 + i % 5,
          source_bin_id: back ? binB : binA,
          destination_bin_id: back ? binA : binB,
        }));
        try {
          await inTenant(
            tenant,
            "select warehousing.inventory_transfer_create($1::text::jsonb)",
            [{
              source_warehouse_id: back ? b : a,
              destination_warehouse_id: back ? a : b,
              // Its own number: taking one from the counter would make them queue.
              reference_number: `RACE-${a}-${i}`,
              items: lines,
            }],
            many as unknown as typeof sql,
          );
        } catch (error) {
          failed.push(String(error));
        }
      });
      expect(failed).toEqual([]);
      for (const item of items) expect(await unitsOf(item)).toEqual({ available: 2_000 });
      const [{ pairs }] =
        await sql`select count(*)::int as pairs from warehousing.inventory_transactions o
      join warehousing.inventory_transactions i on i.tenant_id = o.tenant_id and i.reference_id = o.reference_id
        and i.item_id = o.item_id and i.quantity = o.quantity and i.transaction_type = 'transfer_in'
      where o.tenant_id = ${tenant.id} and o.transaction_type = 'transfer_out' and o.warehouse_id in (${a}, ${b})`;
      expect(pairs).toBeGreaterThanOrEqual(2 * count);
      await checkStock(tenant);
      const [{ deadlocks: after }] = await sql`select deadlocks::int from pg_stat_database
      where datname = current_database()`;
      expect(after).toBe(before);
    },
    120_000,
  );
});
