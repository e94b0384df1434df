/** A merchant's subscription, to everybody else; and what a merchant cannot ask for. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Body, nobody, type Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newPerson, newTenant, type Tenant } from "../../support/people.ts";
import { type Receiver, startReceiver, until } from "../../support/receiver.ts";
import { deliveriesOf, moduleId, subscribe, subscribeMerchant } from "../../support/webhooks.ts";

const own = "/webhooks/own/subscriptions";
const companysPath = "/webhooks/subscriptions";
let tenant: Tenant;
let other: Tenant;
let receiver: Receiver;
let delivery: string;
let mine: { id: string; secret: string };
let theirs: { id: string; secret: string };
let companys: { id: string; secret: string };
beforeAll(async () => {
  [tenant, other, receiver, delivery] = await Promise.all([
    newTenant(),
    newTenant(),
    startReceiver(),
    moduleId("delivery"),
  ]);
  mine = await subscribeMerchant(tenant.institution, receiver.url);
  theirs = await subscribeMerchant(tenant.institution2, receiver.url);
  companys = await subscribe(tenant, receiver.url);
});
afterAll(() => receiver.close());
const valid = (more: Body = {}) => ({
  module_id: delivery,
  url: receiver.url,
  event_types: ["delivery.*"],
  ...more,
});
const since = "2020-01-01T00:00:00Z";

/** Every call that names a subscription. */
const calls: [string, (by: Person, id: string, path?: string) => Promise<Body>][] = [
  ["change", (by, id, path = own) => by.put(`${path}/${id}`, { is_active: false })],
  ["remove", (by, id, path = own) => by.delete(`${path}/${id}`)],
  ["rotate", (by, id, path = own) => by.post(`${path}/${id}/rotate-secret`, {})],
  ["test", (by, id, path = own) => by.post(`${path}/${id}/test`, {})],
  ["recover", (by, id, path = own) => by.post(`${path}/${id}/recover`, { since })],
];

describe.each(calls)("%s", (_, call) => {
  test("finds for a merchant neither another's nor the company's", async () => {
    for (const { id } of [theirs, companys]) {
      expect(await call(tenant.institution, id)).toFailWith(404, "webhook_subscription_not_found");
    }
  });
  test("finds for the company no merchant's", async () => {
    expect(await call(tenant.admin, mine.id, companysPath)).toFailWith(
      404,
      "webhook_subscription_not_found",
    );
  });
  test("keeps the merchant from the company's endpoints, and the company from the merchant's", async () => {
    expect(await call(tenant.institution, mine.id, companysPath)).toFailWith(403, "forbidden");
    for (const by of [tenant.admin, tenant.staff]) {
      expect(await call(by, mine.id)).toFailWith(403, "forbidden");
    }
  });
  test("finds for a merchant of another company none of this one", async () => {
    expect(await call(other.institution, mine.id)).toFailWith(
      404,
      "webhook_subscription_not_found",
    );
  });
  test("is not for drivers, customers and those without a token", async () => {
    for (const by of [tenant.driver, tenant.customer]) {
      expect(await call(by, mine.id)).toFailWith(403, "forbidden");
    }
    expect(await call(nobody, mine.id)).toFailWith(401, "unauthorized");
  });
});

test("the company's list is as it was: one row a module, none of a merchant", async () => {
  for (const by of [tenant.admin, tenant.staff]) {
    const { body } = await by.get(companysPath);
    expect(body.subscriptions.map((one: Body) => [one.id, one.module.key])).toEqual([
      [companys.id, "delivery"],
      ...["cod", "warehousing", "storefront", "carriers", "webhooks"].map((key) => [null, key]),
    ]);
  }
});

test("a merchant's list has their own alone, and no secret", async () => {
  const { body } = await tenant.institution.get(own);
  expect(body.subscriptions.map((one: Body) => one.id)).toEqual([mine.id]);
  expect(JSON.stringify(body)).not.toContain("whsec_");
  const none = await other.institution.get(own);
  expect(none.body.subscriptions).toMatchObject([{ id: null, module: { key: "delivery" } }]);
});

test("the log is of their own alone: deliveries, one of them, its attempts, and the retry", async () => {
  await tenant.institution.post(`${own}/${mine.id}/test`, {});
  await tenant.institution2.post(`${own}/${theirs.id}/test`, {});
  await tenant.admin.post(`${companysPath}/${companys.id}/test`, {});
  const [event] = await deliveriesOf(mine.id);
  const by = tenant.institution;
  const log = await by.get(`/webhooks/own/events/${mine.id}`);
  expect(log.body).toMatchObject({
    total: 1,
    events: [{ id: event.id, event_type: "webhook.test" }],
  });
  expect(await by.get(`/webhooks/own/events/${event.id}/payload`)).toSucceed(200);
  expect((await by.get(`/webhooks/own/events/${event.id}/attempts`)).body.data).toHaveLength(1);
  for (const { id } of [theirs, companys]) {
    const [foreign] = await deliveriesOf(id);
    expect((await by.get(`/webhooks/own/events/${id}`)).body).toMatchObject({
      total: 0,
      events: [],
    });
    await sql`update integration.webhook_events set status = 'failed' where id = ${foreign.id}`;
    for (
      const answer of [
        await by.get(`/webhooks/own/events/${foreign.id}/payload`),
        await by.get(`/webhooks/own/events/${foreign.id}/attempts`),
        await by.post(`/webhooks/own/events/${foreign.id}/retry`, {}),
      ]
    ) expect(answer).toFailWith(404, "webhook_event_not_found");
  }
  // Support reads what was sent to a merchant, and sends nothing in their name.
  expect((await tenant.admin.get(`/webhooks/events/${theirs.id}`)).body.total).toBe(1);
  const [failed] = await deliveriesOf(theirs.id);
  expect(await tenant.admin.post(`/webhooks/events/${failed.id}/retry`, {})).toFailWith(
    404,
    "webhook_event_not_found",
  );
  expect(await tenant.institution2.post(`/webhooks/own/events/${failed.id}/retry`, {})).toSucceed(
    200,
  );
});

test("a merchant recovers what failed", async () => {
  const by = await newPerson(tenant.id, "institution", "institution");
  const { id } = await subscribeMerchant(by, receiver.url);
  await by.post(`${own}/${id}/test`, {});
  await sql`update integration.webhook_events set status = 'failed' where subscription_id = ${id}`;
  const answer = await by.post(`${own}/${id}/recover`, { since });
  expect(answer.body).toMatchObject({ requeued: 1, waiting: 0, dry_run: false });
  await until(async () => (await deliveriesOf(id))[0].status === "success");
});

describe("a merchant who subscribes", () => {
  test("does so to deliveries: of other modules the refusal names the field", async () => {
    for (const key of ["cod", "warehousing", "webhooks"]) {
      const answer = await other.institution.post(own, valid({ module_id: await moduleId(key) }));
      expect(answer).toFailWith(400, "invalid_reference");
      expect(answer.body.field).toBe("module_id");
    }
  });

  test("has one: the second is refused, beside the company's and those of others", async () => {
    expect(await tenant.institution.post(own, valid())).toFailWith(
      409,
      "webhook_subscription_exists",
    );
    expect(await tenant.admin.post(companysPath, valid())).toFailWith(
      409,
      "webhook_subscription_exists",
    );
  });

  test("twice at once has one, and the other call is refused", async () => {
    const by = await newPerson(tenant.id, "institution", "institution");
    const answers = await Promise.all([by.post(own, valid()), by.post(own, valid())]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
    expect(await sql`select from integration.webhook_subscriptions where owner_user_id = ${by.id}`)
      .toHaveLength(1);
  });

  test("again with the same key hears the same secret", async () => {
    const by = await newPerson(tenant.id, "institution", "institution");
    const headers = { "idempotency-key": randomUUID() };
    const first = await by.post(own, valid(), { headers });
    const second = await by.post(own, valid(), { headers });
    expect(first).toSucceed(201);
    expect(second.body).toEqual(first.body);
  });

  test("at an address inside is refused as the company is", async () => {
    expect(await other.institution.post(own, valid({ url: "https://10.0.0.1/" }))).toFailWith(
      400,
      "webhook_url_refused",
    );
  });

  test("gets the names of types that merchants do not hear of, and which nobody knows", async () => {
    const event_types = ["delivery.*", "driver_pay.*", "delivery.refund_due", "own.type"];
    const answer = await tenant.institution.put(`${own}/${mine.id}`, { event_types });
    expect(answer.body).toMatchObject({
      company_event_types: ["delivery.refund_due", "driver_pay.*"],
      unknown_event_types: ["own.type"],
    });
    expect(answer.body).not.toHaveProperty("other_module_event_types");
    const all = await tenant.institution.put(`${own}/${mine.id}`, { event_types: ["*"] });
    expect(Object.keys(all.body).filter((name) => name.endsWith("event_types"))).toEqual([]);
  });
});

test("the types are listed for a merchant with the fields that they get, in any module they ask for", async () => {
  const { body } = await tenant.institution.get("/webhooks/own/event-types");
  const rows =
    await sql`select event_type from integration.event_types where merchant_fields is not null`;
  expect(body.data.map((one: Body) => one.event_type).sort()).toEqual(
    rows.map(({ event_type }) => event_type).sort(),
  );
  expect(body.data.find((one: Body) => one.event_type === "merchant_statement.paid").event_data)
    .toEqual({
      statement_id: "uuid",
      number: "string",
      net: "number",
      currency: "string",
      count: "integer",
      payout_id: "uuid",
      method: "string",
      reference: "string?",
    });
  const cod = await tenant.institution.get("/webhooks/own/event-types", {
    query: { module: "cod" },
  });
  expect(cod.body.data.map((one: Body) => one.event_type)).toEqual(["webhook.test"]);
  const staffs = await tenant.staff.get("/webhooks/event-types");
  expect(staffs.body.data.find((one: Body) => one.event_type === "delivery.created").event_data)
    .toHaveProperty("actor_id");
});
