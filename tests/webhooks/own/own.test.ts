/** A merchant's own subscription: what they hear of, and what nobody else of them. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Body, nobody, type Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { assign, type Ground, moves, newDelivery, newGround } from "../../support/deliveries.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { type Receiver, startReceiver, until, verified } from "../../support/receiver.ts";
import {
  deliveriesOf,
  publish,
  statusesOf,
  subscribe,
  subscribeMerchant,
  wake,
} from "../../support/webhooks.ts";

const path = "/webhooks/own/subscriptions";
let tenant: Tenant;
let ground: Ground;
let receiver: Receiver;
beforeEach(async () => {
  [tenant, receiver] = await Promise.all([newTenant(), startReceiver()]);
  ground = await newGround(tenant);
});
afterEach(() => receiver.close());

const parcelOf = (merchant: Person, more: Record<string, unknown> = {}) =>
  newDelivery(ground, { customer_id: undefined, institution_user_id: merchant.id, ...more });
const typesOf = async ({ id }: { id: string }) =>
  (await deliveriesOf(id)).map(({ event_type }) => event_type);
const parcel = ["barcode", "delivery_code", "delivery_id", "external_reference_id"];
const keysOf = (body: Body) => Object.keys(body.data).sort();

test("lives from the first call to the last: made, tried, sent to, changed, rotated, removed", async () => {
  const by = tenant.institution;
  const [none] = (await by.get(path)).body.subscriptions;
  expect(none).toMatchObject({ id: null, module: { key: "delivery" } });
  const made = await by.post(path, {
    module_id: none.module.id,
    url: receiver.url,
    event_types: ["delivery.*", "merchant_statement.*"],
  });
  expect(made).toSucceed(201);
  const { subscription: { id }, secret } = made.body;
  expect((await by.get(path)).body.subscriptions).toEqual([made.body.subscription]);

  expect(await by.post(`${path}/${id}/test`, {})).toSucceed(200);
  expect(verified(secret, receiver.received[0])).toMatchObject({
    type: "webhook.test",
    tenant_id: tenant.id,
    data: { test: true },
  });

  const { id: mine } = await parcelOf(by, { external_reference_id: "SHOP-7" });
  await until(() => receiver.received.length === 2);
  expect(verified(secret, receiver.received[1])).toMatchObject({
    type: "delivery.created",
    data: { delivery_id: mine, external_reference_id: "SHOP-7" },
  });

  const changed = await by.put(`${path}/${id}`, { event_types: ["delivery.delivered"] });
  expect(changed.body.subscription.event_types).toEqual(["delivery.delivered"]);
  const rotated = await by.post(`${path}/${id}/rotate-secret`, {});
  await assign(tenant, mine);
  await moves(tenant.driver, mine, "pickup", "depart", "complete");
  await until(() => receiver.received.length === 3);
  expect(verified(rotated.body.secret, receiver.received[2])).toMatchObject({
    type: "delivery.delivered",
    data: { delivery_id: mine, status: "delivered" },
  });
  verified(secret, receiver.received[2]);

  expect(await by.delete(`${path}/${id}`)).toSucceed(200);
  expect((await by.get(path)).body.subscriptions).toEqual([none]);
});

test("hears every step of an own parcel in its order, with these fields and no other", async () => {
  const { id, secret } = await subscribeMerchant(tenant.institution, receiver.url);
  const { id: mine } = await parcelOf(tenant.institution);
  await assign(tenant, mine);
  await moves(tenant.driver, mine, "pickup", "depart", "complete");
  await until(async () => (await typesOf({ id })).includes("delivery.delivered"));
  await until(async () => (await statusesOf(id)).every((status) => status === "success"));
  const bodies = receiver.received.map((one) => verified(secret, one) as Body);
  const types = bodies.map(({ type }) => type);
  expect(types[0]).toBe("delivery.created");
  expect(types.slice(-3)).toEqual([
    "delivery.picked_up",
    "delivery.in_transit",
    "delivery.delivered",
  ]);
  for (const body of bodies) {
    expect(keysOf(body), body.type).toEqual([
      ...parcel,
      "delivery_flow",
      "reason",
      "status",
      ...(body.type === "delivery.created" ? [] : ["from_status"]),
    ].sort());
    expect(body.data.delivery_id).toBe(mine);
  }
  const raw = receiver.received.map((one) => one.raw).join();
  for (const person of [tenant.driver, tenant.ops, tenant.institution]) {
    expect(raw).not.toContain(person.id);
  }
});

describe("of what is sent", () => {
  test("each field stands in the catalogue, and those of the parcel's own row", async () => {
    const types =
      await sql`select event_type, event_data, merchant_fields from integration.event_types
      where merchant_fields is not null order by event_type`;
    expect(types.length).toBeGreaterThan(15);
    for (const { event_type, event_data, merchant_fields } of types) {
      const own = event_type.startsWith("delivery.") ? parcel : [];
      for (const [name, type] of Object.entries(merchant_fields)) {
        expect(event_data[name] ?? (own.includes(name) && type), `${event_type} ${name}`).toBe(
          type,
        );
      }
      expect(own.filter((name) => !(name in merchant_fields)), event_type).toEqual([]);
    }
  });

  test("nothing names staff, drivers, customers or prices of drivers", async () => {
    const rows = await sql`select distinct f.name from integration.event_types t
      cross join lateral jsonb_object_keys(t.merchant_fields) f (name) order by 1`;
    expect(rows.map(({ name }) => name)).toEqual([
      "amount_change_id",
      "barcode",
      "count",
      "currency",
      "delivery_code",
      "delivery_fee",
      "delivery_flow",
      "delivery_id",
      "dropoff_address_id",
      "external_reference_id",
      "from_status",
      "location_given",
      "method",
      "net",
      "new_cod_amount",
      "note_given",
      "number",
      "old_cod_amount",
      "payout_id",
      "postponed_to",
      "previous_address_id",
      "price_difference",
      "reason",
      "reason_code",
      "reference",
      "result",
      "statement_id",
      "status",
      "test",
      "wanted_day",
    ]);
  });

  test.each([
    ["delivery.outcome", ["reason_code", "result"]],
    ["delivery.postponed", ["postponed_to", "reason_code"]],
    ["delivery.outcome_undone", ["result"]],
    ["delivery.pickup_undone", []],
    [
      "delivery.amount_changed",
      ["amount_change_id", "currency", "new_cod_amount", "old_cod_amount", "reason"],
    ],
    [
      "delivery.redirected",
      [
        "currency",
        "delivery_fee",
        "dropoff_address_id",
        "previous_address_id",
        "price_difference",
      ],
    ],
    ["delivery.recipient_answered", ["location_given", "note_given", "wanted_day"]],
  ])("%s has the parcel and %j, whatever else the event says", async (event_type, fields) => {
    const { secret } = await subscribeMerchant(tenant.institution, receiver.url, [event_type]);
    const mine = await parcelOf(tenant.institution);
    const [{ event_data }] =
      await sql`select event_data from integration.event_types where event_type = ${event_type}`;
    const whole = Object.fromEntries(Object.keys(event_data).map((name) => [name, `of ${name}`]));
    await publish(nobody, tenant, {
      event_type,
      entity_id: mine.id,
      event_data: { ...whole, delivery_id: mine.id, passed_over: ["a driver"] },
    });
    await until(() => receiver.received.length === 1);
    const body = verified(secret, receiver.received[0]) as Body;
    expect(keysOf(body)).toEqual([...parcel, ...fields].sort());
    expect(body.data).toMatchObject({ delivery_id: mine.id, barcode: mine.barcode });
    for (const name of fields) expect(body.data[name]).toBe(`of ${name}`);
  });
});

describe("who is sent an event", () => {
  test("each merchant of their own parcels alone, and the company of all with all of it", async () => {
    const other = await startReceiver();
    const [a, b, all] = await Promise.all([
      subscribeMerchant(tenant.institution, receiver.url),
      subscribeMerchant(tenant.institution2, other.url),
      subscribe(tenant, receiver.url),
    ]);
    const [mine, theirs] = [
      await parcelOf(tenant.institution),
      await parcelOf(tenant.institution2),
    ];
    const companys = await newDelivery(ground);
    await until(async () =>
      (await typesOf(all)).filter((t) => t === "delivery.created").length === 3
    );
    const about = async (
      { id }: { id: string },
    ) => [
      ...new Set((await deliveriesOf(id)).map(({ body }) => JSON.parse(body).data.delivery_id)),
    ];
    expect(await about(a)).toEqual([mine.id]);
    expect(await about(b)).toEqual([theirs.id]);
    expect(await about(all)).toEqual([mine.id, theirs.id, companys.id]);
    const [first] = await deliveriesOf(all.id);
    expect(JSON.parse(first.body).data).toMatchObject({
      institution_user_id: tenant.institution.id,
      actor_id: tenant.ops.id,
    });
    await other.close();
  });

  test("by the parcel's row: an event that says it is about another's parcel reaches nobody else", async () => {
    const a = await subscribeMerchant(tenant.institution, receiver.url);
    const theirs = await parcelOf(tenant.institution2);
    await publish(nobody, tenant, {
      entity_id: theirs.id,
      event_data: { institution_user_id: tenant.institution.id, delivery_id: theirs.id },
    });
    await publish(nobody, tenant, {
      entity_id: theirs.id,
      event_type: "delivery.created",
      source_module: "warehousing",
    });
    const mine = await parcelOf(tenant.institution);
    await until(async () => (await typesOf(a)).length > 0);
    expect((await deliveriesOf(a.id)).map(({ body }) => JSON.parse(body).data.delivery_id)).toEqual(
      [mine.id],
    );
  });

  test("a parcel that goes to another merchant is theirs from then on", async () => {
    const [a, b] = await Promise.all([
      subscribeMerchant(tenant.institution, receiver.url),
      subscribeMerchant(tenant.institution2, receiver.url),
    ]);
    const { id } = await parcelOf(tenant.institution);
    await until(async () => (await typesOf(a)).length === 1);
    await sql`update delivery.deliveries set institution_user_id = ${tenant.institution2.id} where id = ${id}`;
    await publish(nobody, tenant, { entity_id: id, event_type: "delivery.cancelled" });
    await until(async () => (await typesOf(b)).length === 1);
    expect(await typesOf(a)).toEqual(["delivery.created"]);
    expect(await typesOf(b)).toEqual(["delivery.cancelled"]);
  });

  test("nobody of what merchants do not hear of, also by *", async () => {
    const a = await subscribeMerchant(tenant.institution, receiver.url, ["*"]);
    const { id } = await parcelOf(tenant.institution);
    for (
      const event_type of ["delivery.auto_assignment_failed", "delivery.refund_due", "own.type"]
    ) {
      await publish(nobody, tenant, { entity_id: id, event_type });
    }
    await publish(nobody, tenant, { entity_id: id, event_type: "delivery.failed" });
    await until(async () => (await typesOf(a)).length === 2);
    expect(await typesOf(a)).toEqual(["delivery.created", "delivery.failed"]);
  });

  test("of a replay the same merchant again, under the same id", async () => {
    const a = await subscribeMerchant(tenant.institution, receiver.url);
    await parcelOf(tenant.institution);
    await until(async () => (await statusesOf(a.id))[0] === "success");
    const [{ system_event_id }] = await deliveriesOf(a.id);
    await sql`delete from integration.webhook_events where subscription_id = ${a.id}`;
    const [answer] = await sql.begin(async (tx) => {
      await tx`select set_config('app.grants', '{permission:manage:system}', true)`;
      return await tx`select integration.events_requeue(${[system_event_id]}::uuid[], true) as dry,
        integration.events_requeue(${[system_event_id]}::uuid[], false) as done`;
    });
    expect(answer).toEqual({
      dry: { created: 1, requeued: 0 },
      done: { created: 1, requeued: 0 },
    });
    await wake(nobody);
    await until(() => receiver.received.length === 2);
    expect(receiver.received[1].headers["webhook-id"]).toBe(
      receiver.received[0].headers["webhook-id"],
    );
  });
});
