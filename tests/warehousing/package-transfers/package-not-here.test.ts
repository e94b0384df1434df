/** Parcels that no warehouse holds: they are with their sender or in a driver's hands. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { assign, moves, newDelivery } from "../../support/deliveries.ts";
import { newAddress } from "../../support/make.ts";
import { approveOrder, newSplitShop, pick, picksOf } from "../../support/order-goods.ts";
import { placeOrder } from "../../support/orders.ts";
import {
  newTransferring,
  packageTransfers,
  type Transferring,
} from "../../support/package-transfers.ts";
import { newPackage, newStaff, whereIs } from "../../support/packages.ts";
import type { Tenant } from "../../support/people.ts";

const sessions = "/warehousing/sorting-sessions";
let { tenant, yard, body, post } = {} as Transferring;

beforeAll(async () => {
  ({ tenant, yard, body, post } = await newTransferring());
});

/** A session of one cage, and what its scans answer. */
async function sorting(owner: Tenant, warehouse: string, city: string) {
  const staff_id = await newStaff(owner, warehouse, owner.staff.id);
  const opened = await owner.staff.post(sessions, {
    warehouse_id: warehouse,
    assignments: [{ staff_id, destination_type: "city", destination_value: city }],
  });
  expect(opened).toSucceed(201);
  const { id } = opened.body.session;
  return {
    scan: (delivery_barcode: string) =>
      owner.staff.post(`${sessions}/${id}/scan`, { delivery_barcode }),
    filled: async () => {
      const [row] = await sql`select sum(b.filled_capacity)::int as n from warehousing.bins b
        join warehousing.sorting_assignments a on a.cage_location_id = b.id where a.session_id = ${id}`;
      return row.n;
    },
  };
}

describe("sorting", () => {
  test("takes them only where they were received", async () => {
    const { scan, filled } = await sorting(tenant, yard.warehouse, "Basra");
    const parcel = await newDelivery(yard, {
      dropoff_address_id: await newAddress(tenant, { city: "Basra" }),
    });
    const withSender = await scan(parcel.barcode);
    expect(withSender).toFailWith(409, "package_not_here");
    expect(withSender.body.field).toBe("delivery_barcode");
    await assign(tenant, parcel.id);
    await moves(tenant.driver, parcel.id, "pickup");
    expect(await scan(parcel.barcode)).toFailWith(409, "package_not_here");
    expect(await filled()).toBe(0);
    const here = await newPackage(yard, {
      dropoff_address_id: await newAddress(tenant, { city: "Basra" }),
    });
    expect(await scan(here.barcode)).toSucceed(200);
    expect(await filled()).toBe(1);
  });

  test("takes what a store sold where it was picked, once it is", async () => {
    const shop = await newSplitShop({ first: 3, second: 0 });
    const { scan } = await sorting(shop.tenant, shop.shelf.warehouse, "Baghdad");
    const { id } = await placeOrder(shop, "cash", 2);
    const { deliveries: [{ delivery_id }] } = await approveOrder(shop, id);
    const [{ barcode }] =
      await sql`select barcode from delivery.deliveries where id = ${delivery_id}`;
    expect(await scan(barcode)).toFailWith(409, "package_not_here");
    const [picking] = await picksOf(id);
    expect(await pick(shop, picking.id)).toSucceed(200);
    expect(await scan(barcode)).toSucceed(200);
  });
});

describe("transfers", () => {
  test("is what no warehouse holds, unless it is ordered from the source, or a staged one on paper", async () => {
    const [withSender, fromHere, staged, draft] = [
      await newDelivery(yard),
      await newDelivery(yard, {
        pickup_address_id: undefined,
        pickup_warehouse_id: yard.warehouse,
      }),
      await newDelivery(yard, { staged: true, warehouse_id: yard.warehouse }),
      await newDelivery(yard, { status: "draft" }),
    ];
    const carried = await newDelivery(yard);
    await assign(tenant, carried.id);
    await moves(tenant.driver, carried.id, "pickup");
    const all = [withSender, fromHere, staged, draft, carried];
    const asked = { source_warehouse_id: yard.warehouse, destination_warehouse_id: yard.there };
    const seen = await tenant.warehouse.post(`${packageTransfers}/validate`, {
      ...asked,
      delivery_ids: all.map(({ id }) => id),
    });
    expect(seen.body.invalid.map(({ barcode, reason }: Body) => [barcode, reason])).toEqual([
      [withSender.barcode, "package_not_here"],
      [staged.barcode, "not_transferable_status"],
      [draft.barcode, "package_not_here"],
      [carried.barcode, "not_transferable_status"],
    ]);
    expect(seen.body.accepted.map(({ id }: Body) => id)).toEqual([fromHere.id]);
    for (const one of [withSender, draft]) {
      const sent = { operation_type: "single_delivery", package_barcodes: [one.barcode] };
      const none = await post(body("delivery_operation", sent));
      expect(none).toFailWith(400, "no_transferable_packages");
      expect(none.body.rejected).toMatchObject([{ reason: "package_not_here" }]);
    }
    const paper = await post(
      body("system_only", { package_barcodes: all.map(({ barcode }) => barcode) }),
      { headers: { "accept-language": "ar" } },
    );
    expect(paper).toSucceed(201);
    expect(paper.body.delivery_ids).toEqual([fromHere.id, staged.id]);
    expect(paper.body.rejected.map((r: Body) => [r.value, r.reason])).toEqual([
      [withSender.barcode, "package_not_here"],
      [draft.barcode, "package_not_here"],
      [carried.barcode, "not_transferable_status"],
    ]);
    expect(paper.body.rejected[0].message).toContain("لا يوجد الطرد في أي مستودع");
    expect(await whereIs(withSender.id)).toMatchObject({ from: null, to: null });
  });
});
