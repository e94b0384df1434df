/** A parcel with an open exception that a driver brings to another warehouse: it is expected there, and no more where it left. */
import { expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import {
  checkAll,
  handedTo,
  move,
  moves,
  stagedInWarehouse,
  takenOver,
} from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { newTransferring } from "../../support/package-transfers.ts";
import { whereIs } from "../../support/packages.ts";
import { saveSettings } from "../../support/people.ts";
import { fromSender, received, sentBackBy, transferNoted } from "../../support/send-back.ts";

test.each([
  ["counted by staff", true, "pending"],
  ["received at once", false, "received"],
])("%s, the receipt of the old warehouse is withdrawn", async (_, handoff_required, status) => {
  const { tenant, yard } = await newTransferring();
  await saveSettings(tenant.id, "general.warehouse", { handoff_required });
  const parcel = await fromSender(yard);
  const back = await sentBackBy(yard, parcel.id, "operational-return");
  const receipts = () =>
    sql`select warehouse_id, status from warehousing.receiving_orders
      where delivery_id = ${back.id} and not (warehouse_id = ${yard.there} and status = 'received')
      order by created_at`;
  await transferNoted(yard, back.barcode, true);
  const handoff = await handedTo(yard, back.id, tenant.driver);
  expect(await move(tenant.ops, back.id, "exceptions", { type: "damaged" })).toSucceed(201);
  expect(await tenant.driver.post(`/delivery/handoffs/${handoff}/pickup`)).toSucceed(200);
  expect(await receipts()).toEqual([{ warehouse_id: yard.there, status: "pending" }]);

  await moves(tenant.driver, back.id, "depart", "complete");
  expect(await receipts()).toEqual([
    { warehouse_id: yard.there, status: "cancelled" },
    { warehouse_id: yard.warehouse, status },
  ]);
  expect(await whereIs(back.id)).toMatchObject({ status: "pending", at: yard.warehouse });
  await checkAll(tenant);
});

test.each([
  ["on a transfer there", true],
  ["on its way to a door", false],
])("brought into another warehouse %s, it is received in that one", async (_, transfer) => {
  const { tenant, yard } = await newTransferring();
  const parcel = await fromSender(yard);
  const back = await sentBackBy(yard, parcel.id, "operational-return");
  if (transfer) await transferNoted(yard, back.barcode, true);
  await takenOver(yard, back.id, tenant.driver);
  expect(await move(tenant.ops, back.id, "exceptions", { type: "damaged" })).toSucceed(201);
  const { receiving_order_id } = await moves(tenant.driver, back.id, [
    "return",
    { warehouse_id: yard.warehouse },
  ]);
  const receipts = await sql`select id, warehouse_id, status from warehousing.receiving_orders
    where delivery_id = ${back.id} and source <> 'inbound' order by created_at`;
  expect(receipts).toEqual([
    { id: expect.any(String), warehouse_id: yard.there, status: "cancelled" },
    { id: receiving_order_id, warehouse_id: yard.warehouse, status: "pending" },
  ]);
  await received(yard, receiving_order_id);
  expect(await whereIs(back.id)).toMatchObject({ status: "pending", at: yard.warehouse });
  await checkAll(tenant);
});

test("a leg that comes back to where it left keeps the receipt that waits for it", async () => {
  const { tenant, yard } = await newTransferring();
  const { b } = await stagedInWarehouse(yard);
  await takenOver(yard, b, tenant.driver);
  const opened = await move(tenant.ops, b, "exceptions", { type: "damaged" });
  const { receiving_order_id } = await moves(tenant.driver, b, "return");
  expect(receiving_order_id).toBe(opened.body.receiving_order_id);
  await received(yard, receiving_order_id);
  expect(await whereIs(b)).toMatchObject({ status: "pending", at: yard.warehouse });
});
