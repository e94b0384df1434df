/** Differences between stock, its movements and orders, each named by the reconciliation. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { approveOrder, bring, newSplitShop, pick, picksOf } from "../../support/order-goods.ts";
import { placeOrder, type Shop } from "../../support/orders.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { pickingSteps } from "../../support/picking.ts";
import { checkStock, newShelf } from "../../support/warehouses.ts";

const path = "/warehousing/stock-reconciliation";

const ask = async (tenant: Tenant, query: Body = {}): Promise<Body> => {
  const answer = await tenant.warehouse.get(path, { query });
  expect(answer).toSucceed(200);
  return answer.body;
};

describe("what is wrong is named", () => {
  /** An order of two units that are set aside, another that was delivered, one that came back, and a pick under way. */
  interface Scene {
    shop: Shop;
    reserved: string;
    delivered: string;
    back: string;
    receipt: string;
    picking: string;
    stock: string;
  }
  let scene: Scene;
  beforeAll(async () => {
    const shop = await newSplitShop({ first: 30, second: 0 });
    const { tenant, shelf } = shop;
    const sent = async (end?: "delivered" | "returned") => {
      const { id } = await placeOrder(shop, "cash", 2);
      const { deliveries } = await approveOrder(shop, id);
      if (end) {
        await pick(shop, (await picksOf(id))[0].id);
        await bring(shop, deliveries[0].delivery_id, end);
      }
      return id;
    };
    const [reserved, delivered, back] = [
      await sent(),
      await sent("delivered"),
      await sent("returned"),
    ];
    const [{ receiving_order_id: receipt }] = await sql`select receiving_order_id
      from storefront.storefront_order_parts where order_id = ${back}`;
    const took = await tenant.ops.put(`/warehousing/receiving-orders/${receipt}`, {
      status: "received",
    });
    expect(took).toSucceed(200);
    const { newOrder } = pickingSteps(tenant, shelf);
    const { id: picking } = await newOrder({ status: "in_progress" });
    const [{ id: stock }] = await sql`select id from warehousing.stock
      where item_id = ${shelf.item} and status = 'available' and quantity > 0 and bin_id = ${shelf.bin}`;
    scene = { shop, reserved, delivered, back, receipt, picking, stock };
    expect((await ask(tenant)).differences).toEqual([]);
  });

  const harms: [
    kind: string,
    harm: (s: Scene) => Promise<unknown>,
    mend: (s: Scene) => Promise<unknown>,
    named: (s: Scene) => Body,
  ][] = [
    [
      "quantity",
      ({ stock }) => sql`update warehousing.stock set quantity = quantity + 1 where id = ${stock}`,
      ({ stock }) => sql`update warehousing.stock set quantity = quantity - 1 where id = ${stock}`,
      ({ stock, shop }) => ({
        stock_id: stock,
        warehouse_id: shop.shelf.warehouse,
        item_id: shop.shelf.item,
      }),
    ],
    [
      "place",
      ({ stock }) => sql`update warehousing.stock set lot_number = 'L9' where id = ${stock}`,
      ({ stock }) => sql`update warehousing.stock set lot_number = null where id = ${stock}`,
      ({ stock }) => ({ stock_id: stock }),
    ],
    [
      "pick_reserved",
      ({ picking }) =>
        sql`update warehousing.picking_order_items set quantity = 3 where picking_order_id = ${picking}`,
      ({ picking }) =>
        sql`update warehousing.picking_order_items set quantity = 2 where picking_order_id = ${picking}`,
      ({ picking }) => ({ picking_order_id: picking, expected: 3, found: 2 }),
    ],
    [
      "order_line",
      ({ reserved }) =>
        sql`update storefront.storefront_order_part_items set quantity = 3
        where part_id in (select id from storefront.storefront_order_parts where order_id = ${reserved})`,
      ({ reserved }) =>
        sql`update storefront.storefront_order_part_items set quantity = 2
        where part_id in (select id from storefront.storefront_order_parts where order_id = ${reserved})`,
      ({ reserved }) => ({ order_id: reserved, expected: 2, found: 3 }),
    ],
    [
      "order_reserved",
      ({ reserved }) =>
        sql`update storefront.storefront_order_parts set left_at = now() where order_id = ${reserved}`,
      ({ reserved }) =>
        sql`update storefront.storefront_order_parts set left_at = null where order_id = ${reserved}`,
      ({ reserved, shop }) => ({
        order_id: reserved,
        item_id: shop.shelf.item,
        expected: 0,
        found: 2,
      }),
    ],
    [
      "order_left",
      ({ delivered }) =>
        sql`update storefront.storefront_order_parts set left_at = null where order_id = ${delivered}`,
      ({ delivered }) =>
        sql`update storefront.storefront_order_parts set left_at = now() where order_id = ${delivered}`,
      ({ delivered }) => ({ order_id: delivered, expected: 0, found: 2 }),
    ],
    [
      "order_back",
      ({ receipt }) =>
        sql`update warehousing.receiving_order_items set received_quantity = 1 where receiving_order_id = ${receipt}`,
      ({ receipt }) =>
        sql`update warehousing.receiving_order_items set received_quantity = 2 where receiving_order_id = ${receipt}`,
      ({ back }) => ({ order_id: back, expected: 1, found: 2 }),
    ],
    [
      "reservation",
      ({ picking }) =>
        sql`update warehousing.picking_orders set status = 'completed' where id = ${picking}`,
      () => Promise.resolve(),
      ({ picking }) => ({ picking_order_id: picking, expected: 0, found: 2 }),
    ],
  ];
  test.each(harms)("%s", async (kind, harm, mend, named) => {
    await harm(scene);
    const seen = await ask(scene.shop.tenant);
    expect(seen.reconciled).toBe(false);
    expect(seen.difference_count).toBe(seen.differences.length);
    expect(seen.differences).toContainEqual(expect.objectContaining({ kind, ...named(scene) }));
    await mend(scene);
  });

  test("written_off, and the tenant hears of it at night", async () => {
    const tenant = await newTenant();
    const { warehouse, bin, item } = await newShelf(tenant, 3);
    const body = {
      warehouse_id: warehouse,
      reason: "lost",
      items: [{ item_id: item, bin_id: bin, quantity: 3 }],
    };
    expect(await tenant.ops.post("/warehousing/inventory/write-offs", body)).toSucceed(201);
    await checkStock(tenant);
    const [{ id: stock_id }] = await sql`select id from warehousing.stock where item_id = ${item}`;
    await sql`update warehousing.stock set written_off_at = '2020-01-01' where id = ${stock_id}`;
    const { differences } = await ask(tenant);
    expect(differences).toContainEqual(
      expect.objectContaining({ kind: "written_off", stock_id, found: 3 }),
    );
    await sql`select warehousing.report_stock()`;
    const events = await sql`select event_data from integration.system_events
      where tenant_id = ${tenant.id} and event_type = 'stock.mismatch'`;
    expect(events).toHaveLength(1);
    expect(events[0].event_data.differences).toContainEqual(
      expect.objectContaining({
        kind: "written_off",
        stock_id,
        warehouse_id: warehouse,
        item_id: item,
      }),
    );
  });
});
