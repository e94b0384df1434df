import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { waitingFor, whileOpen } from "../../support/overlapping.ts";
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
import { until } from "../../support/receiver.ts";
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

  test("a package that may travel only since the first look is held like the others", async () => {
    const [first, late] = [await newPackage(yard), await newPackage(yard)];
    const opened = await tenant.ops.post(`/delivery/deliveries/${late.id}/exceptions`, {
      type: "other",
    });
    expect(opened).toSucceed(201);
    const item_id = await newItem(tenant);
    const place = { item_id, warehouse_id: yard.warehouse, bin_id: yard.bin! };
    await stockIn(tenant, { ...place, quantity: 1 });
    const made = await whileOpen(async (stock) => {
      await stock`select from warehousing.stock where item_id = ${item_id} for update`;
      const [{ pid }] = await stock`select pg_backend_pid() as pid`;
      // Its first look is over while it waits for the first package.
      const creation = await whileOpen(async (session) => {
        const [{ pid: holds }] = await session`select pg_backend_pid() as pid`;
        await session`select from delivery.deliveries where id = ${first.id} for update`;
        const call = create({
          delivery_ids: [first.id, late.id],
          inventory_item_ids: [item_id],
          new_delivery_defaults,
        });
        await until(async () => (await waitingFor(holds)).length > 0);
        const at = `/delivery/delivery-exceptions/${opened.body.exception.id}/resolve`;
        expect(await tenant.ops.post(at, { resolution: "fine" })).toSucceed(200);
        return { call };
      });
      await until(async () => (await waitingFor(pid)).length > 0);
      await expect(
        sql.begin((tx) =>
          tx`select from delivery.deliveries where id = ${late.id} for update nowait`
        ),
      ).rejects.toMatchObject({ code: "55P03" });
      return creation;
    });
    const answer = await made.call;
    expect(answer).toSucceed(201);
    expect(answer.body.rejected).toEqual([]);
    expect(answer.body.delivery_ids.slice(0, 2)).toEqual([first.id, late.id]);
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
