import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { assign } from "../../support/deliveries.ts";
import {
  newPackage,
  newStagedPackage,
  newYard,
  whereIs,
  type Yard,
} from "../../support/packages.ts";
import {
  newTransferring,
  packageTransfers as path,
  type Transferring,
} from "../../support/package-transfers.ts";
import { withKey } from "../../support/waybills.ts";
import { newTenant } from "../../support/people.ts";
import { expectGuarded, expectRefused, expectReplayed } from "../../support/promises.ts";
import { newItem, stockIn } from "../../support/warehouses.ts";

let { tenant, yard, body, post, countOf } = {} as Transferring;
let foreign: Yard;

beforeAll(async () => {
  ({ tenant, yard, body, post, countOf } = await newTransferring());
  foreign = await newYard(await newTenant());
});

describe("what may not move", () => {
  test("is told with its reason, in the caller's language, here and by validate", async () => {
    const fit = await newPackage(yard);
    const elsewhere = await newPackage(yard);
    await sql`update delivery.deliveries set current_warehouse_id = ${yard.there}
      where id = ${elsewhere.id}`;
    const carried = await newPackage(yard);
    await assign(tenant, carried.id);
    const taken = await newPackage(yard);
    expect(
      await post(
        body("delivery_operation", { operation_type: "waybill", delivery_ids: [taken.id] }),
        withKey(),
      ),
    ).toSucceed(201);
    const broken = await newPackage(yard);
    await sql`insert into delivery.delivery_exceptions (tenant_id, delivery_id, type)
      values (${tenant.id}, ${broken.id}, 'damaged')`;
    const bound = await newPackage(yard);
    await sql`update delivery.deliveries set dropoff_warehouse_id = ${
      (await newYard(tenant)).there
    } where id = ${bound.id}`;
    const item = await newItem(tenant);
    const { parent, b } = await newStagedPackage(yard);
    expect(await tenant.ops.post(`/delivery/deliveries/${b}/execute`, {})).toSucceed(200);
    const foreignParcel = await newPackage(foreign);
    const selection = {
      package_barcodes: ["nothing", fit.barcode, fit.barcode, elsewhere.barcode, carried.barcode],
      delivery_ids: [taken.id, broken.id, bound.id, parent.id, foreignParcel.id],
      inventory_item_ids: [item, randomUUID()],
    };
    const reasons = [
      "not_found",
      null,
      "duplicate",
      "wrong_source_warehouse",
      "not_transferable_status",
      "already_in_waybill",
      "open_exception",
      "destination_mismatch",
      "not_available",
      "not_found",
      "not_available",
      "not_found",
    ];
    const asked = { source_warehouse_id: yard.warehouse, destination_warehouse_id: yard.there };
    const before = await countOf("warehousing.waybills") + await countOf("delivery.deliveries");
    const said = await tenant.warehouse.post(`${path}/validate`, { ...asked, ...selection });
    expect(said).toSucceed(200);
    const rejected = reasons.filter((reason) => reason);
    expect(said.body.rejected.map((r: Body) => r.reason)).toEqual(rejected);
    expect(said.body.invalid[0]).toEqual({ barcode: "nothing", reason: "not_found" });
    expect(said.body).toMatchObject({
      success: true,
      valid: [{
        barcode: fit.barcode,
        delivery_id: fit.id,
        delivery_code: fit.delivery_code,
        status: "pending",
        current_warehouse_id: yard.warehouse,
      }],
      accepted: [{
        kind: "package",
        id: fit.id,
        barcode: fit.barcode,
        delivery_code: fit.delivery_code,
      }],
      destination_lock: { warehouse_id: yard.there, source: "request" },
      requires_new_delivery_defaults: false,
      can_create: true,
    });
    expect(Object.keys(said.body.rejected[0]).sort()).toEqual([
      "kind",
      "message",
      "reason",
      "value",
    ]);
    for (const [language, text] of [["ar", "غير موجود."], ["ku", "نەدۆزرایەوە."]] as const) {
      const told = await tenant.warehouse.post(`${path}/validate`, { ...asked, ...selection }, {
        query: { language },
      });
      expect(told.body.rejected[0].message).toBe(text);
    }
    expect(await countOf("warehousing.waybills") + await countOf("delivery.deliveries")).toBe(
      before,
    );
    const sent = body("delivery_operation", { operation_type: "waybill", ...selection });
    const none = await post(
      { ...sent, package_barcodes: ["nothing", elsewhere.barcode] },
      withKey(),
    );
    expect(none).toFailWith(400, "no_transferable_packages");
    expect(none.body.rejected.map((r: Body) => r.reason)).toContain("wrong_source_warehouse");
    const made = await post(sent, withKey());
    expect(made).toSucceed(201);
    expect(made.body.rejected.map((r: Body) => r.reason)).toEqual(rejected);
    expect(made.body.delivery_ids).toEqual([fit.id]);
  });

  test("when nothing may, nothing is written and each row is told", async () => {
    const before = await countOf("warehousing.package_transfers");
    for (const mode of ["system_only", "delivery_operation"]) {
      const answer = await tenant.warehouse.post(
        path,
        body(mode, { package_barcodes: ["nothing"] }),
        { query: { language: "ar" } },
      );
      expect(answer).toFailWith(400, "no_transferable_packages");
      expect(answer.body.rejected).toEqual([{
        kind: "package",
        value: "nothing",
        reason: "not_found",
        message: "غير موجود.",
      }]);
    }
    expect(await countOf("warehousing.package_transfers")).toBe(before);
  });

  test("validate says what raw inventory needs", async () => {
    const item = await newItem(tenant);
    await stockIn(tenant, {
      item_id: item,
      warehouse_id: yard.warehouse,
      bin_id: yard.bin!,
      quantity: 1,
    });
    const sent = { source_warehouse_id: yard.warehouse, inventory_item_ids: [item] };
    const without = await tenant.ops.post(`${path}/validate`, sent);
    expect(without.body).toMatchObject({
      accepted: [{ kind: "inventory_item", id: item, barcode: null, delivery_code: null }],
      valid: [],
      destination_lock: null,
      requires_new_delivery_defaults: true,
      can_create: false,
    });
    const named = await tenant.ops.post(`${path}/validate`, {
      ...sent,
      destination_warehouse_id: yard.there,
    });
    expect(named.body.can_create).toBe(true);
  });
});

describe("refusals", () => {
  test("which operation it is has to be clear", async () => {
    const parcel = await newPackage(yard);
    const { barcode } = parcel;
    for (
      const [sent, code, field] of [
        [
          body("system_only", { operation_type: "waybill", package_barcodes: [barcode] }),
          "operation_type_not_allowed",
          "operation_type",
        ],
        [body("system_only"), "validation_failed", "package_barcodes"],
        [body("system_only", { package_barcodes: [] }), "validation_failed", "package_barcodes"],
        [
          body("system_only", { package_barcodes: [barcode], delivery_ids: [parcel.id] }),
          "validation_failed",
          "delivery_ids",
        ],
        [
          body("delivery_operation", { package_barcodes: [barcode, "other"] }),
          "operation_type_required",
          "operation_type",
        ],
        [
          body("delivery_operation", { delivery_ids: [parcel.id] }),
          "operation_type_required",
          "operation_type",
        ],
        [
          body("delivery_operation", {
            operation_type: "single_delivery",
            package_barcodes: [barcode, "other"],
          }),
          "single_delivery_needs_one_package",
          "package_barcodes",
        ],
        [
          body("delivery_operation", {
            operation_type: "single_delivery",
            package_barcodes: [barcode],
            inventory_item_ids: [randomUUID()],
          }),
          "single_delivery_needs_one_package",
          "package_barcodes",
        ],
        [
          body("delivery_operation", { operation_type: "waybill", package_barcodes: [barcode] }),
          "idempotency_key_required",
          undefined,
        ],
        [
          {
            ...body("system_only", { package_barcodes: [barcode] }),
            destination_warehouse_id: undefined,
          },
          "validation_failed",
          "destination_warehouse_id",
        ],
        [
          body("system_only", {
            package_barcodes: [barcode],
            destination_warehouse_id: yard.warehouse,
          }),
          "warehouses_must_differ",
          "destination_warehouse_id",
        ],
      ] as const
    ) {
      const answer = await post(sent);
      expect(answer, JSON.stringify(sent)).toFailWith(400, code);
      expect(answer.body.field, JSON.stringify(sent)).toBe(field);
    }
    expect(await whereIs(parcel.id)).toMatchObject({ to: null });
  });

  test("warehouses of others are unknown, bad input is named, others are kept out", async () => {
    const { barcode } = await newPackage(yard);
    for (const field of ["source_warehouse_id", "destination_warehouse_id"]) {
      for (const id of [randomUUID(), foreign.warehouse]) {
        const sent = body("system_only", { package_barcodes: [barcode], [field]: id });
        for (const at of [path, `${path}/validate`]) {
          const answer = await tenant.warehouse.post(at, sent);
          expect(answer).toFailWith(404, "warehouse_not_found");
          expect(answer.body.field).toBe(field);
        }
      }
    }
    await expectRefused(tenant.ops, { method: "POST", path }, [
      [{}, "mode"],
      [body("by_air"), "mode"],
      [body("system_only", { source_warehouse_id: "no" }), "source_warehouse_id", "invalid_uuid"],
      [body("system_only", { package_barcodes: "P" }), "package_barcodes"],
      [body("system_only", { package_barcodes: [""] }), "package_barcodes.0"],
      [body("system_only", { package_barcodes: ["a\u0000"] }), "package_barcodes.0"],
      [body("system_only", { package_barcodes: Array(501).fill("P") }), "package_barcodes"],
      [body("delivery_operation", { delivery_ids: ["no"] }), "delivery_ids.0", "invalid_uuid"],
      [
        body("delivery_operation", { new_delivery_defaults: { payer_type: "uncle" } }),
        "new_delivery_defaults.customer_id",
        "validation_failed",
      ],
      [body("system_only", { notes: "x".repeat(2001) }), "notes"],
    ]);
    const denied = [tenant.staff, tenant.driver, tenant.customer, tenant.institution];
    await expectGuarded({ method: "POST", path }, { denied });
    await expectGuarded({ method: "POST", path: `${path}/validate` }, { denied });
    const [one, two] = [await newPackage(yard), await newPackage(yard)];
    await expectReplayed(
      tenant.ops,
      path,
      body("system_only", { package_barcodes: [one.barcode] }),
      body("system_only", { package_barcodes: [two.barcode] }),
    );
  });
});
