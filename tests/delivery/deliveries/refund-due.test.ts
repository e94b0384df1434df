/** A parcel comes back whose fee is to go back while the company's wallet is empty: the move happens, and the refund waits for the office. */
import { expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import {
  assign,
  checkAll,
  move,
  moves,
  newDelivery,
  statusOf,
  takenOver,
} from "../../support/deliveries.ts";
import { fundWallet } from "../../support/money.ts";
import { newYard, type Yard } from "../../support/packages.ts";
import { newTenant } from "../../support/people.ts";
import { broughtInto, received, sentBackBy } from "../../support/send-back.ts";
import { adjust, balanceOf } from "../../support/wallets.ts";

const fee = 2000;

/** A company that refunds returns, whose sender has paid the fees of some parcels by wallet, and whose own wallet is empty since. */
async function newPoor(parcels = 1) {
  const tenant = await newTenant();
  const yard: Yard = await newYard(tenant);
  await sql`update delivery.delivery_services set policy_mode = 'custom',
    policy_overrides = '{"payment_policies": {"refund_delivery_fee_on_return": true}}'
    where id = ${yard.service}`;
  const payer = await fundWallet(tenant, "customer", tenant.customer.id, fee * parcels);
  const ids: string[] = [];
  for (let parcel = 0; parcel < parcels; parcel++) {
    const paid = { payer_type: "sender", payment_method: "wallet" };
    ids.push((await newDelivery(yard, paid)).id);
  }
  const [{ id: till }] = await sql`select id from money.accounts
    where tenant_id = ${tenant.id} and kind = 'wallet' and owner_type = 'tenant'`;
  const spend = async (amount = fee * parcels) =>
    expect(await adjust(tenant.admin, till, amount, "debit")).toSucceed();
  const fill = async (amount: number) =>
    expect(await adjust(tenant.admin, till, amount)).toSucceed();
  return { tenant, yard, payer, ids, id: ids[0], spend, fill };
}

type Poor = Awaited<ReturnType<typeof newPoor>>;

const owed = (id: string) =>
  sql`select event_data from integration.system_events
    where event_type = 'delivery.refund_due' and entity_id = ${id}`;

/** One event and one notice say what is owed; nothing was paid. */
async function expectOwed({ tenant, payer }: Poor, id: string, actor: { id: string }) {
  expect((await owed(id)).map(({ event_data }) => event_data))
    .toEqual([{ delivery_id: id, amount: fee, currency: "IQD", actor_id: actor.id }]);
  const notices = async (person = tenant.admin) =>
    (await person.get("/tenants/me/notifications")).body.data.filter(
      ({ type }: { type: string }) => type === "refund_due",
    );
  const [{ delivery_code }] = await sql`select delivery_code from delivery.deliveries
    where id = ${id}`;
  expect(await notices()).toMatchObject([{
    message:
      `2000 IQD of delivery ${delivery_code}, which came back, are owed to the payer of its ` +
      "fee: the company's wallet was short. Please fill it, and credit the payer's wallet.",
    payload: { delivery_id: id, delivery_code: Number(delivery_code), amount: fee },
  }]);
  expect(await notices(tenant.dispatcher)).toEqual([]);
  expect(await balanceOf(payer)).toBe(0);
  await checkAll(tenant);
}

async function onTheRoad({ tenant, id }: Poor) {
  await assign(tenant, id);
  await moves(tenant.driver, id, "pickup", "depart");
}

test("a driver brings it back to its sender, once however often it is said", async () => {
  const poor = await newPoor();
  const { tenant, id, spend } = poor;
  await onTheRoad(poor);
  await spend();
  const again = { headers: { "idempotency-key": crypto.randomUUID() } };
  for (let time = 0; time < 2; time++) {
    const answer = await tenant.driver.post(`/delivery/deliveries/${id}/return`, {}, again);
    expect(answer).toSucceed(200);
    expect(answer.body).toMatchObject({ refunded: false, refund_due: null });
  }
  expect(await statusOf(id)).toBe("returned");
  await expectOwed(poor, id, tenant.driver);
});

test("a driver completes its operational return", async () => {
  const poor = await newPoor();
  const { tenant, yard, id, spend } = poor;
  await received(yard, await broughtInto(yard, id, yard.warehouse));
  const back = await sentBackBy(yard, id, "operational-return");
  await takenOver(yard, back.id);
  await moves(tenant.driver, back.id, "depart");
  await spend();
  await moves(tenant.driver, back.id, "complete");
  expect(await statusOf(id)).toBe("returned");
  await expectOwed(poor, id, tenant.driver);
});

test("with enough in the wallet the fee goes back, and nothing is owed", async () => {
  const poor = await newPoor();
  const { tenant, id, payer } = poor;
  await onTheRoad(poor);
  const body = await moves(tenant.driver, id, "return");
  expect(body).toMatchObject({ refunded: true, refund_due: null });
  expect(await balanceOf(payer)).toBe(fee);
  expect(await owed(id)).toEqual([]);
  await checkAll(tenant);
});

test("of two that come back at once while the wallet pays one fee, one is refunded and one is owed", async () => {
  const poor = await newPoor(2);
  const { tenant, ids, payer, spend } = poor;
  const drivers = [tenant.driver, tenant.driver2];
  for (const [place, id] of ids.entries()) {
    await assign(tenant, id, drivers[place]);
    await moves(drivers[place], id, "pickup", "depart");
  }
  await spend(fee);
  const answers = await Promise.all(ids.map((id, place) => move(drivers[place], id, "return")));
  for (const answer of answers) expect(answer).toSucceed(200);
  expect(answers.map(({ body }) => body.refunded).sort()).toEqual([false, true]);
  expect(await balanceOf(payer)).toBe(fee);
  expect((await Promise.all(ids.map(owed))).flat()).toHaveLength(1);
  await checkAll(tenant);
});

test("the office pays what is owed by an adjustment of the payer's wallet", async () => {
  const poor = await newPoor();
  const { tenant, id, payer, spend, fill } = poor;
  await onTheRoad(poor);
  await spend();
  await moves(tenant.driver, id, "return");
  await fill(fee);
  expect(await adjust(tenant.admin, payer, fee)).toSucceed();
  expect(await balanceOf(payer)).toBe(fee);
  await checkAll(tenant);
});
