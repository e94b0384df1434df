/** Redirects that are refused, and change nothing. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bookedCash, enable } from "../../support/carriers.ts";
import { returnOf } from "../../support/customer-returns.ts";
import { sql } from "../../support/db.ts";
import {
  deliveryIn,
  move,
  newDelivery,
  path,
  stagedInWarehouse,
} from "../../support/deliveries.ts";
import { checkDeliveries } from "../../support/delivery-invariants.ts";
import { newAddress } from "../../support/make.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectNoSuch, expectRefused } from "../../support/promises.ts";
import { newRoads, redirect, type Roads } from "../../support/redirects.ts";

let roads: Roads;
let tenant: Tenant;
let other: Tenant;

beforeAll(async () => {
  roads = await newRoads();
  tenant = roads.tenant;
  other = await newTenant();
});
afterAll(() => checkDeliveries(tenant));

const place = (id: string) => `${path}/${id}/redirect`;

describe("a redirect is refused", () => {
  test("of what is no order, has ended, comes back, or is with a carrier", async () => {
    for (
      const [status, code] of [
        ["draft", "delivery_is_draft"],
        ["delivered", "delivery_ended"],
        ["cancelled", "delivery_ended"],
        ["returned", "delivery_ended"],
      ]
    ) {
      const { id } = await deliveryIn(roads, status);
      expect(await redirect(tenant.ops, id, roads.far)).toFailWith(409, code);
    }
    const { b } = await stagedInWarehouse(roads);
    const back = await move(tenant.ops, b, "operational-return");
    expect(await redirect(tenant.ops, back.body.id, roads.far))
      .toFailWith(409, "operational_return_fixed");
    expect(await redirect(tenant.ops, b, roads.far)).toFailWith(409, "return_under_way");
    await enable(tenant);
    const booked = await bookedCash(roads);
    expect(await redirect(tenant.customer, booked.id, roads.far)).toFailWith(
      409,
      "shipment_booked",
    );
  });

  test("to an owner once it was picked up, also while it waits in a warehouse", async () => {
    const { id } = await deliveryIn(roads, "picked_up");
    expect(await redirect(tenant.customer, id, roads.far))
      .toFailWith(409, "delivery_already_picked_up");
    const { parent } = await stagedInWarehouse(roads);
    expect(await redirect(tenant.customer, parent.id, roads.far))
      .toFailWith(409, "delivery_already_picked_up");
    expect(await redirect(tenant.ops, parent.id, roads.far)).toSucceed(200);
  });

  test("where its service does not go, or costs by a distance that nobody knows", async () => {
    const { id } = await newDelivery(roads);
    await sql`update delivery.delivery_services set zone_access_mode = 'select_zones', zone_selector_type = 'zone'
      where id = ${roads.service}`;
    const refused = await redirect(tenant.ops, id, roads.far);
    expect(refused).toFailWith(400, "delivery_service_not_available");
    expect(refused.body.field).toBe("dropoff_address_id");
    await sql`update delivery.delivery_services set zone_access_mode = 'all_zones' where id = ${roads.service}`;
    const unknown = await newAddress(tenant, { latitude: null, longitude: null });
    const nowhere = await redirect(tenant.ops, id, unknown);
    expect(nowhere).toFailWith(400, "invalid_coordinates");
    expect(nowhere.body.field).toBe("dropoff_address");
  });

  test("of a return to the customer it comes from, and of nothing else", async () => {
    await sql`update delivery.delivery_services set allow_returns = true where id = ${roads.service}`;
    const { id: parcel } = await deliveryIn(roads, "delivered");
    const { id } = (await returnOf(roads, parcel)).body;
    for (const more of [{ dry_run: true }, {}]) {
      const refused = await redirect(tenant.ops, id, roads.to, more);
      expect(refused).toFailWith(409, "redirect_to_customer");
      expect(refused.body.field).toBe("dropoff_address_id");
    }
    expect(await redirect(tenant.ops, id, roads.far)).toSucceed(200);
    const { id: other } = await newDelivery(roads);
    expect(await redirect(tenant.ops, other, roads.from)).toSucceed(200);
  });

  test("without one place, with another company's, and to everybody else", async () => {
    const { id } = await newDelivery(roads);
    await expectRefused(tenant.ops, { method: "POST", path: place(id) }, [
      [{}, "dropoff_address_id"],
      [{ dropoff_address_id: "x" }, "dropoff_address_id", "invalid_uuid"],
      [
        { dropoff_address_id: roads.far, dropoff_address: { latitude: 1, longitude: 1 } },
        "dropoff_address",
      ],
      [{ dropoff_address_id: roads.far, charge: "cash" }, "charge"],
      [{ dropoff_address_id: roads.far, dry_run: "yes" }, "dry_run"],
      [{ dropoff_address_id: roads.far, recipient: { phone: 7 } }, "recipient.phone"],
    ]);
    const foreign = await redirect(tenant.ops, id, await newAddress(other));
    expect(foreign).toFailWith(404, "address_not_found");
    expect(foreign.body.field).toBe("dropoff_address_id");
    const body = { dropoff_address_id: roads.far };
    const { warehouse, staff, driver } = tenant;
    const call = { method: "POST", path: place(id), body } as const;
    await expectGuarded(call, { denied: [warehouse, staff, driver] });
    expect(await redirect(tenant.institution, id, roads.far)).toFailWith(404, "delivery_not_found");
    const anywhere = { ...call, path: `${path}/{id}/redirect` };
    await expectNoSuch(other.admin, anywhere, "delivery_id", "delivery_not_found", id);
  });
});
