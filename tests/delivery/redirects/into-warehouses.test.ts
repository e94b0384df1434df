/** Redirects of deliveries into a warehouse: they end there still where they go to the same place, and returns do that come back to it. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { newReturning, returning } from "../../support/customer-returns.ts";
import { sql } from "../../support/db.ts";
import { assign, checkAll, move, moves, newDelivery } from "../../support/deliveries.ts";
import { newAddress } from "../../support/make.ts";
import { onItsWay } from "../../support/outcomes.ts";
import { whereIs, type Yard } from "../../support/packages.ts";
import { saveSettings, type Tenant } from "../../support/people.ts";
import { redirect } from "../../support/redirects.ts";
import { newWarehouse } from "../../support/warehouses.ts";

let yard: Yard;
let tenant: Tenant;
beforeAll(async () => {
  yard = await newReturning();
  tenant = yard.tenant;
});
afterAll(() => checkAll(tenant));

const goesTo = async (id: string): Promise<string> =>
  (await sql`select dropoff_address_id as to from delivery.deliveries where id = ${id}`)[0].to;
const receiptsIn = async (id: string) =>
  (await sql`select warehouse_id from warehousing.receiving_orders where delivery_id = ${id}`)
    .map(({ warehouse_id }) => warehouse_id);

test("a delivery into a warehouse ends there for another recipient, and at a door elsewhere", async () => {
  const into = { dropoff_address_id: undefined, dropoff_warehouse_id: yard.there };
  const { id } = await newDelivery(yard, into);
  const recipient = { name: "The night shift" };
  expect(await redirect(tenant.ops, id, await goesTo(id), { recipient })).toSucceed(200);
  await assign(tenant, id);
  await moves(tenant.driver, id, "pickup", "depart", "complete");
  expect(await receiptsIn(id)).toEqual([yard.there]);
  const other = await newDelivery(yard, into);
  expect(await redirect(tenant.ops, other.id, yard.to)).toSucceed(200);
  expect((await whereIs(other.id)).to).toBeNull();
});

test("a return ends in the warehouse that stands where it goes, however that is said", async () => {
  const stands = await newAddress(tenant);
  const warehouse = await newWarehouse(tenant, { address_id: stands });
  const by = async (place: object) => (await returning(yard, place)).id;
  const exchanged = { result: "exchanged", taken_back: [{ name: "Old phone", quantity: 1 }] };
  const answer = await move(tenant.driver, await onItsWay(yard), "outcome", exchanged);
  const ids = [
    await by({ dropoff_warehouse_id: warehouse }),
    await by({ dropoff_address_id: stands }),
    answer.body.data.returns[0].id as string,
  ];
  for (const id of ids) {
    expect(await redirect(tenant.ops, id, await newAddress(tenant))).toSucceed(200);
    expect((await whereIs(id)).to).toBeNull();
    expect(await redirect(tenant.ops, id, stands)).toSucceed(200);
    expect((await whereIs(id)).to).toBe(warehouse);
  }
  await moves(tenant.driver, ids[0]!, "complete");
  expect(await receiptsIn(ids[0]!)).toEqual([warehouse]);
});

test("of warehouses at one address it is that of the parcel, the default one, or the oldest", async () => {
  const stands = await newAddress(tenant);
  const [first, second, third] = [
    await newWarehouse(tenant, { address_id: stands }),
    await newWarehouse(tenant, { address_id: stands }),
    await newWarehouse(tenant, { address_id: stands }),
  ];
  const endsIn = async (parcel: object = {}) => {
    const { id } = await returning(yard, { dropoff_address_id: stands }, parcel);
    return (await whereIs(id)).to;
  };
  expect(await endsIn()).toBe(first);
  await saveSettings(tenant.id, "general.warehouse", { default_warehouse_id: second });
  expect(await endsIn()).toBe(second);
  expect(await endsIn({ pickup_address_id: undefined, pickup_warehouse_id: third })).toBe(third);
});
