/** Notifications of assignments name their parcels and people: who is told cannot read them any more, or not yet. */
import { beforeAll, expect, test } from "vitest";
import type { Body, Person } from "../../support/api.ts";
import { handOver, newDriver } from "../../support/assignments.ts";
import { sql } from "../../support/db.ts";
import { deliveryIn, type Ground, newDelivery, newGround, path } from "../../support/deliveries.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

const assignments = "/delivery/assignments";
let tenant: Tenant;
let ground: Ground;
beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});

const noticesOf = async (who: Person, type: string, language = "en"): Promise<Body[]> =>
  (await who.get("/tenants/me/notifications", { query: { type, language } })).body.data;
const nameOf = async (who: Person) =>
  (await sql`select full_name from tenancy.profiles where id = ${who.id}`)[0].full_name as string;
const bulk = async (to: Person, count: number) => {
  const made = [];
  for (let at = 0; at < count; at++) made.push(await newDelivery(ground));
  const given = await tenant.dispatcher.post(`${assignments}/bulk`, {
    driver_id: to.id,
    delivery_ids: made.map(({ id }) => id),
  });
  expect(given).toSucceed(201);
  return made;
};

test("a bulk names its first twenty parcels and how many more there are; one is no bulk", async () => {
  const driver = await newDriver(tenant, { capacity: 1_000 });
  const codes = (await bulk(driver, 22)).map((one) => one.delivery_code);
  const [many] = await noticesOf(driver, "bulk_assignment_created");
  expect(many.payload).toMatchObject({ assignment_count: 22, delivery_codes: codes.slice(0, 20) });
  expect(many.message).toBe(
    `You were assigned 22 deliveries. Delivery numbers: ${
      codes.slice(0, 20).join(", ")
    } and 2 more.`,
  );
  const [{ delivery_code }] = await bulk(driver, 1);
  const [one] = await noticesOf(driver, "bulk_assignment_created", "ku");
  expect(one.message).toBe(`گەیاندنێک بە تۆ سپێردرا. ژمارەی گەیاندن: ${delivery_code}.`);
});

test("a withdrawal names the parcel and the office's reason, or that it was redirected", async () => {
  const { id, delivery_code } = await newDelivery(ground);
  const given = { delivery_id: id, driver_id: tenant.driver.id };
  const { body } = await tenant.dispatcher.post(assignments, given);
  const why = { reason: "Wrong van." };
  expect(await tenant.dispatcher.post(`${assignments}/${body.id}/unassign`, why)).toSucceed(200);
  const [returned] = await noticesOf(tenant.driver, "assignment_returned");
  expect(returned).toMatchObject({
    message:
      `A delivery was withdrawn from you. Delivery number: ${delivery_code}. Reason: Wrong van.`,
    payload: { delivery_id: id, delivery_code, reason: "Wrong van." },
  });
  const own = { reason: "redirected", delivery_codes: [1, 2] };
  await sql`update tenancy.notifications set payload = ${sql.json(own)} where id = ${returned.id}`;
  const [redirected] = await noticesOf(tenant.driver, "assignment_returned", "ar");
  expect(redirected.message).toContain("أرقام الشحنات: 1، 2. السبب: غُيّر مسارها.");
});

test("a list that was handed over names its parcels and the other driver", async () => {
  const { id, delivery_code } = await deliveryIn(ground, "in_transit");
  const to = await newDriver(tenant);
  expect(await handOver(tenant.dispatcher, tenant.driver, to, [id])).toSucceed(201);
  const name = await nameOf(to);
  const [notice] = await noticesOf(tenant.driver, "assignments_handed_over");
  expect(notice).toMatchObject({
    message:
      `One of your deliveries was given to another driver. Delivery number: ${delivery_code}. Given to: ${name}.`,
    payload: { to_driver_name: name, delivery_codes: [delivery_code], assignment_count: 1 },
  });
});

test("a change says of what", async () => {
  const { id, delivery_code } = await deliveryIn(ground, "assigned");
  const changed = { notes: "Ring twice", recipient: { name: "Naz" } };
  expect(await tenant.ops.patch(`${path}/${id}`, changed)).toSucceed(200);
  const [notice] = await noticesOf(tenant.driver, "delivery_changed");
  expect(notice.payload.changed).toEqual(["recipient", "notes"]);
  expect(notice.message).toBe(
    `The details of delivery ${delivery_code} have changed. Changed: recipient, notes.`,
  );
});

test("what was kept before says what it said", async () => {
  const before = { assignment_count: 1, driver_name: "Karwan" };
  await sql`insert into tenancy.notifications (tenant_id, user_id, type, payload)
    values (${tenant.id}, ${tenant.admin.id}, 'assignments_rejected', ${sql.json(before)})`;
  const [notice] = await noticesOf(tenant.admin, "assignments_rejected");
  expect(notice.message).toBe(
    "Karwan rejected a delivery that they were given: please assign it to somebody else.",
  );
});
