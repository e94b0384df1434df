import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { jobsDone } from "../../support/jobs.ts";
import { newPackage, newStagedPackage, newYard, whereIs } from "../../support/packages.ts";
import { newTransferring, type Transferring } from "../../support/package-transfers.ts";
import { withKey } from "../../support/waybills.ts";

let { tenant, yard, body, post, countOf } = {} as Transferring;

beforeAll(async () => {
  ({ tenant, yard, body, post, countOf } = await newTransferring());
});

describe("system only", () => {
  test("notes the route on each delivery, by barcode first and then by code, and makes nothing else", async () => {
    const one = await newPackage(yard);
    const two = await newPackage(yard);
    // A barcode that reads like the code of another delivery is a barcode.
    const tricky = await newPackage(yard);
    const taken = String(tricky.delivery_code - 2);
    await sql`update delivery.deliveries set barcode = ${taken} where id = ${tricky.id}`;
    const before = await countOf("warehousing.waybills") + await countOf("delivery.assignments");
    const answer = await post(body("system_only", {
      package_barcodes: [one.barcode, String(two.delivery_code), taken, "nothing"],
      notes: "by hand",
    }));
    expect(answer).toSucceed(201);
    expect(answer.body).toEqual({
      success: true,
      message: expect.any(String),
      transfer_id: expect.any(String),
      transferred_count: 3,
      delivery_ids: [one.id, two.id, tricky.id],
      mode: "system_only",
      rejected: [{
        kind: "package",
        value: "nothing",
        reason: "not_found",
        message: expect.any(String),
      }],
    });
    for (const { id } of [one, two, tricky]) {
      expect(await whereIs(id)).toEqual({
        status: "pending",
        at: yard.warehouse,
        from: yard.warehouse,
        to: yard.there,
      });
    }
    expect(await countOf("warehousing.waybills") + await countOf("delivery.assignments")).toBe(
      before,
    );
  });

  test("takes a staged parcel too", async () => {
    const { parent } = await newStagedPackage(yard);
    const answer = await post(body("system_only", { package_barcodes: [parent.barcode] }));
    expect(answer).toSucceed(201);
    expect(answer.body.delivery_ids).toEqual([parent.id]);
  });
});

describe("a single delivery", () => {
  test("is what one barcode alone is, and can then be given to a driver", async () => {
    for (const operation_type of [undefined, "single_delivery"]) {
      const parcel = await newPackage(yard);
      const answer = await post(body("delivery_operation", {
        operation_type,
        package_barcodes: [parcel.barcode],
      }));
      expect(answer).toSucceed(201);
      expect(answer.body).toEqual({
        success: true,
        message: expect.any(String),
        transfer_id: expect.any(String),
        mode: "delivery_operation",
        operation_type: "single_delivery",
        delivery_ids: [parcel.id],
        rejected: [],
      });
      expect(await whereIs(parcel.id)).toMatchObject({ from: yard.warehouse, to: yard.there });
      const [transfer] = await sql`select waybill_id from warehousing.package_transfers
        where id = ${answer.body.transfer_id}`;
      expect(transfer.waybill_id).toBeNull();
      const given = await tenant.ops.post("/delivery/assignments", {
        delivery_id: parcel.id,
        driver_id: tenant.driver.id,
      });
      expect(given).toSucceed(201);
    }
  });

  test("is fetched in the one warehouse and brought to the other, as its driver is shown", async () => {
    const place = async (warehouse: string) => {
      const [row] = await sql`select a.id, a.latitude, a.longitude from warehousing.warehouses w
        join delivery.addresses a on a.id = w.address_id where w.id = ${warehouse}`;
      return row;
    };
    const [here, there] = await Promise.all([place(yard.warehouse), place(yard.there)]);
    await sql`update delivery.addresses set latitude = 33.3, longitude = 44.3 where id = ${here.id}`;
    await sql`update delivery.addresses set latitude = 36.2, longitude = 44.0 where id = ${there.id}`;
    const parcel = await newPackage(yard);
    const { body: sent } = await post(body("delivery_operation", {
      package_barcodes: [parcel.barcode],
    }));
    expect(sent.operation_type).toBe("single_delivery");
    const assignment = await tenant.ops.post("/delivery/assignments", {
      delivery_id: parcel.id,
      driver_id: tenant.driver.id,
    });
    expect(assignment).toSucceed(201);
    const { body: list } = await tenant.driver.get("/delivery/assignments", {
      query: { delivery_id: parcel.id, include: "delivery_details" },
    });
    expect(list.assignments[0].delivery_details).toMatchObject({
      pickup: { id: here.id, latitude: 33.3 },
      dropoff: { id: there.id, latitude: 36.2 },
    });
    const { body: suggested } = await tenant.driver.post(
      `/delivery/assignments/driver/${tenant.driver.id}/sequence/suggest`,
      {},
    );
    const stops = suggested.stops.filter(({ assignment_id }: { assignment_id: string }) =>
      assignment_id === assignment.body.id
    );
    expect(stops).toMatchObject([
      { type: "pickup", latitude: 33.3, longitude: 44.3 },
      { type: "dropoff", latitude: 36.2, longitude: 44 },
    ]);
    await jobsDone(tenant.id);
    const [{ route_details }] = await sql`select route_details from delivery.assignments
      where id = ${assignment.body.id}`;
    expect(route_details.distance_km).toBeGreaterThan(300);
  });
});

describe("a waybill", () => {
  test("is the canonical one by another path, and its transfer is made once", async () => {
    const parcel = await newPackage(yard);
    const answer = await post(
      body("delivery_operation", { operation_type: "waybill", package_barcodes: [parcel.barcode] }),
      withKey(),
    );
    expect(answer).toSucceed(201);
    expect(answer.body).toMatchObject({
      mode: "delivery_operation",
      operation_type: "waybill",
      delivery_ids: [parcel.id],
      status: "drafted",
      rejected: [],
      waybill: { id: answer.body.waybill_id, waybill_number: answer.body.waybill_number },
      operation_result: {
        accepted: [{ kind: "package", id: parcel.id }],
        reused_delivery_ids: [parcel.id],
        created_delivery_ids: [],
        destination_lock: { warehouse_id: yard.there, source: "request" },
      },
    });
    const transfers = await sql`select id from warehousing.package_transfers
      where waybill_id = ${answer.body.waybill_id}`;
    expect(transfers.map(({ id }) => id)).toEqual([answer.body.transfer_id]);
  });

  test("takes its destination from a delivery that has one, when none is named", async () => {
    const parcel = await newPackage(yard, {
      dropoff_address_id: undefined,
      dropoff_warehouse_id: yard.there,
    });
    const plain = await newPackage(yard);
    const elsewhere = await newPackage(yard);
    await sql`update delivery.deliveries set dropoff_warehouse_id = ${
      (await newYard(tenant)).there
    } where id = ${elsewhere.id}`;
    const sent = {
      ...body("delivery_operation", {
        operation_type: "waybill",
        delivery_ids: [plain.id, parcel.id, elsewhere.id],
      }),
      destination_warehouse_id: undefined,
    };
    const answer = await post(sent, withKey());
    expect(answer).toSucceed(201);
    expect(answer.body.operation_result.destination_lock).toEqual({
      warehouse_id: yard.there,
      source: "inferred",
    });
    expect(answer.body.rejected).toEqual([
      expect.objectContaining({ value: elsewhere.id, reason: "destination_mismatch" }),
    ]);
    const other = await newPackage(yard);
    const without = await post({ ...sent, delivery_ids: [other.id] }, withKey());
    expect(without).toFailWith(400, "destination_warehouse_required");
  });
});
