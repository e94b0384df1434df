/** A waybill with a return whose fee is to go back while the company's wallet is short: what it brings comes in all the same. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { checkAll, newDelivery, path } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { fundWallet } from "../../support/money.ts";
import { saveSettings } from "../../support/people.ts";
import { broughtInto, received } from "../../support/send-back.ts";
import { newHauling } from "../../support/waybills.ts";

const fee = 2000;

async function returnOnTheRoad() {
  const { tenant, yard, create, step } = await newHauling();
  await sql`update delivery.delivery_services set policy_mode = 'custom',
    policy_overrides = '{"payment_policies": {"refund_delivery_fee_on_return": true}}' where id = ${yard.service}`;
  await fundWallet(tenant, "customer", tenant.customer.id, fee);
  await saveSettings(tenant.id, "general.warehouse", { default_warehouse_id: yard.there });
  await saveSettings(tenant.id, "general.delivery", {
    return_requests: { destination_mode: "warehouse" },
  });
  const parcel = await newDelivery(yard, { payer_type: "sender", payment_method: "wallet" });
  const other = await newDelivery(yard);
  for (const { id } of [parcel, other]) {
    await received(yard, await broughtInto(yard, id, yard.warehouse));
  }
  const back = await tenant.ops.post(`${path}/${parcel.id}/operational-return`, { reason: "x" });
  expect(back).toSucceed(201);
  const made = await create({ delivery_ids: [back.body.id, other.id] });
  expect(made).toSucceed(201);
  const { id } = made.body.waybill;
  expect(await step(id, "seal")).toSucceed(200);
  expect(await step(id, "driver-handover", { driver_id: tenant.driver.id })).toSucceed(200);
  const [wallet] = await sql`select id, balance from money.accounts
    where tenant_id = ${tenant.id} and kind = 'wallet' and owner_user_id is null`;
  const spend = (amount: number, direction: "debit" | "credit") =>
    tenant.admin.post(`/delivery/wallets/${wallet.id}/adjust`, {
      amount,
      direction,
      reason: "Rent",
    }, {
      headers: { "idempotency-key": randomUUID() },
    });
  return { tenant, id, step, parcel: parcel.id, back: back.body.id, other: other.id, spend };
}

const owed = (id: string) =>
  sql`select event_data from integration.system_events
    where event_type = 'waybill_return.refund_due' and entity_id = ${id}`;
test("all comes in, and an event says what is owed", async () => {
  const { tenant, id, step, parcel, back, other, spend } = await returnOnTheRoad();
  expect(await spend(fee, "debit")).toSucceed(200);
  expect(await step(id, "receive")).toSucceed(200);
  expect(await sql`select id, status from delivery.deliveries where id in (${back}, ${other})`)
    .toEqual(
      expect.arrayContaining([{ id: back, status: "delivered" }, { id: other, status: "pending" }]),
    );
  expect((await owed(parcel)).map(({ event_data }) => event_data))
    .toEqual([{ delivery_id: parcel, waybill_id: id, amount: fee, currency: "IQD" }]);
  await checkAll(tenant);
});

test("so does what turns up later", async () => {
  const { tenant, id, step, parcel, back, spend } = await returnOnTheRoad();
  expect(await spend(fee, "debit")).toSucceed(200);
  expect(await step(id, "receive", { missing_delivery_ids: [back] })).toSucceed(200);
  const { body } = await tenant.warehouse.get(`/warehousing/waybills/${id}`);
  const [{ id: discrepancy }] = body.waybill.discrepancies;
  expect(await step(id, `discrepancies/${discrepancy}/resolve`, { resolution: "found" }))
    .toSucceed(200);
  expect(await owed(parcel)).toHaveLength(1);
  await checkAll(tenant);
});

test("with enough in the wallet the fee goes back, and nothing is owed", async () => {
  const { tenant, id, step, parcel } = await returnOnTheRoad();
  expect(await step(id, "receive")).toSucceed(200);
  expect(await owed(parcel)).toEqual([]);
  await checkAll(tenant);
});
