/** Answers of recipients that are not taken, and people who do not see them. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { Answer, Body } from "../../support/api.ts";
import { bookedCash, enable } from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import { deliveryIn, type Ground, move, newDelivery, newGround } from "../../support/deliveries.ts";
import { noonZone } from "../../support/merchant-cycle.ts";
import { dayIn, onItsWay } from "../../support/outcomes.ts";
import { queuedOn } from "../../support/overlapping.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectReplayed } from "../../support/promises.ts";
import { times } from "../../support/races.ts";
import { nobody } from "../../support/api.ts";
import {
  answerBy,
  answers,
  follow,
  links,
  offerTracking,
  tokenOf,
} from "../../support/tracking.ts";

const zone = noonZone();
const note = "Ring the bell twice";
const languages = ["en", "ar", "ku"];

let tenant: Tenant;
let other: Tenant;
let ground: Ground;
let theirs: Ground;
beforeAll(async () => {
  const settings = { "general.timezone": { name: zone } };
  [tenant, other] = await Promise.all([newTenant({ settings }), newTenant()]);
  [ground, theirs] = await Promise.all([newGround(tenant), newGround(other)]);
  await Promise.all([offerTracking(ground), offerTracking(theirs)]);
});

const kept = async (delivery: string): Promise<Body[]> =>
  await sql`select note, times from delivery.recipient_answers where delivery_id = ${delivery}`;
const tokenOn = async (id: string) => ({ id, token: await tokenOf(tenant.ops, id) });

/** The same refusal in three languages, each in words of its own; the answer of the last. */
async function refusedInAll(
  ask: (language: string) => Promise<Answer>,
  status: number,
  code: string,
) {
  const found: Answer[] = [];
  for (const language of languages) {
    const answer = await ask(language);
    expect(answer).toFailWith(status, code);
    found.push(answer);
  }
  expect(new Set(found.map(({ body }) => body.message)).size).toBe(languages.length);
  return found.at(-1)!.body;
}

describe("no answer is taken", () => {
  test.each(["none", "A".repeat(22), "a'b", "%"])("at %j", async (token) => {
    await refusedInAll(
      (language) => answerBy(token, { note }, { language }),
      404,
      "tracking_not_found",
    );
  });

  test("by a link that was ended, of a service without tracking, of a suspended company", async () => {
    const gone = await tokenOn(await onItsWay(ground));
    expect(await tenant.ops.delete(`${links}/${gone.id}`)).toSucceed(200);
    expect(await answerBy(gone.token, { note })).toFailWith(404, "tracking_not_found");

    const closed = await newTenant();
    const place = await newGround(closed);
    await offerTracking(place);
    const { id } = await newDelivery(place);
    const token = await tokenOf(closed.ops, id);
    await offerTracking(place, false);
    expect(await answerBy(token, { note })).toFailWith(404, "tracking_not_found");
    await offerTracking(place);
    await sql`update tenancy.tenants set status = 'suspended' where id = ${closed.id}`;
    expect(await answerBy(token, { note })).toFailWith(404, "tracking_not_found");
    for (const delivery of [gone.id, id]) expect(await kept(delivery)).toEqual([]);
  });

  test.each(["delivered", "cancelled", "returned"])("of a parcel that is %s", async (status) => {
    const { token } = await tokenOn((await deliveryIn(ground, status)).id);
    const body = await refusedInAll(
      (language) => answerBy(token, { note }, { language }),
      409,
      "tracking_answers_closed",
    );
    expect(body.status).toBe(status);
    expect((await follow(token)).body.data.wanted_days).toBeNull();
  });

  test("of a parcel that another carrier has, until it has it no more", async () => {
    await enable(tenant);
    const { id, token } = await tokenOn((await bookedCash(ground)).id);
    expect(await answerBy(token, { note })).toFailWith(409, "tracking_answers_closed");
    expect((await follow(token)).body.data.wanted_days).toBeNull();
    expect(await tenant.ops.post(`/carriers/shipments/${id}/cancel`)).toSucceed(200);
    expect(await answerBy(token, { note })).toSucceed(200);
  });

  test("for another day than one of the next thirty in the company's zone", async () => {
    const { id, token } = await tokenOn(await onItsWay(ground));
    const days = { first: dayIn(1, zone), last: dayIn(30, zone) };
    for (const wanted_day of [dayIn(-1, zone), dayIn(0, zone), dayIn(31, zone)]) {
      const body = await refusedInAll(
        (language) => answerBy(token, { wanted_day, note }, { language }),
        400,
        "invalid_wanted_day",
      );
      expect(body).toMatchObject({ field: "wanted_day", ...days });
    }
    expect(await kept(id)).toEqual([]);
    for (const wanted_day of Object.values(days)) {
      expect(await answerBy(token, { wanted_day })).toSucceed(200);
    }
  });

  test("after twenty changes; what stands may come again", async () => {
    const { id, token } = await tokenOn(await onItsWay(ground));
    for (let count = 1; count <= 20; count++) {
      expect(await answerBy(token, { note: `Note ${count}` })).toSucceed(200);
    }
    await refusedInAll(
      (language) => answerBy(token, { note }, { language }),
      409,
      "tracking_answers_used_up",
    );
    expect(await answerBy(token, { note: "Note 20" })).toSucceed(200);
    expect(await kept(id)).toEqual([{ note: "Note 20", times: 20 }]);
  });

  test.each<[Record<string, unknown>, string]>([
    [{}, "body"],
    [{ phone: "+9647701234567" }, "phone"],
    [{ wanted_day: "tomorrow" }, "wanted_day"],
    [{ note: "" }, "note"],
    [{ note: " " }, "note"],
    [{ note: "x".repeat(301) }, "note"],
    [{ location: {} }, "location.latitude"],
    [{ location: { latitude: 36.1 } }, "location.longitude"],
    [{ location: { latitude: 91, longitude: 44 } }, "location.latitude"],
    [{ location: { latitude: 36, longitude: -181 } }, "location.longitude"],
    [{ location: { latitude: "36", longitude: 44 } }, "location.latitude"],
  ])("that says %j", async (body, field) => {
    const { id, token } = await tokenOn((await newDelivery(ground)).id);
    const answer = await answerBy(token, body);
    expect(answer.status).toBe(400);
    expect(answer.body.field).toBe(field);
    expect(await kept(id)).toEqual([]);
  });
});

test("a token of anybody adds nothing, and takes nothing from who has it", async () => {
  const { id } = await newDelivery(theirs);
  const token = await tokenOf(other.ops, id);
  const answer = await tenant.ops.post(`/delivery/public/tracking/${token}/answer`, { note });
  expect(answer).toSucceed(200);
  const [{ tenant_id }] = await sql`select tenant_id from delivery.recipient_answers
    where delivery_id = ${id}`;
  expect(tenant_id).toBe(other.id);
  const { body } = await tenant.ops.get(answers, { query: { delivery_id: id } });
  expect(body.data).toEqual([]);
});

describe("the list", () => {
  test("is for those who see deliveries", async () => {
    await expectGuarded({ method: "GET", path: answers }, { denied: [] });
    expect(await nobody.get(answers)).toFailWith(401, "unauthorized");
  });

  test("holds no other company's answers, and nothing of what is not seen", async () => {
    const own = await tokenOn((await newDelivery(ground)).id);
    await answerBy(own.token, { note });
    const seen = async (person: typeof tenant.ops, query: Record<string, string>) => {
      const answer = await person.get(answers, { query });
      expect(answer).toSucceed(200);
      return answer.body.data.map(({ delivery_id }: Body) => delivery_id);
    };
    const delivery_id = own.id;
    expect(await seen(tenant.customer, { delivery_id })).toEqual([delivery_id]);
    for (const person of [tenant.institution, tenant.driver, other.ops]) {
      expect(await seen(person, { delivery_id })).toEqual([]);
      expect(await seen(person, {})).not.toContain(delivery_id);
    }
    expect(await seen(tenant.ops, { delivery_id: randomUUID() })).toEqual([]);
    const wrong = await tenant.ops.get(answers, { query: { delivery_id: "no-id" } });
    expect(wrong).toFailWith(400, "invalid_uuid");
  });

  test("is the newest first, and is narrowed by day", async () => {
    const made = [];
    for (const days of [5, 6, 5]) {
      const one = await tokenOn((await newDelivery(ground)).id);
      expect(await answerBy(one.token, { wanted_day: dayIn(days, zone) })).toSucceed(200);
      made.push(one.id);
    }
    const { body } = await tenant.ops.get(answers, { query: { limit: "3" } });
    expect(body.data.map(({ delivery_id }: Body) => delivery_id)).toEqual(made.toReversed());
    const onDay = await tenant.ops.get(answers, { query: { wanted_day: dayIn(5, zone) } });
    expect(onDay.body.data.map(({ delivery_id }: Body) => delivery_id)).toEqual([made[2], made[0]]);
    const wrong = await tenant.ops.get(answers, { query: { wanted_day: "soon" } });
    expect(wrong).toFailWith(400, "validation_failed");
  });
});

describe("at once", () => {
  test("an answer that waits for the end of its parcel comes too late", async () => {
    const { id, token } = await tokenOn(await onItsWay(ground));
    const [ended, late] = await queuedOn(id, [
      () => move(tenant.driver, id, "complete"),
      () => answerBy(token, { note }),
    ]);
    expect(ended).toSucceed(200);
    expect(late).toFailWith(409, "tracking_answers_closed");
    expect(await kept(id)).toEqual([]);
  });

  test("an answer before it stands, and the parcel ends", async () => {
    const { id, token } = await tokenOn(await onItsWay(ground));
    const [first, ended] = await queuedOn(id, [
      () => answerBy(token, { note }),
      () => move(tenant.driver, id, "complete"),
    ]);
    expect(first).toSucceed(200);
    expect(ended).toSucceed(200);
    expect(await kept(id)).toEqual([{ note, times: 1 }]);
  });

  test("the same answer eight times is one", async () => {
    const { id, token } = await tokenOn((await deliveryIn(ground, "in_transit")).id);
    const all = await times(8, () => answerBy(token, { note }));
    for (const answer of all) expect(answer).toSucceed(200);
    expect(await kept(id)).toEqual([{ note, times: 1 }]);
    const notices = await sql`select from tenancy.notifications where type = 'recipient_answered'
      and user_id = ${tenant.ops.id} and payload ->> 'delivery_id' = ${id}`;
    expect(notices).toHaveLength(1);
  });

  test("and under one Idempotency-Key", async () => {
    const { token } = await tokenOn((await newDelivery(ground)).id);
    await expectReplayed(nobody, `/delivery/public/tracking/${token}/answer`, { note }, {
      note: "Another",
    });
  });
});
