/** A recipient answers by the link: a wish that the office, the driver and the sender see, and that moves nothing. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Body, type Person, withKey } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import {
  assign,
  checkAll,
  deliveryIn,
  type Ground,
  moves,
  newDelivery,
  newGround,
  outboundOnRoad,
} from "../../support/deliveries.ts";
import { noonZone } from "../../support/merchant-cycle.ts";
import { dayIn, eventsOf, onItsWay, report } from "../../support/outcomes.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { answerBy, answers, follow, offerTracking, tokenOf } from "../../support/tracking.ts";

const zone = noonZone();
const days = { first: dayIn(1, zone), last: dayIn(30, zone) };
const place = { latitude: 36.1911, longitude: 44.0091 };
const note = "Ring the bell twice";

let tenant: Tenant;
let ground: Ground;
beforeAll(async () => {
  tenant = await newTenant({ settings: { "general.timezone": { name: zone } } });
  ground = await newGround(tenant);
  await offerTracking(ground);
});
afterAll(() => checkAll(tenant));

const answered = async (token: string, body: Record<string, unknown>): Promise<Body> => {
  const answer = await answerBy(token, body);
  expect(answer).toSucceed(200);
  return answer.body.data;
};
const shown = async (token: string): Promise<Body> => {
  const { body } = await follow(token);
  return { answer: body.data.answer, wanted_days: body.data.wanted_days };
};
const listed = async (person: Person, delivery_id: string): Promise<Body[]> => {
  const answer = await person.get(answers, { query: { delivery_id } });
  expect(answer).toSucceed(200);
  return answer.body.data;
};
const notices = (person: Person, delivery: string) =>
  sql`select type, payload from tenancy.notifications where user_id = ${person.id}
    and type = 'recipient_answered' and payload ->> 'delivery_id' = ${delivery} order by created_at, id`;

test("an answer is seen, changed, agreed to, and closed when the parcel is delivered", async () => {
  const made = await deliveryIn(ground, "in_transit", { cod_amount: 5_000 });
  const { id, delivery_code } = made;
  const [before] = await sql`select * from delivery.deliveries where id = ${id}`;
  const token = await tokenOf(tenant.ops, id);
  expect(await shown(token)).toEqual({ answer: null, wanted_days: days });

  const wanted_day = dayIn(3, zone);
  const first = await answerBy(token, { wanted_day, note, location: place }, { language: "en" });
  expect(first).toSucceed(200);
  expect(first.body.message).toContain("once the company has agreed");
  const said = {
    answer: {
      wanted_day,
      note_given: true,
      location_given: true,
      answered_at: expect.any(String),
    },
    wanted_days: days,
  };
  expect(first.body.data).toEqual(said);
  expect(await shown(token)).toEqual(said);
  const row = {
    id: expect.any(String),
    tenant_id: tenant.id,
    delivery_id: id,
    delivery_code,
    delivery_status: "in_transit",
    wanted_day,
    note,
    ...place,
    answered_at: expect.any(String),
    times: 1,
  };
  for (const person of [tenant.ops, tenant.dispatcher, tenant.driver, tenant.customer]) {
    expect(await listed(person, id)).toEqual([row]);
  }
  expect(await sql`select * from delivery.deliveries where id = ${id}`).toEqual([before]);

  const later = dayIn(4, zone);
  expect((await answered(token, { wanted_day: later, location: null })).answer).toMatchObject({
    wanted_day: later,
    note_given: true,
    location_given: false,
  });
  expect(await listed(tenant.ops, id)).toMatchObject([
    { wanted_day: later, note, latitude: null, longitude: null, times: 2 },
  ]);
  expect(await eventsOf(id, "delivery.recipient_answered")).toEqual(
    [[wanted_day, true], [later, false]].map(([wanted_day, location_given]) => ({
      delivery_id: id,
      delivery_code,
      wanted_day,
      note_given: true,
      location_given,
    })),
  );

  const agreed = await report(tenant.ops, id, {
    result: "postponed",
    reason_code: "postponed",
    postponed_to: later,
  });
  expect(agreed).toSucceed(200);
  expect((await follow(token)).body.data).toMatchObject({
    postponed_to: later,
    answer: { wanted_day: later },
  });
  await moves(tenant.ops, id, ["retry", { override_reason: "They are there today" }]);
  await moves(tenant.driver, id, "complete");
  expect(await shown(token)).toMatchObject({ answer: { wanted_day: later }, wanted_days: null });
  expect(await answerBy(token, { note: "Thank you" })).toFailWith(409, "tracking_answers_closed");
  expect(await listed(tenant.ops, id)).toMatchObject([{ delivery_status: "delivered", times: 2 }]);
});

describe("the office and the driver who has the parcel are notified", () => {
  test("of each change, and of nothing else", async () => {
    const { id, delivery_code } = await deliveryIn(ground, "in_transit");
    const token = await tokenOf(tenant.ops, id);
    await answered(token, { note });
    await answered(token, { note });
    const notice = { delivery_id: id, delivery_code, wanted_day: null };
    for (const person of [tenant.admin, tenant.ops, tenant.dispatcher, tenant.driver]) {
      expect((await notices(person, id)).map(({ payload }) => payload)).toEqual([notice]);
    }
    for (const person of [tenant.customer, tenant.warehouse, tenant.institution]) {
      expect(await notices(person, id)).toEqual([]);
    }
    await answered(token, { wanted_day: days.first });
    expect(await notices(tenant.ops, id)).toHaveLength(2);
  });

  test("in each language, with the day", async () => {
    const id = await onItsWay(ground);
    const token = await tokenOf(tenant.ops, id);
    await answered(token, { wanted_day: days.last });
    for (
      const [language, word] of [["en", "tracking link"], ["ar", "التتبّع"], ["ku", "بەدواداچوون"]]
    ) {
      const { body } = await tenant.dispatcher.get("/tenants/me/notifications", {
        query: { type: "recipient_answered", language: language!, limit: "1" },
      });
      expect(body.data[0].message).toContain(word);
      expect(body.data[0].message).toContain(days.last);
    }
  });

  test("while nobody carries it, the office alone", async () => {
    const { id } = await newDelivery(ground);
    await answered(await tokenOf(tenant.ops, id), { note });
    expect(await notices(tenant.ops, id)).toHaveLength(1);
    expect(await notices(tenant.driver, id)).toEqual([]);
    expect(await listed(tenant.driver, id)).toEqual([]);
  });
});

test("of a parcel in legs the answer is the parcel's, and the driver of a leg has it", async () => {
  const { parent, a, b } = await outboundOnRoad(ground);
  const token = await tokenOf(tenant.ops, b);
  await answered(token, { note, location: place });
  for (const leg of [a, b, parent.id]) {
    expect(await listed(tenant.ops, leg)).toMatchObject([{ delivery_id: parent.id, note }]);
  }
  expect(await listed(tenant.driver, b)).toMatchObject([{
    delivery_id: parent.id,
    delivery_code: parent.delivery_code,
    delivery_status: "in_transit",
    ...place,
  }]);
  expect(await notices(tenant.driver, b)).toHaveLength(1);
  expect(await notices(tenant.ops, parent.id)).toHaveLength(1);
});

test("an answer that stands changes nothing when it comes again, and null takes it away", async () => {
  const id = await onItsWay(ground);
  const token = await tokenOf(tenant.ops, id);
  expect((await answered(token, { note: null, location: null })).answer).toBeNull();
  const body = { wanted_day: days.last, note, location: place };
  const first = await answered(token, body);
  expect(await answered(token, body)).toEqual(first);
  expect(await answered(token, { note })).toEqual(first);
  expect(await listed(tenant.ops, id)).toMatchObject([{ times: 1 }]);
  const { answer } = await answered(token, { wanted_day: null, note: null, location: null });
  expect(answer).toMatchObject({ wanted_day: null, note_given: false, location_given: false });
  expect(await listed(tenant.ops, id)).toMatchObject([
    { wanted_day: null, note: null, latitude: null, times: 2 },
  ]);
});

test("the answer names neither the note nor the place to those who have the link", async () => {
  const id = await onItsWay(ground);
  const token = await tokenOf(tenant.ops, id);
  const made = await answerBy(token, { note, location: place });
  for (const { body } of [made, await follow(token)]) {
    const text = JSON.stringify(body);
    expect(text).not.toContain(note);
    expect(text).not.toContain(String(place.latitude));
  }
  const [{ log }] = await sql`select string_agg(after::text, '') as log from app.audit_log
    where tenant_id = ${tenant.id} and entity = 'delivery.recipient_answers' and after ->> 'delivery_id' = ${id}`;
  expect(log).toContain("answered_at");
  expect(log).not.toContain(note);
});

test("a driver who had the parcel taken from them sees its answer no more", async () => {
  const { id } = await newDelivery(ground);
  const assignment = await assign(tenant, id);
  await answered(await tokenOf(tenant.ops, id), { note });
  expect(await listed(tenant.driver, id)).toHaveLength(1);
  expect(await listed(tenant.institution, id)).toEqual([]);
  expect(await tenant.ops.post(`/delivery/assignments/${assignment}/unassign`)).toSucceed();
  expect(await listed(tenant.driver, id)).toEqual([]);
});

test("a merchant and the merchant's program see the answers for their parcels", async () => {
  const merchant = { customer_id: undefined, institution_user_id: tenant.institution.id };
  const { id } = await newDelivery(ground, merchant);
  await answered(await tokenOf(tenant.institution, id), { note });
  const made = await tenant.institution.post("/tenants/me/api-keys", {
    name: "Shop",
    scopes: ["own:institution:view"],
    expires_at: new Date(Date.now() + 86_400_000).toISOString(),
  });
  for (const person of [tenant.institution, withKey(made.body.key)]) {
    expect(await listed(person, id)).toMatchObject([{ delivery_id: id, note }]);
  }
  expect(await listed(tenant.institution2, id)).toEqual([]);
});

test("three hundred letters of any script are a note, and the place may be anywhere", async () => {
  const { id } = await newDelivery(ground);
  const token = await tokenOf(tenant.ops, id);
  const long = "ب".repeat(300);
  await answered(token, { note: long, location: { latitude: 0, longitude: -180 } });
  expect(await listed(tenant.ops, id)).toMatchObject([
    { note: long, latitude: 0, longitude: -180 },
  ]);
});
