/** A fee that was said to be owed, since the company's wallet was short when the parcel came back, is the office's to pay: once. */
import { expect, test } from "vitest";
import { enable, givenToCarrier, report as carrierReports } from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import { assign, checkAll, moves, newDelivery, statusOf } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { fundWallet } from "../../support/money.ts";
import { photoOf, refused, report, undo } from "../../support/outcomes.ts";
import { newYard, type Yard } from "../../support/packages.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";
import { breachesIn } from "../../support/reconciled.ts";
import { received } from "../../support/send-back.ts";
import { adjust, balanceOf } from "../../support/wallets.ts";

const fee = 2000;

/** Refused parcels go to a warehouse whose staff count them; the sender has paid by wallet, and the company has spent it. */
async function onTheRoad() {
  const tenant = await newTenant({
    settings: {
      "delivery.attempts": { after_last: "return" },
      "general.delivery": { return_requests: { destination_mode: "warehouse" } },
      "delivery.fulfillment_policy": { payment_policies: { refund_delivery_fee_on_return: true } },
    },
  });
  const yard: Yard = await newYard(tenant);
  await saveSettings(tenant.id, "general.warehouse", {
    handoff_required: true,
    default_warehouse_id: yard.there,
  });
  const payer = await fundWallet(tenant, "customer", tenant.customer.id, fee);
  const { id } = await newDelivery(yard, { payer_type: "sender", payment_method: "wallet" });
  await assign(tenant, id);
  await moves(tenant.driver, id, "pickup", "depart");
  const [{ id: till }] = await sql`select id from money.accounts
    where tenant_id = ${tenant.id} and kind = 'wallet' and owner_type = 'tenant'`;
  const change = (amount: number, direction: "debit" | "credit") =>
    adjust(tenant.admin, till, amount, direction);
  expect(await change(fee, "debit")).toSucceed();
  const fill = async () => expect(await change(2 * fee, "credit")).toSucceed();
  /** As the event says: fill the company's wallet, and credit the payer's. */
  const paidByHand = async () => {
    await fill();
    expect(await adjust(tenant.admin, payer, fee)).toSucceed();
  };
  return { tenant, yard, payer, id: id as string, fill, paidByHand };
}

/** The return that the driver made of the parcel at the door. */
async function refusedAtDoor(tenant: Tenant, id: string): Promise<string> {
  const answer = await report(tenant.driver, id, refused);
  expect(answer).toSucceed(200);
  return answer.body.data.returns[0].id;
}

/** The driver brings it to its warehouse, whose staff have not counted it; the receipt that waits. */
async function broughtBack(tenant: Tenant, back: string): Promise<string> {
  await moves(tenant.driver, back, ["complete", { proof: await photoOf(tenant.driver, back) }]);
  return await receiptOf(back);
}

async function receiptOf(back: string): Promise<string> {
  const [{ id }] = await sql`select id from warehousing.receiving_orders
    where delivery_id = ${back} and status = 'pending'`;
  return id;
}

const owed = async (id: string) =>
  (await sql`select event_type from integration.system_events
    where entity_id = ${id} and event_type like '%refund_due' order by position`).map(
    ({ event_type }) => event_type,
  );

/** The notices that tell an administrator what is owed. */
const notices = async (tenant: Tenant, wanted = "refund_due"): Promise<number> =>
  (await tenant.admin.get("/tenants/me/notifications")).body.data.filter(
    ({ type }: { type: string }) => type === wanted,
  ).length;

test("paid by hand when its driver brought it, it is not paid again when it is received", async () => {
  const { tenant, yard, payer, id, paidByHand } = await onTheRoad();
  const receipt = await broughtBack(tenant, await refusedAtDoor(tenant, id));
  expect(await owed(id)).toEqual(["delivery.refund_due"]);
  await paidByHand();
  await received(yard, receipt);
  expect(await balanceOf(payer)).toBe(fee);
  expect(await owed(id)).toHaveLength(1);
  await checkAll(tenant);
  expect(await breachesIn(tenant)).toEqual([]);
});

test("while the wallet stays short nobody is notified of it again", async () => {
  const { tenant, yard, payer, id } = await onTheRoad();
  await received(yard, await broughtBack(tenant, await refusedAtDoor(tenant, id)));
  expect(await owed(id)).toEqual(["delivery.refund_due"]);
  expect(await notices(tenant)).toBe(1);
  expect(await balanceOf(payer)).toBe(0);
  await checkAll(tenant);
});

test("so it is with what a carrier brought", async () => {
  const { tenant, yard, payer, id, paidByHand } = await onTheRoad();
  const { secret } = await enable(tenant);
  const back = await refusedAtDoor(tenant, id);
  const { receiving_order_id } = await moves(tenant.driver, back, [
    "return",
    { warehouse_id: yard.warehouse },
  ]);
  await received(yard, receiving_order_id);
  const tracking_number = await givenToCarrier(tenant, back);
  for (const status of ["picked_up", "delivered"]) {
    const answer = await carrierReports(tenant, secret, { tracking_number, status });
    expect(answer.body).toMatchObject({ outcome: "applied" });
  }
  expect(await owed(id)).toEqual(["carrier_return.refund_due"]);
  await paidByHand();
  await received(yard, await receiptOf(back));
  expect(await balanceOf(payer)).toBe(fee);
  expect(await owed(id)).toHaveLength(1);
  await checkAll(tenant);
});

test("undone and brought back once more, it is refunded as if nothing had been said", async () => {
  const { tenant, payer, id, fill } = await onTheRoad();
  await moves(tenant.driver, id, "return");
  expect(await owed(id)).toHaveLength(1);
  expect(await undo(tenant.ops, id)).toSucceed(200);
  expect(await notices(tenant, "refund_due_ended")).toBe(1);
  await fill();
  expect(await moves(tenant.driver, id, "return")).toMatchObject({ refunded: true });
  expect(await balanceOf(payer)).toBe(fee);
  await checkAll(tenant);
});

test("so it is where its return is what was undone, and while the wallet is short it is said once more", async () => {
  const { tenant, yard, payer, id, fill } = await onTheRoad();
  const back = await refusedAtDoor(tenant, id);
  await broughtBack(tenant, back);
  expect(await undo(tenant.ops, back)).toSucceed(200);
  expect(await notices(tenant, "refund_due_ended")).toBe(1);
  expect(await statusOf(back)).not.toBe("delivered");
  const receipt = await broughtBack(tenant, back);
  expect(await owed(id)).toHaveLength(2);
  expect(await undo(tenant.ops, back)).toSucceed(200);
  await fill();
  expect(receipt).not.toBe(await broughtBack(tenant, back));
  await received(yard, await receiptOf(back));
  expect(await balanceOf(payer)).toBe(fee);
  expect(await owed(id)).toHaveLength(2);
  await checkAll(tenant);
});
