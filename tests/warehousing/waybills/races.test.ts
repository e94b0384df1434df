import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { checkTallies, newPackage, newStagedPackage, newYard } from "../../support/packages.ts";
import {
  type Hauling,
  itemOf,
  newHauling,
  waybills as path,
  withKey,
} from "../../support/waybills.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectNoSuch } from "../../support/promises.ts";
import { checkStock, eventsOf, newItem, stockIn, unitsOf } from "../../support/warehouses.ts";

let other: Tenant;
let { tenant, yard, create, step, new_delivery_defaults, onTheRoad } = {} as Hauling;

beforeAll(async () => {
  ({ tenant, yard, create, step, new_delivery_defaults, onTheRoad } = await newHauling());
  other = await newTenant();
});

describe("at the same moment", () => {
  test("one key makes one waybill; without a key none is made", async () => {
    const parcel = await newPackage(yard);
    const body = {
      source_warehouse_id: yard.warehouse,
      destination_warehouse_id: yard.there,
      delivery_ids: [parcel.id],
    };
    expect(await tenant.ops.post(path, body)).toFailWith(400, "idempotency_key_required");
    const one = withKey();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => tenant.ops.post(path, body, one)),
    );
    for (const answer of answers) expect(answer).toSucceed(201);
    expect(new Set(answers.map((answer) => answer.body.waybill_id)).size).toBe(1);
    expect(await tenant.ops.post(path, { ...body, notes: "other" }, one)).toFailWith(
      409,
      "idempotency_conflict",
    );
  });

  test("a package goes onto one of ten waybills", async () => {
    const { parent } = await newStagedPackage(yard);
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => create({ delivery_ids: [parent.id] })),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 201)) {
      expect(answer).toFailWith(400, "no_transferable_packages");
      expect(answer.body.rejected[0].reason).toBe("already_in_waybill");
    }
    const [{ count }] = await sql`select count(*)::int from warehousing.waybill_deliveries
      where delivery_id = ${parent.id}`;
    expect(count).toBe(1);
    await checkStock(tenant);
  });

  test("a last piece of inventory goes onto one of eight waybills", async () => {
    const item_id = await newItem(tenant);
    await stockIn(tenant, {
      item_id,
      warehouse_id: yard.warehouse,
      bin_id: yard.bin!,
      quantity: 1,
    });
    const answers = await Promise.all(Array.from({ length: 8 }, () =>
      create({
        inventory_item_ids: [item_id],
        new_delivery_defaults,
      })));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 201)) {
      expect([400, 409]).toContain(answer.status);
    }
    const [{ count }] = await sql`select count(*)::int from delivery.delivery_items
      where item_id = ${item_id}`;
    expect(count).toBe(1);
    await checkStock(tenant);
  });

  test("received by ten, it arrives once", async () => {
    const { parent } = await newStagedPackage(yard);
    const item = await itemOf(parent.id);
    const id = await onTheRoad(parent.id);
    const answers = await Promise.all(Array.from({ length: 10 }, () => step(id, "receive")));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(409)]);
    expect(await unitsOf(item, yard.thereBin)).toEqual({ available: 1 });
    expect(await eventsOf(id)).toHaveLength(3);
    await checkStock(tenant);
  });
});

describe("the list", () => {
  test("by status, route, driver and number; totals are kept", async () => {
    const own = await newTenant();
    const place = await newYard(own);
    for (let i = 0; i < 3; i++) {
      const parcel = await newPackage(place);
      const answer = await own.ops.post(path, {
        source_warehouse_id: place.warehouse,
        destination_warehouse_id: place.there,
        delivery_ids: [parcel.id],
      }, withKey());
      if (i === 0) {
        await own.ops.post(`${path}/${answer.body.waybill_id}/seal`, {});
        await own.ops.post(`${path}/${answer.body.waybill_id}/driver-handover`, {
          driver_id: own.driver.id,
        });
      }
    }
    const ask = async (query: Record<string, string | number>) => {
      const answer = await own.warehouse.get(path, { query });
      expect(answer).toSucceed(200);
      return answer.body;
    };
    const all = await ask({});
    expect(all).toMatchObject({ pagination: { page: 1, limit: 20, total: 3 } });
    expect(all.data.map((w: Body) => w.waybill_number)).toEqual([
      "WB-000003",
      "WB-000002",
      "WB-000001",
    ]);
    const numbers = async (query: Record<string, string | number>) =>
      (await ask(query)).data.map((w: Body) => w.waybill_number.slice(-1));
    expect(await numbers({ status: "in_transit" })).toEqual(["1"]);
    expect(await numbers({ driver_id: own.driver.id })).toEqual(["1"]);
    expect(await numbers({ source_warehouse_id: place.there })).toEqual([]);
    expect(await numbers({ destination_warehouse_id: place.there, limit: 1, page: 2 })).toEqual([
      "2",
    ]);
    expect(await numbers({ search: "wb-000002" })).toEqual(["2"]);
    expect(await numbers({ search: "%" })).toEqual([]);
    expect((await ask({ status: "drafted" })).pagination.total).toBe(2);
    await checkTallies(own);
  });

  test("and every step are for the warehouse's people; unknown waybills are unknown", async () => {
    const denied = [tenant.driver, tenant.customer, tenant.institution];
    const foreign = await newYard(other);
    const answer = await other.ops.post(path, {
      source_warehouse_id: foreign.warehouse,
      destination_warehouse_id: foreign.there,
      delivery_ids: [(await newPackage(foreign)).id],
    }, withKey());
    const id = randomUUID();
    for (
      const [method, at, body] of [
        ["GET", "{id}", {}],
        ["POST", "{id}/seal", {}],
        ["POST", "{id}/driver-handover", { driver_id: tenant.driver.id }],
        ["POST", "{id}/receive", {}],
        ["POST", "{id}/close", {}],
        ["POST", `{id}/discrepancies/${id}/resolve`, {}],
      ] as const
    ) {
      const call = { method, path: `${path}/${at}`, body };
      await expectNoSuch(
        tenant.ops,
        call,
        "waybill_id",
        "waybill_not_found",
        answer.body.waybill_id,
      );
      await expectGuarded({ ...call, path: call.path.replace("{id}", id) }, { denied });
    }
    await expectGuarded({ method: "GET", path }, { denied });
    await expectGuarded({ method: "POST", path }, { denied: [...denied, tenant.staff] });
    for (const [language, word] of [["ar", "بوليصة"], ["ku", "بارنامە"]] as const) {
      const told = await tenant.ops.get(`${path}/${id}`, { query: { language } });
      expect(told.body.message).toContain(word);
    }
  });
});
