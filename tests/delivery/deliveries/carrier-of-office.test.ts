/** The office chooses the carrier of a delivery; customers and institutions order, and change, what it has chosen. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Answer, Body, Person } from "../../support/api.ts";
import { external } from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import { checkAll, type Ground, newDelivery, newGround, path } from "../../support/deliveries.ts";
import { sendFile } from "../../support/files.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let ground: Ground;
let tenant: Tenant;
let customer: Person;
let order: Body;
beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
  customer = tenant.customer;
  order = {
    delivery_service_id: ground.service,
    pickup_address_id: ground.from,
    dropoff_address_id: ground.to,
    payer_type: "receiver",
    payment_method: "cash",
    unit_size: 2,
  };
});
afterAll(() => checkAll(tenant));

function refused(answer: Answer): void {
  expect(answer).toFailWith(403, "forbidden");
  expect(answer.body.field).toBe("carrier_type");
}
const carrierOf = async (id: string) =>
  (await sql`select carrier_type, carrier_code from delivery.deliveries where id = ${id}`)[0];

test("a customer orders nothing for an outside carrier, and no draft either", async () => {
  refused(await customer.post(path, { ...order, ...external }));
  refused(await customer.post(path, { ...order, ...external, status: "draft" }));
  expect(await customer.post(path, { ...order, carrier_type: "internal" })).toSucceed(201);
});

test("an institution orders nothing for an outside carrier", async () => {
  const { institution } = tenant;
  refused(await institution.post(path, { ...order, ...external }));
  expect(await institution.post(path, order)).toSucceed(201);
});

test("a customer gives no draft to an outside carrier", async () => {
  const draft = (await customer.post(path, { ...order, status: "draft" })).body;
  refused(await customer.patch(`${path}/${draft.id}`, external));
  expect(await carrierOf(draft.id)).toEqual({ carrier_type: "internal", carrier_code: null });
  expect(await tenant.ops.patch(`${path}/${draft.id}`, external)).toSucceed(200);
});

test("a customer changes a draft that the office gave to an outside carrier, but not its carrier", async () => {
  const people = { customer_id: customer.id, status: "draft" };
  const draft = await newDelivery(ground, { ...order, ...people, ...external });
  expect(await customer.patch(`${path}/${draft.id}`, { notes: "Ring twice" })).toSucceed(200);
  expect(await customer.patch(`${path}/${draft.id}`, external)).toSucceed(200);
  refused(await customer.patch(`${path}/${draft.id}`, { carrier_type: "internal" }));
  refused(await customer.patch(`${path}/${draft.id}`, { carrier_code: "easypost" }));
  expect(await carrierOf(draft.id)).toEqual(external);
});

test("a line of a customer's file that names an outside carrier is a fault of the line", async () => {
  const answer = await sendFile(customer, `${path}/import`, [{ ...order, ...external }]);
  expect(answer).toFailWith(400, "import_has_errors");
  expect(answer.body.errors).toMatchObject([{ line: 2, code: "forbidden", field: "carrier_type" }]);
});
