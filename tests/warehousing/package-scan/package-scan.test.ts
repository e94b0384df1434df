import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { Body, Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { deliveryIn } from "../../support/deliveries.ts";
import { newPackage, newStagedPackage, newYard, type Yard } from "../../support/packages.ts";
import { itsDetails, packageScan, scanKeys, scanned } from "../../support/package-scan.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded } from "../../support/promises.ts";

let tenant: Tenant;
let yard: Yard;

beforeAll(async () => {
  tenant = await newTenant();
  yard = await newYard(tenant);
});

const scan = (barcode: string, person?: Person): Promise<Body> => scanned(tenant, barcode, person);

describe("a scan", () => {
  test("of a door-to-door delivery shows it and opens it", async () => {
    const parcel = await newPackage(yard);
    const body = await scan(parcel.barcode);
    expect(Object.keys(body).sort()).toEqual(scanKeys);
    expect(body).toMatchObject({
      success: true,
      ...itsDetails(parcel.id),
      scanned_barcode: parcel.barcode,
      delivery: {
        id: parcel.id,
        delivery_code: parcel.delivery_code,
        barcode: parcel.barcode,
        status: "pending",
        delivery_flow: "standard",
        is_active: true,
        next_action: "assign",
      },
      delivery_target: itsDetails(parcel.id),
      return_delivery: null,
      return_target: null,
      warehouse_context: { warehouse_id: yard.warehouse, relation: "source", can_act: true },
      receiving_order: null,
      inbound_deliveries: [],
      outbound_deliveries: [],
      handoff: null,
    });
    expect(Object.keys(body.delivery).sort()).toEqual([
      "barcode",
      "cash_due",
      "cod_amount",
      "currency",
      "delivery_code",
      "delivery_fee",
      "delivery_flow",
      "id",
      "is_active",
      "label_outdated",
      "next_action",
      "parcel",
      "recipient",
      "sender",
      "status",
    ]);
    expect(body.items).toHaveLength(1);
  });

  test("finds a code where no barcode matches, a barcode before a code, and nobody else's", async () => {
    const parcel = await newPackage(yard);
    expect((await scan(String(parcel.delivery_code))).delivery.id).toBe(parcel.id);
    const named = await newPackage(yard);
    await sql`update delivery.deliveries set barcode = ${String(parcel.delivery_code)}
      where id = ${named.id}`;
    const found = await scan(String(parcel.delivery_code));
    expect(found.delivery.id).toBe(named.id);
    const spaced = await newPackage(yard);
    await sql`update delivery.deliveries set barcode = 'A/B 100%' where id = ${spaced.id}`;
    expect((await scan("A/B 100%")).delivery.id).toBe(spaced.id);
    const foreign = await newPackage(await newYard(await newTenant()), { barcode: "FOREIGN-1" });
    for (const unknown of ["nothing", foreign.barcode, "99999999999999999999", "%"]) {
      const answer = await tenant.warehouse.get(`${packageScan}/${encodeURIComponent(unknown)}`);
      expect(answer, unknown).toFailWith(404, "delivery_not_found");
    }
    const long = await tenant.warehouse.get(`${packageScan}/${"x".repeat(101)}`);
    expect(long).toFailWith(400, "validation_failed");
    expect(long.body.field).toBe("delivery_barcode");
  });

  test("says what comes next at every step of a delivery", async () => {
    const next: Record<string, [action: string, active: boolean]> = {
      draft: ["none", false],
      pending: ["assign", true],
      assigned: ["in_delivery", true],
      accepted: ["in_delivery", true],
      picked_up: ["in_delivery", true],
      in_transit: ["in_delivery", true],
      failed: ["in_delivery", true],
      delivered: ["none", false],
      returned: ["none", false],
      cancelled: ["none", false],
    };
    for (const [status, [next_action, is_active]] of Object.entries(next)) {
      const { barcode } = await deliveryIn(yard, status);
      const { delivery } = await scan(barcode);
      expect(delivery, status).toMatchObject({ status, next_action, is_active });
    }
  });

  test("of a staged parcel tells its legs; a leg's code is the parcel", async () => {
    const { parent, a, b } = await newStagedPackage(yard);
    const body = await scan(parent.barcode);
    expect(body).toMatchObject({
      ...itsDetails(parent.id),
      delivery: { id: parent.id, delivery_flow: "pnd_parent", next_action: "execute" },
      inbound_deliveries: [{ id: a, status: "delivered", next_action: "none", is_active: false }],
      outbound_deliveries: [{ id: b, status: "pending", next_action: "execute", is_active: true }],
    });
    const [{ delivery_code }] = await sql`select delivery_code from delivery.deliveries
      where id = ${b}`;
    expect((await scan(String(delivery_code))).delivery.id).toBe(parent.id);
  });

  test("opens the receipt of a leg that ended at the warehouse and waits to be counted", async () => {
    const own = await newTenant({ settings: { "general.warehouse": { handoff_required: true } } });
    const place = await newYard(own);
    const { parent, a } = await newStagedPackage(place);
    const body = await scan(parent.barcode, own.warehouse);
    const [order] = await sql`select id from warehousing.receiving_orders where delivery_id = ${a}`;
    expect(body).toMatchObject({
      action: "open_receiving_order",
      entity_id: order.id,
      reason: "inbound_ready_to_receive",
      delivery: { next_action: "receive" },
      receiving_order: { id: order.id, source: "inbound", custody: "awaiting_warehouse_receipt" },
      warehouse_context: { warehouse_id: place.warehouse, relation: "destination" },
    });
  });

  test("changes nothing", async () => {
    const { parent } = await newStagedPackage(yard);
    const state = () =>
      sql`select (select count(*) from app.audit_log where tenant_id = ${tenant.id}) as log,
        (select count(*) from integration.system_events where tenant_id = ${tenant.id}) as events,
        (select max(updated_at) from delivery.deliveries where tenant_id = ${tenant.id}) as at,
        (select count(*) from warehousing.inventory_transactions where tenant_id = ${tenant.id}) as moves`;
    const [before] = await state();
    await scan(parent.barcode);
    expect(await tenant.warehouse.post(packageScan, { barcodes: [parent.barcode] })).toSucceed(200);
    expect((await state())[0]).toEqual(before);
  });

  test("is for the warehouse's people, in every language", async () => {
    await expectGuarded({ method: "GET", path: `${packageScan}/X` }, {
      denied: [tenant.driver, tenant.customer, tenant.institution],
    });
    await expectGuarded({ method: "POST", path: packageScan, body: { barcodes: ["X"] } }, {
      denied: [tenant.driver, tenant.customer, tenant.institution],
    });
    const parcel = await newPackage(yard);
    for (const person of [tenant.staff, tenant.dispatcher, tenant.ops, tenant.admin]) {
      expect((await scan(parcel.barcode, person)).delivery.id).toBe(parcel.id);
    }
    for (const [language, word] of [["ar", "شحنة"], ["ku", "گەیاندن"]] as const) {
      const answer = await tenant.ops.get(`${packageScan}/nothing`, { query: { language } });
      expect(answer.body.message).toContain(word);
    }
  });
});

describe("a scanner that was offline", () => {
  test("is answered for each barcode as it would have been one by one", async () => {
    const one = await newPackage(yard);
    const { parent } = await newStagedPackage(yard);
    const barcodes = [one.barcode, "nothing", parent.barcode, one.barcode];
    const answer = await tenant.staff.post(packageScan, { barcodes });
    expect(answer).toSucceed(200);
    const singles = await Promise.all(
      barcodes.map(async (barcode) => {
        const single = await tenant.staff.get(`${packageScan}/${barcode}`);
        if (single.status === 200) return single.body;
        return {
          success: false,
          scanned_barcode: barcode,
          error_code: single.body.code,
          message: expect.any(String),
        };
      }),
    );
    expect(answer.body.results).toEqual(singles);
    for (
      const [sent, field] of [[{}, "barcodes"], [{ barcodes: [] }, "barcodes"], [{
        barcodes: Array(201).fill("X"),
      }, "barcodes"], [{ barcodes: [7] }, "barcodes.0"]] as const
    ) {
      const wrong = await tenant.staff.post(packageScan, sent);
      expect(wrong).toFailWith(400, "validation_failed");
      expect(wrong.body.field).toBe(field);
    }
    const many = await tenant.staff.post(packageScan, {
      barcodes: Array.from({ length: 200 }, (_, i) => (i % 2 ? one.barcode : randomUUID())),
    });
    expect(many.body.results).toHaveLength(200);
  });
});
