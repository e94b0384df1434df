/** A return that ends in a warehouse and gives money back: wallets before the stock that comes in, in the order that CONTRIBUTING.md gives. */
import type { TransactionSql } from "postgres";
import { expect, test } from "vitest";
import { sql } from "../support/db.ts";
import { moves, path, takenOver } from "../support/deliveries.ts";
import "../support/expect.ts";
import { fundWallet } from "../support/money.ts";
import { approveOrder, newSplitShop, pick, picksOf } from "../support/order-goods.ts";
import { checkAll, placeOrder, walletOf } from "../support/orders.ts";
import { locksBefore } from "../support/overlapping.ts";
import { newYard, type Yard } from "../support/packages.ts";
import { newTenant, saveSettings, type Tenant } from "../support/people.ts";
import { fromWarehouse, sentBackBy, transferNoted, transferred } from "../support/send-back.ts";
import { newBin, newWarehouse } from "../support/warehouses.ts";

const walletsOf = (tenant: Tenant) => (tx: TransactionSql) =>
  tx`select from money.accounts where tenant_id = ${tenant.id} and kind = 'wallet' order by id for no key update`;

/** The calls that wait for this transaction have written no stock: a row that comes is nobody's to see before. */
const noStock = async (tx: TransactionSql) =>
  expect(
    await tx`select l.pid from pg_locks l where l.relation = 'warehousing.stock'::regclass
      and l.mode = 'RowExclusiveLock' and pg_backend_pid() = any (pg_blocking_pids(l.pid))`,
  ).toEqual([]);

test("the fee of a parcel", async () => {
  const tenant = await newTenant();
  const yard = await newYard(tenant);
  await sql`update warehousing.bins set is_default_receiving = true where id = ${yard.bin!}`;
  await fundWallet(tenant, "customer", tenant.customer.id, 10_000);
  await sql`update delivery.delivery_services set policy_mode = 'custom',
    policy_overrides = '{"payment_policies": {"refund_delivery_fee_on_return": true}}' where id = ${yard.service}`;
  const parcel = await fromWarehouse(yard, { payer_type: "sender", payment_method: "wallet" });
  await transferred(yard, parcel);
  const back = await sentBackBy(yard, parcel.id, "operational-return");
  await takenOver(yard, back.id);
  await moves(tenant.driver, back.id, "depart");
  const answer = await locksBefore(
    walletsOf(tenant),
    () => tenant.driver.post(`${path}/${back.id}/complete`, {}),
    noStock,
  );
  expect(answer).toSucceed(200);
  expect(await walletOf(tenant, tenant.customer.id)).toBe(10_000);
  await checkAll(tenant);
});

test.each([false, true])(
  "the price of a store's order, whose parcel is brought to the warehouse that it was sold from; counted by staff: %s",
  async (handoff_required) => {
    const shop = await newSplitShop({ first: 3, second: 0 });
    const { tenant } = shop;
    const there = await newWarehouse(tenant);
    await newBin(tenant, there, { location_type: "RECEIVING", is_default_receiving: true });
    const yard = { tenant, warehouse: shop.shelf.warehouse, there } as Yard;
    const { id } = await placeOrder(shop, "wallet", 2);
    const { deliveries: [{ delivery_id }] } = await approveOrder(shop, id);
    for (const task of await picksOf(id)) expect(await pick(shop, task.id)).toSucceed(200);
    const [parcel] =
      await sql`select id, barcode from delivery.deliveries where id = ${delivery_id}`;
    await transferred(yard, { id: parcel.id, barcode: parcel.barcode });
    const back = await sentBackBy(yard, delivery_id, "operational-return");
    await transferNoted(yard, back.barcode, true);
    await takenOver(yard, back.id);
    await moves(tenant.driver, back.id, "depart");
    await saveSettings(tenant.id, "general.warehouse", { handoff_required });
    const complete = () => tenant.driver.post(`${path}/${back.id}/complete`, {});
    expect(await locksBefore(walletsOf(tenant), complete, noStock)).toSucceed(200);
    expect(await walletOf(tenant, tenant.customer.id)).toBe(12_000);
    // The parcel is unpacked: what comes into stock are its goods, once, when staff receive them.
    expect(await availableIn(shop.shelf.warehouse)).toBe(1);
    const receipts = await sql`select id from warehousing.receiving_orders
      where warehouse_id = ${shop.shelf.warehouse} and status = 'pending'`;
    expect(receipts).toHaveLength(1);
    const line = { received_quantity: 2, bin_id: shop.shelf.bin };
    const [{ id: lineId }] = await sql`select id from warehousing.receiving_order_items
      where receiving_order_id = ${receipts[0].id}`;
    expect(
      await tenant.ops.put(`/warehousing/receiving-orders/${receipts[0].id}`, {
        status: "received",
        item_details: [{ id: lineId, ...line }],
      }),
    ).toSucceed(200);
    expect(await availableIn(shop.shelf.warehouse)).toBe(3);
    await checkAll(tenant);
  },
);

/** Units that lie in a warehouse, whatever they are. */
async function availableIn(warehouse: string): Promise<number> {
  const [{ units }] =
    await sql`select coalesce(sum(quantity), 0)::int as units from warehousing.stock
    where warehouse_id = ${warehouse} and status = 'available'`;
  return units;
}
