/** A staged parcel that is back for good owes nothing and goes nowhere; one that only came back to its warehouse sets out again. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { amountChanges, change } from "../../support/amount-changes.ts";
import type { Body } from "../../support/api.ts";
import {
  assign,
  checkAll,
  move,
  moves,
  newDelivery,
  outboundOnRoad,
  path,
  stagedInWarehouse,
  statusOf,
  takenOver,
} from "../../support/deliveries.ts";
import { refused, report } from "../../support/outcomes.ts";
import { saveSettings, type Tenant } from "../../support/people.ts";
import { newRoads, redirect, type Roads } from "../../support/redirects.ts";
import { received } from "../../support/send-back.ts";

let roads: Roads;
let tenant: Tenant;

beforeAll(async () => {
  roads = await newRoads();
  tenant = roads.tenant;
});
afterAll(() => checkAll(tenant));

const owed = { cod_amount: 5000 };
const statusesOf = async (id: string): Promise<string[]> =>
  (await tenant.ops.get(amountChanges(id))).body.data.map((row: Body) => row.status);

/** Neither its address nor its amount nor whom to ask for changes, whichever of the family is named. */
async function expectEnded(...ids: string[]): Promise<void> {
  for (const id of ids) {
    for (const dry_run of [true, false]) {
      const there = await redirect(tenant.ops, id, roads.far, { dry_run });
      expect(there).toFailWith(409, "delivery_ended");
      expect(there.body.status).toBe("returned");
    }
    expect(await change(tenant.ops, id, 1)).toFailWith(409, "delivery_ended");
    expect(await tenant.ops.put(`${path}/${id}`, { notes: "x" }))
      .toFailWith(409, "delivery_ended");
  }
}

/** Its driver asks for another amount and then brings the leg back to its warehouse, where its receipt waits. */
async function comesBack() {
  const made = await outboundOnRoad(roads, owed);
  expect(await change(tenant.driver, made.b, 4000)).toSucceed(201);
  const { receiving_order_id } = await moves(tenant.driver, made.b, "fail", "return");
  expect(await statusOf(made.parent.id)).toBe("returned");
  return { ...made, receipt: receiving_order_id as string };
}

describe("a staged parcel", () => {
  test("that waits to be received, or set out again since, changes as before; its request waits", async () => {
    const { parent, b, receipt } = await comesBack();
    expect(await redirect(tenant.ops, parent.id, roads.far)).toSucceed(200);
    expect(await statusesOf(parent.id)).toEqual(["pending"]);
    await received(roads, receipt);
    expect(await statusesOf(parent.id)).toEqual(["pending"]);
    expect(await redirect(tenant.ops, b, roads.to)).toSucceed(200);
    const [{ id: asked }] = (await tenant.ops.get(amountChanges(parent.id))).body.data;
    expect(await tenant.ops.post(`${amountChanges(parent.id)}/${asked}/approve`)).toSucceed(200);
    await takenOver(roads, b);
    const { cash } = await moves(tenant.driver, b, "depart", "complete");
    expect(cash.collected.cod).toBe(4000);
  });

  test("whose operational return is delivered has ended, and its request lapses then", async () => {
    const { parent, a, b, receipt } = await comesBack();
    await received(roads, receipt);
    const back = await move(tenant.ops, b, "operational-return");
    expect(back).toSucceed(201);
    expect(await redirect(tenant.ops, parent.id, roads.far)).toFailWith(409, "return_under_way");
    expect(await statusesOf(parent.id)).toEqual(["pending"]);
    await takenOver(roads, back.body.id);
    await moves(tenant.driver, back.body.id, "depart", "complete");
    expect([await statusOf(parent.id), await statusOf(b)]).toEqual(["returned", "returned"]);
    expect(await statusesOf(parent.id)).toEqual(["lapsed"]);
    await expectEnded(parent.id, a, b);
  });

  test("that was sent back at the door has ended, also when its return is lost", async () => {
    await saveSettings(tenant.id, "delivery.attempts", { after_last: "return" });
    const { parent, b } = await stagedInWarehouse(roads, owed);
    await takenOver(roads, b);
    expect(await change(tenant.driver, b, 4000)).toSucceed(201);
    const sent = await report(tenant.driver, b, refused);
    await saveSettings(tenant.id, "delivery.attempts", { after_last: "ask" });
    const [back] = sent.body.data.returns;
    expect(await statusesOf(parent.id)).toEqual(["lapsed"]);
    await expectEnded(parent.id, b);
    const { receiving_order_id } = await moves(tenant.driver, back.id, [
      "return",
      { warehouse_id: roads.warehouse },
    ]);
    const none = await tenant.warehouse.put(`/warehousing/receiving-orders/${receiving_order_id}`, {
      status: "received",
      item_details: [{ received_quantity: 0 }],
    });
    expect(none).toSucceed(200);
    expect(await move(tenant.ops, back.id, "cancel", { reason: "lost" })).toSucceed(200);
    await expectEnded(parent.id, b);
  });

  test("whose first leg came back to its sender has ended", async () => {
    const parent = await newDelivery(roads, {
      ...owed,
      staged: true,
      warehouse_id: roads.warehouse,
    });
    const [a] = parent.legs.map(({ id }: Body) => id);
    await assign(tenant, a);
    expect(await change(tenant.driver, a, 4000)).toSucceed(201);
    await moves(tenant.driver, a, "pickup", "depart", "return");
    expect(await statusesOf(parent.id)).toEqual(["lapsed"]);
    await expectEnded(parent.id, a);
  });
});
