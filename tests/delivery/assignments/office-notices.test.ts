/** The office hears of what a driver reports and it alone can solve: once, and not of what it does itself. */
import { beforeEach, expect, test } from "vitest";
import type { Body, Person } from "../../support/api.ts";
import { handOver, newDriver } from "../../support/assignments.ts";
import { newSearching, onDuty, ordered } from "../../support/auto-assignment.ts";
import { sql } from "../../support/db.ts";
import {
  assign,
  deliveryIn,
  type Ground,
  newDelivery,
  newGround,
  path,
} from "../../support/deliveries.ts";
import { refused, report } from "../../support/outcomes.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";

const assignments = "/delivery/assignments";
let tenant: Tenant;
let ground: Ground;
beforeEach(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});

/** The people of the tenant who were notified so, and of what. */
const toldOf = async (type: string) => {
  const rows = await sql`select user_id, payload from tenancy.notifications
    where tenant_id = ${tenant.id} and type = ${type}`;
  const names = Object.entries(tenant).flatMap(([name, who]) =>
    rows.filter(({ user_id }) => (who as Person)?.id === user_id).map(() => name)
  );
  return { to: names.toSorted(), payload: rows[0]?.payload };
};
const office = ["admin", "dispatcher", "ops"];
const textOf = async (who: Person, type: string) =>
  (await who.get("/tenants/me/notifications", { query: { type } })).body.data
    .map(({ message }: Body) => message);
const nameOf = async (who: Person) =>
  (await sql`select full_name from tenancy.profiles where id = ${who.id}`)[0].full_name as string;
const reject = async (by: Person, ...of: string[]) => {
  for (const one of of) {
    expect(await by.put(`${assignments}/${one}`, { status: "rejected" })).toSucceed(200);
  }
};

test("who gave deliveries to a driver who rejects them, once for a bulk", async () => {
  const made = [await newDelivery(ground), await newDelivery(ground)];
  const ids = made.map(({ id }) => id);
  const delivery_codes = made.map((one) => one.delivery_code);
  const bulk = await tenant.dispatcher.post(`${assignments}/bulk`, {
    driver_id: tenant.driver.id,
    delivery_ids: ids,
  });
  expect(bulk).toSucceed(201);
  await reject(tenant.driver, `bulk/${bulk.body.bulk_assignment_id}`);
  const driver_name = await nameOf(tenant.driver);
  expect(await toldOf("assignments_rejected")).toEqual({
    to: ["dispatcher"],
    payload: { driver_id: tenant.driver.id, driver_name, assignment_count: 2, delivery_codes },
  });
  expect(await textOf(tenant.dispatcher, "assignments_rejected")).toEqual([
    `${driver_name} rejected 2 of the deliveries that they were given: please assign them to somebody else. Delivery numbers: ${
      delivery_codes.join(", ")
    }.`,
  ]);
});

test("everybody of the office, when who assigned is of it no more", async () => {
  const { id } = await newDelivery(ground);
  const given = await tenant.dispatcher.post(assignments, {
    driver_id: tenant.driver.id,
    delivery_id: id,
  });
  const left = await tenant.admin.put(`/tenants/${tenant.id}/users/${tenant.dispatcher.id}`, {
    is_active: false,
  });
  expect(left).toSucceed(200);
  await reject(tenant.driver, given.body.id);
  expect((await toldOf("assignments_rejected")).to).toEqual(["admin", "ops"]);
});

test("nobody, while another driver is searched for", async () => {
  const searching = await newSearching();
  tenant = searching.tenant;
  const [one, two] = [await onDuty(tenant), await onDuty(tenant)];
  const { id } = await ordered(searching);
  const [offer] =
    await sql`select id, driver_id from delivery.assignments where delivery_id = ${id}`;
  await reject(offer.driver_id === one.id ? one : two, offer.id);
  expect((await toldOf("assignments_rejected")).to).toEqual([]);
});

test("who handed a parcel over that the new driver does not take", async () => {
  const to = await newDriver(tenant);
  const { id, delivery_code } = await deliveryIn(ground, "in_transit");
  expect(await handOver(tenant.dispatcher, tenant.driver, to, [id])).toSucceed(201);
  const [{ id: given }] = (await to.get(assignments)).body.assignments;
  const no = { status: "rejected", reason: "No room left." };
  expect(await to.put(`${assignments}/${given}`, no)).toSucceed(200);
  const driver_name = await nameOf(to);
  expect(await toldOf("handover_rejected")).toEqual({
    to: ["dispatcher"],
    payload: {
      driver_id: to.id,
      driver_name,
      assignment_count: 1,
      delivery_id: id,
      delivery_code,
      delivery_codes: [delivery_code],
      reason: "No room left.",
      holders: [{ driver_id: tenant.driver.id, driver_name: await nameOf(tenant.driver) }],
    },
  });
  expect(await textOf(tenant.dispatcher, "handover_rejected")).toEqual([
    `${driver_name} rejected the handover of a parcel: it is with the driver before. Delivery number: ${delivery_code}. ` +
    `Now with: ${await nameOf(tenant.driver)}. Reason: No room left.`,
  ]);
  expect((await toldOf("assignments_rejected")).to).toEqual([]);
});

test("of a parcel that its driver reports as refused, unless it goes back by itself", async () => {
  const { id, delivery_code } = await deliveryIn(ground, "in_transit");
  expect(await report(tenant.driver, id, refused)).toSucceed(200);
  expect(await toldOf("delivery_refused")).toEqual({
    to: office,
    payload: { delivery_id: id, delivery_code },
  });
  expect(await textOf(tenant.ops, "delivery_refused")).toEqual([
    `Delivery ${delivery_code} was refused at the door: please decide on another attempt or on its return.`,
  ]);
  const other = await deliveryIn(ground, "in_transit");
  expect(await report(tenant.ops, other.id, refused)).toSucceed(200);
  await saveSettings(tenant.id, "delivery.attempts", { after_last: "return" });
  const back = await deliveryIn(ground, "in_transit");
  expect(await report(tenant.driver, back.id, refused)).toSucceed(200);
  expect((await toldOf("delivery_refused")).to).toEqual(office);
});

test("of an exception that a driver opens, not of its own or a warehouse's", async () => {
  const { id, delivery_code } = await newDelivery(ground);
  await assign(tenant, id);
  const open = async (by: Person) => {
    const answer = await by.post(`${path}/${id}/exceptions`, { type: "damaged" });
    expect(answer).toSucceed(201);
    return answer.body.data?.exception?.id ?? answer.body.exception.id;
  };
  await open(tenant.ops);
  await open(tenant.dispatcher);
  await open(tenant.warehouse);
  expect((await toldOf("delivery_exception_opened")).to).toEqual([]);
  const exception_id = await open(tenant.driver);
  expect(await toldOf("delivery_exception_opened")).toEqual({
    to: office,
    payload: { exception_id, delivery_id: id, delivery_code, type: "damaged" },
  });
});
