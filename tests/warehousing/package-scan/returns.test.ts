import { beforeAll, describe, expect, test } from "vitest";
import type { Body, Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { checkAll, handedTo, move, moves, takenOver } from "../../support/deliveries.ts";
import {
  newPackage,
  newStaff,
  newStagedPackage,
  newYard,
  type Yard,
} from "../../support/packages.ts";
import { itsDetails, scanKeys, scanned } from "../../support/package-scan.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { received } from "../../support/send-back.ts";

let tenant: Tenant;
let yard: Yard;

beforeAll(async () => {
  tenant = await newTenant();
  yard = await newYard(tenant);
});

const scan = (barcode: string, person?: Person): Promise<Body> => scanned(tenant, barcode, person);

/** Fails at the door and comes back; the receipt that waits for it. */
async function broughtBack(leg: string): Promise<string> {
  await takenOver(yard, leg);
  await moves(tenant.driver, leg, "depart", "fail");
  return (await moves(tenant.driver, leg, "return")).receiving_order_id;
}

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
      ...itsDetails(parent.id),
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
    await received(yard, order);
    const body = await scan(parent.barcode);
    expect(body).toMatchObject({ ...itsDetails(parent.id), delivery: { next_action: "none" } });
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
      ...itsDetails(parent.id),
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
      ...itsDetails(parent.id),
      delivery: { id: parent.id, status: "in_transit", is_active: true, next_action: "none" },
      delivery_target: itsDetails(parent.id),
      return_delivery: {
        id: back.id,
        barcode: back.barcode,
        delivery_flow: "operational_return",
        is_active: true,
        next_action: "execute",
      },
      return_target: itsDetails(back.id),
    });
    expect(Object.keys(body).sort()).toEqual(scanKeys);
    // The handoff is the return's: the original never opens it.
    const handoff = await handedTo(yard, back.id);
    expect(await scan(parent.barcode)).toMatchObject({
      delivery_target: itsDetails(parent.id),
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
      original_target: itsDetails(parent.id),
      handoff: { id: handoff, delivery_id: back.id, driver_id: tenant.driver.id },
    });
    expect(await tenant.driver.post(`/delivery/handoffs/${handoff}/pickup`, {})).toSucceed(200);
    expect((await scan(back.barcode)).delivery.next_action).toBe("in_delivery");
  });

  test("a return that is over or cancelled is not shown", async () => {
    const { parent, back } = await withReturn();
    expect(await move(tenant.ops, back.id, "cancel", { reason: "no" })).toSucceed(200);
    expect(await scan(parent.barcode)).toMatchObject({
      return_delivery: null,
      return_target: null,
      delivery: { next_action: "execute" },
    });
  });
});
