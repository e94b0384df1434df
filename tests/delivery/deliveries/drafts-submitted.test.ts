/** A draft binds nobody: when it is submitted, people, places, service and price are those of an order that is given now. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Answer, Body, Person } from "../../support/api.ts";
import { addAddress } from "../../support/addresses.ts";
import { returnOf } from "../../support/customer-returns.ts";
import { sql } from "../../support/db.ts";
import {
  checkAll,
  deliveryIn,
  move,
  newDelivery,
  path,
  statusOf,
} from "../../support/deliveries.ts";
import { newAddress } from "../../support/make.ts";
import { balanceOf, fundWallet } from "../../support/money.ts";
import { newPerson, saveSettings, type Tenant } from "../../support/people.ts";
import { expectReplayed } from "../../support/promises.ts";
import { fee, newRoads, type Roads } from "../../support/redirects.ts";

let roads: Roads;
let tenant: Tenant;
let wallet: string;
beforeAll(async () => {
  roads = await newRoads();
  tenant = roads.tenant;
  await sql`update delivery.delivery_services set allow_returns = true where id = ${roads.service}`;
});
beforeEach(async () => {
  await sql`update delivery.delivery_services set active = true, access_mode = 'all_users', zone_access_mode = 'all_zones', unit_max = 100,
    default_price = 1000, price_per_km = 100 where id = ${roads.service}`;
  wallet = await fundWallet(tenant, "customer", tenant.customer.id, 50_000);
});
afterAll(() => checkAll(tenant));

const byWallet = { payer_type: "sender", payment_method: "wallet" };
const draftOf = (more: Body = {}): Promise<Body> =>
  newDelivery(roads, { ...byWallet, status: "draft", ...more });
const submit = (by: Person, { id }: Body, options = {}): Promise<Answer> =>
  by.post(`${path}/${id}/submit`, {}, options);
const now = (change: Body) =>
  sql`update delivery.delivery_services set ${sql(change)} where id = ${roads.service}`;
const isGone = (person: Person) =>
  sql`update tenancy.tenant_users set is_active = false where user_id = ${person.id}`;

/** It is refused with this, and so is a change of it; it stays a draft, and nobody has paid. */
async function refused(by: Person, draft: Body, status: number, code: string): Promise<Answer> {
  const before = await balanceOf(wallet);
  const answer = await submit(by, draft);
  expect(answer).toFailWith(status, code);
  expect(await statusOf(draft.id)).toBe("draft");
  expect(await balanceOf(wallet)).toBe(before);
  return answer;
}

describe("a draft is not ordered", () => {
  test("for a carrier that is none; another one, or none, is written into it", async () => {
    const draft = await draftOf({ carrier_type: "external", carrier_code: "easypost" });
    await sql`update delivery.deliveries set carrier_code = 'internal' where id = ${draft.id}`;
    const answer = await refused(tenant.ops, draft, 404, "carrier_not_found");
    expect(answer.body.field).toBe("carrier_code");
    expect(await tenant.ops.patch(`${path}/${draft.id}`, { notes: "Ring" }))
      .toFailWith(404, "carrier_not_found");
    expect(await tenant.ops.patch(`${path}/${draft.id}`, { carrier_type: "internal" }))
      .toSucceed(200);
    expect(await submit(tenant.ops, draft)).toSucceed(200);
  });

  test.each(["customer", "institution"] as const)(
    "for somebody who was its %s and is gone, staged or not",
    async (type) => {
      const person = await newPerson(tenant.id, type, type);
      const purse = await fundWallet(tenant, type, person.id, 9_000);
      const field = type === "customer" ? "customer_id" : "institution_user_id";
      const whose = { customer_id: undefined, [field]: person.id };
      const drafts = [
        await draftOf(whose),
        await draftOf({ ...whose, staged: true, warehouse_id: roads.warehouse }),
      ];
      await isGone(person);
      for (const draft of drafts) {
        const answer = await refused(tenant.ops, draft, 404, "customer_not_found");
        expect(answer.body.field).toBe(field);
        const change = await tenant.ops.patch(`${path}/${draft.id}`, { notes: "Ring" });
        expect(change).toFailWith(404, "customer_not_found");
      }
      expect(await balanceOf(purse)).toBe(9_000);
    },
  );

  test.each([
    ["is switched off", { active: false }, 400, "delivery_service_not_available"],
    ["is for chosen people", { access_mode: "select_users" }, 404, "service_not_found"],
    ["goes elsewhere", { zone_access_mode: "select_zones" }, 400, "delivery_service_not_available"],
    [
      "takes less",
      { unit_max: 1.5 },
      400,
      "can_not_use_this_delivery_for_this_unit_size",
    ],
  ])("with a service that %s since", async (_what, change, status, code) => {
    const drafts = [
      await draftOf(),
      await draftOf({ staged: true, warehouse_id: roads.warehouse }),
    ];
    await now(change);
    for (const draft of drafts) {
      await refused(tenant.customer, draft, status, code);
      const said = await tenant.customer.patch(`${path}/${draft.id}`, { notes: "Ring" });
      expect(said).toFailWith(status, code);
      const office = status === 404 ? [400, "delivery_service_not_available"] as const : undefined;
      await refused(tenant.ops, draft, ...(office ?? [status, code] as const));
    }
  });

  test("through a warehouse that is not in use, which may be hidden from its customer", async () => {
    const draft = await draftOf({ staged: true, warehouse_id: roads.warehouse });
    await sql`update warehousing.warehouses set access_mode = 'select_users' where id = ${roads.warehouse}`;
    await sql`update warehousing.warehouses set status = 'inactive' where id = ${roads.warehouse}`;
    for (const by of [tenant.customer, tenant.ops]) {
      const answer = await refused(by, draft, 404, "warehouse_not_found");
      expect(answer.body.field).toBe("warehouse_id");
    }
    await sql`update warehousing.warehouses set status = 'active' where id = ${roads.warehouse}`;
    const { delivery } = (await submit(tenant.customer, draft)).body;
    expect(delivery.legs).toMatchObject([{ leg: "A", status: "pending" }, { leg: "B" }]);
    await sql`update warehousing.warehouses set access_mode = 'all_users' where id = ${roads.warehouse}`;
  });
});

describe("the price of a draft", () => {
  test.each([["dearer", 1500, 3000], ["cheaper", 500, 1000]])(
    "that is %s by now is looked at first: a change of the draft takes it",
    async (_what, default_price, price) => {
      const draft = await draftOf();
      await now({ default_price });
      const headers = { "idempotency-key": randomUUID() };
      const before = await balanceOf(wallet);
      const said = await submit(tenant.customer, draft, { headers });
      expect(said).toFailWith(409, "delivery_price_changed");
      expect(said.body).toMatchObject({
        price_before: fee.near,
        price_after: price,
        currency: "IQD",
      });
      await refused(tenant.ops, draft, 409, "delivery_price_changed");
      const changed = await tenant.customer.patch(`${path}/${draft.id}`, { notes: "Seen" });
      expect(changed.body.delivery).toMatchObject({ price, status: "draft" });
      const done = await submit(tenant.customer, draft, { headers });
      expect(done).toSucceed(200);
      expect(done.body.delivery).toMatchObject({ price, status: "pending" });
      expect(await balanceOf(wallet)).toBe(before - price);
      expect((await submit(tenant.customer, draft, { headers })).body).toEqual(done.body);
      expect(await balanceOf(wallet)).toBe(before - price);
    },
  );

  test("is that of where its addresses are now", async () => {
    const address = await addAddress(tenant.customer);
    const draft = await draftOf({ dropoff_address_id: address });
    const place = (change: Body) => tenant.customer.patch(`/delivery/addresses/${address}`, change);
    expect(await place({ latitude: 33.41, longitude: 44.36 })).toSucceed(200);
    const answer = await refused(tenant.customer, draft, 409, "delivery_price_changed");
    expect(answer.body.price_after).toBe(fee.far);
    await now({ price_per_km: 0 });
    expect(await submit(tenant.customer, draft)).toSucceed(200);
    const { delivery } = (await tenant.ops.get(`${path}/${draft.id}`)).body;
    expect(delivery).toMatchObject({
      dropoff_zone_id: roads.farZone,
      dropoff_address: { latitude: 33.41 },
    });
  });

  test("does not change with what is known of the road", async () => {
    const at = { latitude: 33.4123456, longitude: 44.3712345 };
    const to = await newAddress(tenant, at);
    const ends = { dropoff_address_id: to };
    const known = (distance_km: number) =>
      sql`select delivery.road_distance_put(${
        JSON.stringify({
          from: [33.31, 44.36],
          to: [at.latitude, at.longitude],
          distance_km,
        })
      })`;
    const crow = await draftOf(ends);
    await known(21.437);
    const measured = await draftOf(ends);
    expect(measured.price).toBe(fee.near + 2144);
    const again = await draftOf(ends);
    await known(25);
    expect(await submit(tenant.ops, measured)).toSucceed(200);
    await sql`delete from delivery.road_distances where to_latitude = 33.41235`;
    const done = [await submit(tenant.customer, crow), await submit(tenant.customer, again)];
    expect(done.map(({ body }) => body.delivery.price)).toEqual([crow.price, again.price]);
  });
});

describe("an unchanged draft is ordered as it is", () => {
  test("of a customer or institution, of the office, staged, and by a repeated call", async () => {
    await fundWallet(tenant, "institution", tenant.institution.id, 9_000);
    const institution = { customer_id: undefined, institution_user_id: tenant.institution.id };
    for (
      const [by, more] of [
        [tenant.customer, {}],
        [tenant.ops, {}],
        [tenant.institution, institution],
        [tenant.ops, { customer_id: tenant.institution.id }],
        [tenant.customer, { staged: true, warehouse_id: roads.warehouse }],
        [tenant.ops, { customer_id: undefined, payer_type: "receiver", payment_method: "cash" }],
        [tenant.institution, { institution_user_id: tenant.institution.id }],
        [tenant.customer, { unit_size: undefined, package: { items: [{ name: "Hat" }] } }],
      ] as const
    ) {
      if ("package" in more) {
        await saveSettings(tenant.id, "general.unit_size", {
          missing_unit_size_fallback: "service_min",
        });
      }
      const draft = await draftOf(more);
      const before = (await tenant.ops.get(`${path}/${draft.id}`)).body.delivery;
      expect(await submit(by, draft)).toSucceed(200);
      const { delivery } = (await tenant.ops.get(`${path}/${draft.id}`)).body;
      const moves = ["status", "history", "legs", "updated_at", "payments", "cash_due"];
      const same = Object.keys(before).filter((key) => !moves.includes(key));
      for (const key of same) expect(delivery[key], key).toEqual(before[key]);
    }
    const once = await draftOf();
    await expectReplayed(tenant.customer, `${path}/${once.id}/submit`, {});
  });

  test("from places that the office alone may name", async () => {
    const other = await newPerson(tenant.id, "customer", "customer");
    const place = await addAddress(other);
    const draft = await draftOf({ dropoff_address_id: place });
    expect(await submit(tenant.customer, draft)).toSucceed(200);
  });

  test("also back from a customer; what the office approves was agreed when it was asked for", async () => {
    const { id: parcel } = await deliveryIn(roads, "delivered");
    const back = (await returnOf(roads, parcel, { ...byWallet, status: "draft" })).body.delivery;
    await now({ default_price: 1500 });
    await refused(tenant.customer, back, 409, "delivery_price_changed");
    await now({ default_price: 1000 });
    expect(await submit(tenant.customer, back)).toSucceed(200);

    await saveSettings(tenant.id, "general.delivery", {
      return_requests: { auto_approval: false },
    });
    const drafted = async (status?: string) => {
      const { id } = await deliveryIn(roads, "delivered");
      const answer = await returnOf(roads, id, { ...byWallet, status }, tenant.customer);
      expect(answer).toSucceed(201);
      return answer.body.delivery;
    };
    const kept = await drafted("draft");
    const asked = [await drafted(), await drafted()];
    await now({ default_price: 1500, active: false });
    await refused(tenant.customer, kept, 400, "delivery_service_not_available");
    await refused(tenant.customer, asked[0], 409, "return_request_pending");
    const approved = await move(tenant.ops, asked[0].id, "return-request/approve");
    for (const answer of [approved, await submit(tenant.ops, asked[1])]) {
      expect(answer).toSucceed(200);
      expect(answer.body.delivery).toMatchObject({ status: "pending", price: 1000 });
    }
    await now({ active: true });
    await refused(tenant.customer, kept, 409, "delivery_price_changed");
    await now({ default_price: 1000 });
    expect((await submit(tenant.customer, kept)).body.delivery.return_request.status)
      .toBe("requested");
  });
});
