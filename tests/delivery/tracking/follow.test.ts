/** A recipient follows a parcel without an account: where it is, when it comes, what is due, and nothing about anybody. */
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { bookedCash, enable } from "../../support/carriers.ts";
import { handOver } from "../../support/assignments.ts";
import { sql } from "../../support/db.ts";
import {
  assign,
  type Ground,
  moves,
  newDelivery,
  newGround,
  outboundOnRoad,
} from "../../support/deliveries.ts";
import { undo } from "../../support/outcomes.ts";
import { newYard } from "../../support/packages.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { broughtInto, received, transferNoted } from "../../support/send-back.ts";
import { answerBy, follow, offerTracking, tokenOf } from "../../support/tracking.ts";

let tenant: Tenant;
let ground: Ground;
beforeAll(async () => {
  tenant = await newTenant({
    settings: {
      "general.brand_settings": { brand_name: { en: "Swift", ar: "سويفت" } },
      "general.language": { default: "ar" },
    },
  });
  ground = await newGround(tenant);
  await sql`update tenancy.tenants set logo_url = 'https://swift.test/logo.png',
    contact_info = ${
    sql.json({ phone: "+9647700000000", email: "help@swift.test" })
  } where id = ${tenant.id}`;
});
beforeEach(() => offerTracking(ground));

const followed = async (token: string, query = {}): Promise<Body> => {
  const answer = await follow(token, query);
  expect(answer).toSucceed(200);
  return answer.body.data;
};
const stepsOf = ({ history }: Body) => history.map(({ status }: Body) => status);

describe("a parcel", () => {
  test("is followed from the order to the door", async () => {
    const { id, delivery_code } = await newDelivery(ground, {
      customer_id: undefined,
      institution_user_id: tenant.institution.id,
      cod_amount: 7_000,
      promised_at: "2031-01-02T15:00:00Z",
      deliver_after: "2031-01-02T09:00:00Z",
      deliver_before: "2031-01-02T17:00:00Z",
    });
    const token = await tokenOf(tenant.institution, id);
    const [{ full_name }] =
      await sql`select full_name from tenancy.profiles where id = ${tenant.institution.id}`;
    const [{ city }] =
      await sql`select dropoff_snapshot ->> 'city' as city from delivery.deliveries where id = ${id}`;
    const ordered = await followed(token, { language: "en" });
    expect(ordered).toEqual({
      delivery_code,
      status: "pending",
      company: {
        name: "Swift",
        logo_url: "https://swift.test/logo.png",
        phone: "+9647700000000",
        email: "help@swift.test",
      },
      service: { name: "Standard", service_level: "standard" },
      sender_name: full_name,
      destination_city: city,
      promised_at: expect.stringMatching(/^2031-01-02T15:00:00/),
      expected_at: null,
      deliver_after: expect.stringMatching(/^2031-01-02T09:00:00/),
      deliver_before: expect.stringMatching(/^2031-01-02T17:00:00/),
      postponed_to: null,
      ordered_at: expect.any(String),
      picked_up_at: null,
      delivered_at: null,
      delivered_in_part: false,
      cash_due: { amount: 9_000, currency: "IQD" },
      carrier: null,
      history: [{ status: "pending", at: expect.any(String) }],
      trackable_until: null,
      answer: null,
      wanted_days: { first: expect.any(String), last: expect.any(String) },
    });
    const assignment = await assign(tenant, id);
    await sql`update delivery.assignments set estimated_delivery_time = '2031-01-02T14:00:00Z' where id = ${assignment}`;
    await moves(tenant.driver, id, "pickup", "depart");
    const [{ dropoff_snapshot }] =
      await sql`select dropoff_snapshot from delivery.deliveries where id = ${id}`;
    const onRoad = await followed(token);
    expect(onRoad).toMatchObject({
      status: "in_transit",
      expected_at: expect.stringMatching(/^2031-01-02T14:00:00/),
    });
    const text = JSON.stringify(onRoad);
    for (
      const secret of [
        "Recipient",
        "7701234567",
        dropoff_snapshot.full_address,
        tenant.driver.id,
        tenant.id,
        id,
      ]
    ) expect(text).not.toContain(secret);
    await moves(tenant.driver, id, "complete");
    const brought = await followed(token);
    expect(brought).toMatchObject({ status: "delivered", cash_due: null, expected_at: null });
    expect(stepsOf(brought)).toEqual([
      "pending",
      "accepted",
      "picked_up",
      "in_transit",
      "delivered",
    ]);
  });

  test("that goes in legs shows its own steps, and when the last of them comes", async () => {
    const { parent, b } = await outboundOnRoad(ground);
    await sql`update delivery.assignments set estimated_delivery_time = '2031-01-02T14:00:00Z'
      where delivery_id = ${b} and ended_at is null`;
    const token = await tokenOf(tenant.ops, parent.id);
    const onRoad = await followed(token);
    expect(onRoad).toMatchObject({
      status: "in_transit",
      expected_at: expect.stringMatching(/^2031-01-02T14:00:00/),
      cash_due: { amount: 2_000 },
      sender_name: null,
    });
    await moves(tenant.driver, b, "complete");
    expect(await followed(token)).toMatchObject({ status: "delivered" });
  });

  test("that comes back to its driver comes when it was said: by a handover that is rejected, or an outcome that is undone", async () => {
    const { driver, driver2, ops } = tenant;
    const { id } = await newDelivery(ground);
    const token = await tokenOf(ops, id);
    const first = await assign(tenant, id);
    await sql`update delivery.assignments set estimated_pickup_time = '2031-01-02T12:00:00Z',
      estimated_delivery_time = '2031-01-02T14:00:00Z' where id = ${first}`;
    await moves(driver, id, "pickup", "depart");
    const timesOf = () =>
      sql`select driver_id, estimated_pickup_time as fetched, estimated_delivery_time as brought
        from delivery.assignments where delivery_id = ${id} and ended_at is null`;
    const expected = [{
      driver_id: driver.id,
      fetched: new Date("2031-01-02T12:00:00Z"),
      brought: new Date("2031-01-02T14:00:00Z"),
    }];
    expect(await timesOf()).toEqual(expected);
    const given = await handOver(ops, driver, driver2, [id]);
    expect(given).toSucceed(201);
    const hand = `/delivery/assignments/bulk/${given.body.bulk_assignment_id}`;
    expect(await driver2.put(hand, { status: "rejected" })).toSucceed(200);
    expect(await timesOf()).toEqual(expected);
    const { expected_at } = await followed(token);
    expect(expected_at).toMatch(/^2031-01-02T14:00:00/);

    await moves(driver, id, "complete");
    expect(await undo(driver, id)).toSucceed(200);
    expect(await timesOf()).toEqual(expected);
    expect((await followed(token)).expected_at).toBe(expected_at);
  });

  test("that is on a transfer to another warehouse owes at the door what it owed before", async () => {
    const yard = await newYard(await newTenant());
    await offerTracking(yard);
    const parcel = await newDelivery(yard, { cod_amount: 5_000 });
    await received(yard, await broughtInto(yard, parcel.id, yard.warehouse));
    const token = await tokenOf(yard.tenant.ops, parcel.id);
    const due = async () => (await followed(token)).cash_due;
    const owed = { amount: 7_000, currency: "IQD" };
    expect(await due()).toEqual(owed);
    await transferNoted(yard, parcel.barcode);
    expect(await due()).toEqual(owed);
    await assign(yard.tenant, parcel.id);
    await moves(yard.tenant.driver, parcel.id, "pickup", "depart");
    expect(await followed(token)).toMatchObject({ status: "in_transit", cash_due: owed });
    await moves(yard.tenant.driver, parcel.id, "complete");
    expect(await due()).toEqual(owed);
  });

  test("that an external carrier brings names its number there, until that ends", async () => {
    await enable(tenant);
    const { id, tracking_number } = await bookedCash(ground);
    const token = await tokenOf(tenant.ops, id);
    expect((await followed(token)).carrier).toEqual({ code: "simulated", tracking_number });
    expect(await tenant.ops.post(`/carriers/shipments/${id}/cancel`)).toSucceed(200);
    expect((await followed(token)).carrier).toBeNull();
  });

  test("is described in the language that is asked for, else in the company's", async () => {
    const { id } = await newDelivery(ground);
    const token = await tokenOf(tenant.ops, id);
    const named = async (query = {}) => {
      const { company, service } = await followed(token, query);
      return [company.name, service.name];
    };
    expect(await named({ language: "en" })).toEqual(["Swift", "Standard"]);
    expect(await named()).toEqual(["سويفت", "عادي"]);
    // The brand has no Kurdish name, and its English one stands for it.
    expect(await named({ language: "ku" })).toEqual(["Swift", "ئاسایی"]);
  });

  test("is answered in the company's language where none is asked for", async () => {
    const { id } = await newDelivery(ground);
    const token = await tokenOf(tenant.ops, id);
    const said = async (query = {}) =>
      (await answerBy(token, { note: "Ring" }, query)).body.message;
    const [arabic, english] = [await said({ language: "ar" }), await said({ language: "en" })];
    expect(await said()).toBe(arabic);
    expect(english).not.toBe(arabic);
  });

  test("of a company without a brand goes by its name", async () => {
    const plain = await newTenant();
    const place = await newGround(plain);
    await offerTracking(place);
    const token = await tokenOf(plain.ops, (await newDelivery(place)).id);
    expect((await followed(token)).company).toEqual({
      name: "Tenant",
      logo_url: null,
      phone: null,
      email: null,
    });
  });
});

describe("nothing is to be followed", () => {
  const ended = (answer: Awaited<ReturnType<typeof follow>>) =>
    expect(answer).toFailWith(404, "tracking_not_found");

  test.each(["none", "A".repeat(22), "a'b", "%"])("at %j", async (token) => {
    ended(await follow(token));
  });

  test("at what is longer than a token could be", async () => {
    expect(await follow("A".repeat(65))).toFailWith(400, "validation_failed");
  });

  test("while the service has no tracking, and again when it has", async () => {
    const token = await tokenOf(tenant.ops, (await newDelivery(ground)).id);
    await offerTracking(ground, false);
    ended(await follow(token));
    await offerTracking(ground);
    expect(await follow(token)).toSucceed(200);
  });

  test("of a company that is suspended", async () => {
    const closed = await newTenant();
    const place = await newGround(closed);
    await offerTracking(place);
    const token = await tokenOf(closed.ops, (await newDelivery(place)).id);
    await sql`update tenancy.tenants set status = 'suspended' where id = ${closed.id}`;
    ended(await follow(token));
  });

  test("from thirty days after its end, and the answer says so before", async () => {
    const { id } = await newDelivery(ground);
    const token = await tokenOf(tenant.ops, id);
    expect(await tenant.ops.post(`/delivery/deliveries/${id}/cancel`, { reason: "No" }))
      .toSucceed(200);
    const { history, trackable_until } = await followed(token);
    const days = (Date.parse(trackable_until) - Date.parse(history.at(-1).at)) / 86_400_000;
    expect(days).toBeCloseTo(30, 3);
    await endedLongAgo(id);
    ended(await follow(token));
  });

  test.each([["en", "parcel"], ["ar", "شحنة"], ["ku", "پارسەڵ"]])(
    "and is said in %s",
    async (language, word) => {
      const { body } = await follow("none", { language });
      expect(body.message).toContain(word);
    },
  );
});

/** The history is append-only; its owner lets it be as if it had been written a month ago. */
async function endedLongAgo(id: string): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await tx`update delivery.delivery_status_history set created_at = created_at - interval '31 days'
      where delivery_id = ${id}`;
  });
}
