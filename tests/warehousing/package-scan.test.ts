import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { Body, Person } from "../support/api.ts";
import { sql } from "../support/db.ts";
import { checkAll, deliveryIn, handedTo, move, moves } from "../support/deliveries.ts";
import { newPackage, newStaff, newStagedPackage, newYard, type Yard } from "../support/packages.ts";
import { newTenant, type Tenant } from "../support/people.ts";
import { expectGuarded } from "../support/promises.ts";

const path = "/warehousing/package-scan";
let tenant: Tenant;
let yard: Yard;

beforeAll(async () => {
  tenant = await newTenant();
  yard = await newYard(tenant);
});

async function scan(barcode: string, person: Person = tenant.warehouse): Promise<Body> {
  const answer = await person.get(`${path}/${encodeURIComponent(barcode)}`);
  expect(answer).toSucceed(200);
  return answer.body;
}
const details = (id: string) => ({
  action: "open_delivery",
  entity_id: id,
  reason: "delivery_details_available",
});
const keys = [
  "action",
  "delivery",
  "delivery_target",
  "entity_id",
  "handoff",
  "inbound_deliveries",
  "items",
  "message",
  "outbound_deliveries",
  "reason",
  "receiving_order",
  "return_delivery",
  "return_target",
  "scanned_barcode",
  "success",
  "warehouse_context",
];

/** Fails at the door and comes back; the receipt that waits for it. */
async function broughtBack(leg: string): Promise<string> {
  const handoff = await handedTo(yard, leg);
  const taken = await tenant.driver.post(`/delivery/handoffs/${handoff}/pickup`, {});
  expect(taken).toSucceed(200);
  await moves(tenant.driver, leg, "depart", "fail");
  return (await moves(tenant.driver, leg, "return")).receiving_order_id;
}

describe("a scan", () => {
  test("of a door-to-door delivery shows it and opens it", async () => {
    const parcel = await newPackage(yard);
    const body = await scan(parcel.barcode);
    expect(Object.keys(body).sort()).toEqual(keys);
    expect(body).toMatchObject({
      success: true,
      ...details(parcel.id),
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
      delivery_target: details(parcel.id),
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
      "delivery_code",
      "delivery_flow",
      "id",
      "is_active",
      "next_action",
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
      const answer = await tenant.warehouse.get(`${path}/${encodeURIComponent(unknown)}`);
      expect(answer, unknown).toFailWith(404, "delivery_not_found");
    }
    const long = await tenant.warehouse.get(`${path}/${"x".repeat(101)}`);
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
      ...details(parent.id),
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
    expect(await tenant.warehouse.post(path, { barcodes: [parent.barcode] })).toSucceed(200);
    expect((await state())[0]).toEqual(before);
  });

  test("is for the warehouse's people, in every language", async () => {
    await expectGuarded({ method: "GET", path: `${path}/X` }, {
      denied: [tenant.driver, tenant.customer, tenant.institution],
    });
    await expectGuarded({ method: "POST", path, body: { barcodes: ["X"] } }, {
      denied: [tenant.driver, tenant.customer, tenant.institution],
    });
    const parcel = await newPackage(yard);
    for (const person of [tenant.staff, tenant.dispatcher, tenant.ops, tenant.admin]) {
      expect((await scan(parcel.barcode, person)).delivery.id).toBe(parcel.id);
    }
    for (const [language, word] of [["ar", "توصيل"], ["ku", "گەیاندن"]] as const) {
      const answer = await tenant.ops.get(`${path}/nothing`, { query: { language } });
      expect(answer.body.message).toContain(word);
    }
  });
});

describe("a parcel that comes back", () => {
  test("opens its receipt; received, it is executed again", async () => {
    const { parent, b } = await newStagedPackage(yard);
    const order = await broughtBack(b);
    const body = await scan(parent.barcode);
    expect(body).toMatchObject({
      action: "open_receiving_order",
      entity_id: order,
      reason: "failed_delivery_return_ready_to_receive",
      delivery: { next_action: "receive", is_active: true },
      outbound_deliveries: [{ status: "returned", next_action: "receive", is_active: true }],
      receiving_order: {
        id: order,
        source: "failed_delivery_return",
        status: "pending",
        custody: "awaiting_warehouse_receipt",
        delivery_id: b,
      },
      warehouse_context: { warehouse_id: yard.warehouse, relation: "destination", can_act: true },
    });
    const received = await tenant.warehouse.put(`/warehousing/receiving-orders/${order}`, {
      status: "received",
    });
    expect(received).toSucceed(200);
    expect(await scan(parent.barcode)).toMatchObject({
      ...details(parent.id),
      delivery: { next_action: "execute" },
      receiving_order: null,
    });
    await checkAll(tenant);
  });

  test("with an exception open is never offered to be carried out", async () => {
    const { parent, b } = await newStagedPackage(yard);
    const order = await broughtBack(b);
    const [item] =
      await sql`select id from delivery.delivery_items where delivery_id = ${parent.id}`;
    await sql`insert into delivery.delivery_exceptions (tenant_id, delivery_id, type, items)
      values (${tenant.id}, ${b}, 'damaged', ${
      sql.json([{ delivery_item_id: item.id, quantity: 1 }])
    })`;
    expect((await scan(parent.barcode)).action).toBe("open_receiving_order");
    expect(
      await tenant.warehouse.put(`/warehousing/receiving-orders/${order}`, { status: "received" }),
    ).toSucceed(200);
    const body = await scan(parent.barcode);
    expect(body).toMatchObject({ ...details(parent.id), delivery: { next_action: "none" } });
    expect(body.items[0]).toMatchObject({
      has_exception: true,
      has_open_exception: true,
      open_exception: { type: "damaged" },
      open_exceptions: [{ type: "damaged", status: "open" }],
      open_exception_count: 1,
    });
    await sql`update delivery.delivery_exceptions set status = 'resolved', resolved_at = now()
      where delivery_id = ${b}`;
    const after = await scan(parent.barcode);
    expect(after.delivery.next_action).toBe("execute");
    expect(after.items[0]).toMatchObject({
      has_exception: true,
      has_open_exception: false,
      open_exception: null,
      open_exceptions: [],
      open_exception_count: 0,
    });
    expect(Object.keys(after.items[0])).not.toContain("exception");
  });

  test("tells of the latest exception first, of the thing it concerns alone", async () => {
    const parcel = await newPackage(yard, {
      package: { items: [{ name: "Lamp", weight: 1 }, { name: "Vase", weight: 1 }] },
    });
    const items = await sql`select id from delivery.delivery_items where delivery_id = ${parcel.id}
      order by position`;
    const add = (type: string, of: string[], at: string) =>
      sql`insert into delivery.delivery_exceptions (tenant_id, delivery_id, type, items, created_at)
      values (${tenant.id}, ${parcel.id}, ${type}, ${
        sql.json(of.map((delivery_item_id) => ({ delivery_item_id })))
      }, ${at})`;
    await add("old", [], "2026-01-01");
    await add("new", [items[1].id], "2026-01-02");
    const { items: [lamp, vase] } = await scan(parcel.barcode);
    expect(lamp).toMatchObject({ open_exception_count: 1, open_exception: { type: "old" } });
    expect(vase).toMatchObject({ open_exception_count: 2, open_exception: { type: "new" } });
    expect(vase.open_exceptions.map((e: Body) => e.type)).toEqual(["new", "old"]);
  });

  test("is opened as a receipt only by those who may take it", async () => {
    const { parent, b } = await newStagedPackage(yard);
    const order = await broughtBack(b);
    const body = await scan(parent.barcode, tenant.staff);
    expect(body).toMatchObject({
      ...details(parent.id),
      receiving_order: { id: order },
      warehouse_context: { can_act: false },
    });
    await newStaff(tenant, yard.warehouse, tenant.staff.id);
    expect(await scan(parent.barcode, tenant.staff)).toMatchObject({
      action: "open_receiving_order",
      entity_id: order,
      warehouse_context: { can_act: true },
    });
  });
});

describe("a parcel and its return", () => {
  async function withReturn() {
    const { parent, b } = await newStagedPackage(yard);
    const answer = await tenant.ops.post(`/delivery/deliveries/${b}/operational-return`, {});
    expect(answer).toSucceed(201);
    return { parent, back: answer.body.delivery as Body };
  }

  test("are both shown by the original barcode, each with a target of its own", async () => {
    const { parent, back } = await withReturn();
    const body = await scan(parent.barcode);
    expect(body).toMatchObject({
      ...details(parent.id),
      delivery: { id: parent.id, status: "returned", is_active: false, next_action: "none" },
      delivery_target: details(parent.id),
      return_delivery: {
        id: back.id,
        barcode: back.barcode,
        delivery_flow: "operational_return",
        is_active: true,
        next_action: "execute",
      },
      return_target: details(back.id),
    });
    expect(Object.keys(body).sort()).toEqual(keys);
    // The handoff is the return's: the original never opens it.
    const handoff = await handedTo(yard, back.id);
    expect(await scan(parent.barcode)).toMatchObject({
      delivery_target: details(parent.id),
      handoff: null,
      return_delivery: { next_action: "handoff" },
      return_target: {
        action: "open_handoff",
        entity_id: handoff,
        reason: "handoff_ready_for_driver",
      },
    });
  });

  test("change places when the return's own barcode is scanned", async () => {
    const { parent, back } = await withReturn();
    const handoff = await handedTo(yard, back.id);
    const body = await scan(back.barcode);
    expect(body).toMatchObject({
      action: "open_handoff",
      entity_id: handoff,
      delivery: { id: back.id },
      delivery_target: { action: "open_handoff", entity_id: handoff },
      return_delivery: null,
      return_target: null,
      original_delivery: { id: parent.id },
      original_target: details(parent.id),
      handoff: { id: handoff, delivery_id: back.id, driver_id: tenant.driver.id },
    });
    expect(await tenant.driver.post(`/delivery/handoffs/${handoff}/pickup`, {})).toSucceed(200);
    expect((await scan(back.barcode)).delivery.next_action).toBe("in_delivery");
  });

  test("a return that is over or called off is not shown", async () => {
    const { parent, back } = await withReturn();
    expect(await move(tenant.ops, back.id, "cancel", { reason: "no" })).toSucceed(200);
    expect(await scan(parent.barcode)).toMatchObject({
      return_delivery: null,
      return_target: null,
      delivery: { next_action: "execute" },
    });
  });
});

describe("a scanner that was offline", () => {
  test("is answered for each barcode as it would have been one by one", async () => {
    const one = await newPackage(yard);
    const { parent } = await newStagedPackage(yard);
    const barcodes = [one.barcode, "nothing", parent.barcode, one.barcode];
    const answer = await tenant.staff.post(path, { barcodes });
    expect(answer).toSucceed(200);
    const singles = await Promise.all(
      barcodes.map(async (barcode) => {
        const single = await tenant.staff.get(`${path}/${barcode}`);
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
      const wrong = await tenant.staff.post(path, sent);
      expect(wrong).toFailWith(400, "validation_failed");
      expect(wrong.body.field).toBe(field);
    }
    const many = await tenant.staff.post(path, {
      barcodes: Array.from({ length: 200 }, (_, i) => (i % 2 ? one.barcode : randomUUID())),
    });
    expect(many.body.results).toHaveLength(200);
  });
});
