/** Deliveries that are drafts. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import {
  checkAll,
  type Ground,
  move,
  moves,
  newDelivery,
  newGround,
  path,
} from "../../support/deliveries.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let ground: Ground;

beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});
afterAll(() => checkAll(tenant));

describe("drafts", () => {
  test("change whatever is sent, are priced anew, and stay what they were otherwise", async () => {
    const draft = await newDelivery(ground, {
      status: "draft",
      package: { items: [{ name: "Hat" }] },
    });
    const changed = await tenant.ops.patch(`${path}/${draft.id}`, {
      unit_size: 5,
      notes: "Ring twice",
      package: { items: [{ name: "Coat" }, { name: "Scarf", quantity: 3 }] },
      delivery_location: { latitude: 33.3, longitude: 44.4, full_address: "Karrada 52" },
    });
    expect(changed).toSucceed(200);
    expect(changed.body.delivery).toMatchObject({ price: 5000, unit_size: 5, status: "draft" });
    const { delivery } = (await tenant.ops.get(`${path}/${draft.id}`)).body;
    expect(delivery).toMatchObject({
      notes: "Ring twice",
      recipient: { name: "Recipient" },
      dropoff_address: { full_address: "Karrada 52" },
      pickup_address_id: ground.from,
      items: [{ name: "Coat", quantity: 1 }, { name: "Scarf", quantity: 3 }],
    });
    const [{ owner_user_id }] = await sql`select owner_user_id from delivery.addresses
      where id = ${delivery.dropoff_address_id}`;
    expect(owner_user_id).toBe(tenant.customer.id);
    await moves(tenant.ops, draft.id, "submit");
    expect(await tenant.ops.put(`${path}/${draft.id}`, { unit_size: 9 }))
      .toFailWith(409, "delivery_already_ordered");
  });

  test("of staged deliveries get their legs when they are submitted", async () => {
    const draft = await newDelivery(ground, {
      staged: true,
      warehouse_id: ground.warehouse,
      status: "draft",
    });
    expect(draft.legs).toEqual([]);
    const { delivery } = (await move(tenant.ops, draft.id, "submit")).body;
    expect(delivery.legs).toMatchObject([
      { leg: "A", sequence_plan: 1, status: "pending" },
      { leg: "B", sequence_plan: 2, status: "draft" },
    ]);
    expect(await move(tenant.ops, delivery.legs[1].id, "submit"))
      .toFailWith(409, "invalid_status_transition");
  });

  test("of staged deliveries are given to no other company, nor ordered with one", async () => {
    const draft = await newDelivery(ground, {
      staged: true,
      warehouse_id: ground.warehouse,
      status: "draft",
    });
    const one = `${path}/${draft.id}`;
    const outside = { carrier_type: "external", carrier_code: "easypost" };
    expect(await tenant.ops.patch(one, outside)).toFailWith(409, "delivery_goes_in_legs");
    // One that was written while this was possible.
    await sql`update delivery.deliveries set carrier_type = 'external', carrier_code = 'easypost'
      where id = ${draft.id}`;
    expect(await move(tenant.ops, draft.id, "submit")).toFailWith(409, "delivery_goes_in_legs");
    expect(await tenant.ops.patch(one, { notes: "Ring" })).toFailWith(409, "delivery_goes_in_legs");
    expect(await tenant.ops.patch(`${one}/carrier`, { carrier_type: "internal" })).toSucceed(200);
    expect(await move(tenant.ops, draft.id, "submit")).toSucceed(200);
  });
});
