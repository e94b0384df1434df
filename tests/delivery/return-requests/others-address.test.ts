/** The return of an order that the company took for a customer between addresses of somebody else's address book. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { newReturning, returnOf } from "../../support/customer-returns.ts";
import { sql } from "../../support/db.ts";
import {
  assign,
  checkAll,
  deliveryIn,
  moves,
  order,
  path,
  statusOf,
} from "../../support/deliveries.ts";
import { newAddress } from "../../support/make.ts";
import type { Yard } from "../../support/packages.ts";
import { newPerson, type Tenant } from "../../support/people.ts";

let yard: Yard;
let tenant: Tenant;
let ends: [string, string];
beforeAll(async () => {
  yard = await newReturning();
  tenant = yard.tenant;
  const { id: somebody } = await newPerson(tenant.id, "customer", "customer");
  ends = [await newAddress(tenant), await newAddress(tenant, { city: "Erbil" })];
  await sql`update delivery.addresses set owner_user_id = ${somebody} where id = any (${ends})`;
});
afterAll(() => checkAll(tenant));

const delivered = () =>
  deliveryIn(yard, "delivered", { pickup_address_id: ends[0], dropoff_address_id: ends[1] });
const placesOf = async (id: string) =>
  (await sql`select pickup_address_id as "from", pickup_snapshot as fetched,
    dropoff_address_id as "to", dropoff_snapshot as brought from delivery.deliveries where id = ${id}`)[
    0
  ]!;

test("is ordered by the customer, begins where it ended, and is carried to its end", async () => {
  const { id: parcel } = await delivered();
  const made = await returnOf(yard, parcel, {}, tenant.customer);
  expect(made).toSucceed(201);
  const original = await placesOf(parcel);
  expect(await placesOf(made.body.id)).toEqual({
    from: original.to,
    fetched: original.brought,
    to: original.from,
    brought: original.fetched,
  });
  await assign(tenant, made.body.id);
  await moves(tenant.driver, made.body.id, "pickup", "depart", "complete");
  expect(await statusOf(made.body.id)).toBe("delivered");
});

test("as a draft is changed and ordered by the customer", async () => {
  const { id: parcel } = await delivered();
  const draft = await returnOf(yard, parcel, { status: "draft" }, tenant.customer);
  expect(draft).toSucceed(201);
  const change = await tenant.customer.patch(`${path}/${draft.body.id}`, { notes: "Ring twice" });
  expect(change).toSucceed(200);
  await moves(tenant.customer, draft.body.id, "submit");
  expect((await placesOf(draft.body.id)).fetched).toEqual((await placesOf(parcel)).brought);
});

test("lends the addresses to no other order", async () => {
  const { id: parcel } = await delivered();
  for (const field of ["pickup_address_id", "dropoff_address_id"]) {
    const own = { customer_id: undefined, [field]: ends[0] };
    const answer = await tenant.customer.post(path, order(yard, own));
    expect(answer).toFailWith(404, "address_not_found");
    expect(answer.body.field).toBe(field);
  }
  const elsewhere = await newAddress(tenant);
  await sql`update delivery.addresses set owner_user_id = ${tenant.driver.id} where id = ${elsewhere}`;
  const stranger = { dropoff_address_id: elsewhere };
  expect(await returnOf(yard, parcel, stranger, tenant.customer)).toFailWith(
    404,
    "address_not_found",
  );
});
