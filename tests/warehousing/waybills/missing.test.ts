import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { scanned } from "../../support/package-scan.ts";
import { sql } from "../../support/db.ts";
import { newPackage, newStagedPackage, newYard, whereIs } from "../../support/packages.ts";
import { checkStock, inTenant, unitsOf } from "../../support/warehouses.ts";
import {
  type Hauling,
  itemOf,
  newHauling,
  waybills as path,
  withKey,
} from "../../support/waybills.ts";

let { tenant, yard, step, onTheRoad } = {} as Hauling;

beforeAll(async () => {
  ({ tenant, yard, step, onTheRoad } = await newHauling());
});

describe("what is missing", () => {
  test("opens a discrepancy that blocks assignment and closing until it is found", async () => {
    const here = await newPackage(yard);
    const { parent, b } = await newStagedPackage(yard);
    const item = await itemOf(parent.id);
    const id = await onTheRoad(here.id, parent.id);
    const received = await step(id, "receive", {
      received_delivery_ids: [here.id],
      missing_delivery_ids: [parent.id],
    });
    expect(received).toSucceed(200);
    const [discrepancy] = received.body.waybill.discrepancies;
    expect(discrepancy).toMatchObject({
      delivery_id: parent.id,
      type: "missing_on_receive",
      status: "open",
    });
    expect(received.body.waybill.open_discrepancy_count).toBe(1);
    expect(await whereIs(b)).toMatchObject({ status: "in_transit", at: null });
    expect(await unitsOf(item)).toEqual({});
    const early = await step(id, "close");
    expect(early).toFailWith(409, "waybill_has_open_discrepancies");
    expect(early.body.count).toBe(1);
    const assigning = await tenant.ops.post("/delivery/assignments", {
      delivery_id: b,
      driver_id: tenant.driver.id,
    });
    // It is not here; and were its status another one, the discrepancy would still keep it back.
    expect(assigning).toFailWith(409, "delivery_status_changed");
    const [problem] = await inTenant(
      tenant,
      "select code from delivery.preparation_problem(array[$1::uuid])",
      [b],
    );
    expect(problem).toEqual({ code: "parent_exception_open" });

    const at = `discrepancies/${discrepancy.id}/resolve`;
    const found = await step(id, at, { resolution: "found", notes: "under the seat" });
    expect(found).toSucceed(200);
    expect(found.body.waybill.discrepancies[0]).toMatchObject({
      status: "resolved",
      resolution: "found",
      notes: "under the seat",
      resolved_by: tenant.warehouse.id,
    });
    expect(await whereIs(b)).toMatchObject({ status: "pending", at: yard.there });
    expect(await unitsOf(item, yard.thereBin)).toEqual({ available: 1 });
    const again = await step(id, at, { resolution: "found" });
    expect(again).toSucceed(200);
    expect(await unitsOf(item, yard.thereBin)).toEqual({ available: 1 });
    expect(await step(id, at, { resolution: "lost" })).toFailWith(
      409,
      "waybill_action_not_allowed",
    );
    expect(await step(id, "close")).toSucceed(200);
    await checkStock(tenant);
  });

  test("and lost, has failed for good", async () => {
    const gone = await newPackage(yard);
    const id = await onTheRoad(gone.id);
    const received = await step(id, "receive", { missing_delivery_ids: [gone.id] });
    expect(received).toSucceed(200);
    const [{ id: discrepancy }] = received.body.waybill.discrepancies;
    const unassignable = await tenant.ops.post("/delivery/assignments", {
      delivery_id: gone.id,
      driver_id: tenant.driver.id,
    });
    expect(unassignable).toFailWith(409, "delivery_status_changed");
    await sql`update delivery.deliveries set status = 'pending' where id = ${gone.id}`;
    const still = await tenant.ops.post("/delivery/assignments", {
      delivery_id: gone.id,
      driver_id: tenant.driver.id,
    });
    expect(still).toFailWith(409, "delivery_has_open_exception");
    for (
      const [language, says] of [["en", /discrepancy/], ["ar", /الفرق/], [
        "ku",
        /جیاوازییەکە/,
      ]] as const
    ) {
      await sql`update delivery.deliveries set status = 'in_transit' where id = ${gone.id}`;
      const off = await tenant.ops.in(language).post(`/delivery/deliveries/${gone.id}/cancel`, {
        reason: "Gone",
      });
      expect(off).toFailWith(409, "invalid_status_transition");
      expect(off.body.message).toMatch(says);
    }
    await sql`update delivery.deliveries set status = 'in_transit' where id = ${gone.id}`;
    const lost = await step(id, `discrepancies/${discrepancy}/resolve`, { resolution: "lost" });
    expect(lost).toSucceed(200);
    expect(await whereIs(gone.id)).toMatchObject({ status: "failed", at: null });
    const late = await step(id, `discrepancies/${discrepancy}/resolve`, { resolution: "found" });
    expect(late).toFailWith(409, "waybill_action_not_allowed");
    expect(late.body).toMatchObject({
      status: "received",
      message: expect.stringMatching(/as a return/),
    });
    // Nobody carries it, should it turn up in a warehouse.
    expect((await scanned(tenant, gone.barcode)).delivery)
      .toMatchObject({ id: gone.id, status: "failed", next_action: "none" });
    expect(await step(id, "close")).toSucceed(200);
    const unknown = await step(id, `discrepancies/${randomUUID()}/resolve`, {});
    expect(unknown).toFailWith(404, "discrepancy_not_found");
  });

  test("is said of each parcel once, of parcels of this waybill", async () => {
    const [one, two, stranger] = [
      await newPackage(yard),
      await newPackage(yard),
      await newPackage(yard),
    ];
    const id = await onTheRoad(one.id, two.id);
    const incomplete = await step(id, "receive", { received_delivery_ids: [one.id] });
    expect(incomplete).toFailWith(400, "waybill_receipt_incomplete");
    expect(incomplete.body.delivery_ids).toEqual([two.id]);
    const both = await step(id, "receive", {
      received_delivery_ids: [one.id, two.id],
      missing_delivery_ids: [two.id],
    });
    expect(both).toFailWith(400, "waybill_receipt_incomplete");
    for (const wrong of [stranger.id, randomUUID()]) {
      const answer = await step(id, "receive", { missing_delivery_ids: [wrong] });
      expect(answer).toFailWith(400, "delivery_not_in_waybill");
      expect(answer.body.field).toBe("missing_delivery_ids");
    }
    expect(await step(id, "receive", { missing_delivery_ids: [two.id, two.id] })).toSucceed(200);
  });

  test("needs a bin for its stock where none is the default", async () => {
    const own = await newYard(tenant);
    await sql`update warehousing.bins set is_default_receiving = false where id = ${own.thereBin}`;
    const { parent } = await newStagedPackage(own);
    const made = await tenant.warehouse.post(path, {
      source_warehouse_id: own.warehouse,
      destination_warehouse_id: own.there,
      delivery_ids: [parent.id],
    }, withKey());
    const id = made.body.waybill_id;
    expect(await step(id, "seal")).toSucceed(200);
    expect(await step(id, "driver-handover", { driver_id: tenant.driver.id })).toSucceed(200);
    const without = await step(id, "receive");
    expect(without).toFailWith(400, "bin_id_required_for_received_items");
    expect(await step(id, "receive", { bin_id: yard.thereBin })).toFailWith(404, "bin_not_found");
    expect(await step(id, "receive", { bin_id: own.thereBin })).toSucceed(200);
    await checkStock(tenant);
  });
});
