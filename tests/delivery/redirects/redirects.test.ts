/** Where a redirected parcel goes, with whom, and who may send it there. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import {
  assign,
  checkAll,
  deliveryIn,
  handedTo,
  move,
  moves,
  newDelivery,
  path,
  stagedInWarehouse,
  statusOf,
} from "../../support/deliveries.ts";
import { checkDeliveries } from "../../support/delivery-invariants.ts";
import { newAddress } from "../../support/make.ts";
import { balanceOf, fundWallet } from "../../support/money.ts";
import { queuedOn } from "../../support/overlapping.ts";
import { saveSettings, type Tenant } from "../../support/people.ts";
import { expectReplayed } from "../../support/promises.ts";
import { confine, fee, free, newRoads, redirect, type Roads } from "../../support/redirects.ts";
import { changeDestination, newDestination, ordered } from "../../support/set-destination.ts";

let roads: Roads;
let tenant: Tenant;

beforeAll(async () => {
  roads = await newRoads();
  tenant = roads.tenant;
});
afterAll(() => checkDeliveries(tenant));

const place = (id: string) => `${path}/${id}/redirect`;
const shown = async (id: string): Promise<Body> =>
  (await tenant.ops.get(`${path}/${id}`)).body.delivery;
const notices = async (who: Tenant["driver"], type: string): Promise<Body[]> =>
  (await who.get("/tenants/me/notifications", { query: { type } })).body.data;

describe("a redirect", () => {
  test("sends the parcel elsewhere, to somebody else, with its label outdated and an event", async () => {
    const made = await newDelivery(roads);
    await tenant.ops.post("/delivery/shipment-labels", { delivery_codes: [made.delivery_code] });
    const recipient = { name: "Sara", phone: "+9647700000009" };
    const answer = await redirect(tenant.customer, made.id, roads.far, { recipient });
    expect(answer).toSucceed(200);
    expect(await shown(made.id)).toMatchObject({
      dropoff_address_id: roads.far,
      dropoff_zone_id: roads.farZone,
      recipient,
      label_outdated: true,
      distance_km: 11.12,
    });
    const scan = await tenant.warehouse.get(`/warehousing/package-scan/${made.barcode}`);
    expect(scan.body.delivery.label_outdated).toBe(true);
    const [event] = await sql`select event_data from integration.system_events
      where entity_id = ${made.id} and event_type = 'delivery.redirected'`;
    expect(event.event_data).toEqual({
      delivery_id: made.id,
      delivery_code: made.delivery_code,
      previous_address_id: roads.to,
      dropoff_address_id: roads.far,
      dropoff_zone_id: roads.farZone,
      delivery_fee: fee.far,
      price_difference: fee.far - fee.near,
      currency: "IQD",
      driver_unassigned: false,
      actor_id: tenant.customer.id,
    });
    expect(await redirect(tenant.customer, made.id, roads.near)).toSucceed(200);
    expect((await shown(made.id)).recipient).toEqual(recipient);
    // The rest of the person stays.
    expect(await redirect(tenant.ops, made.id, roads.far, { recipient: { phone: "+964770" } }))
      .toSucceed(200);
    expect((await shown(made.id)).recipient).toEqual({ name: "Sara", phone: "+964770" });
  });

  test("of a staged parcel is followed by its legs, whichever is named", async () => {
    const { parent, a, b } = await stagedInWarehouse(roads, { cod_amount: 5000 });
    const handoff = await handedTo(roads, b);
    const answer = await redirect(tenant.ops, b, roads.far, { recipient: { name: "Sara" } });
    expect(answer.body.data.delivery).toMatchObject({ id: b, dropoff_address_id: roads.far });
    for (const id of [parent.id, b]) {
      expect(await shown(id)).toMatchObject({
        dropoff_address_id: roads.far,
        dropoff_zone_id: roads.farZone,
        recipient: { name: "Sara" },
        label_outdated: true,
      });
    }
    expect((await shown(a)).dropoff_address_id).not.toBe(roads.far);
    expect(await tenant.driver.post(`/delivery/handoffs/${handoff}/pickup`)).toSucceed();
    const { cash } = await moves(tenant.driver, b, "complete");
    expect(cash.collected).toMatchObject({ cod: 5000, delivery_fee: fee.far });
  });

  test("does not leave a driver of a leg into the warehouse without it", async () => {
    const parent = await newDelivery(roads, { staged: true, warehouse_id: roads.warehouse });
    const [a] = parent.legs.map(({ id }: Body) => id);
    await assign(tenant, a);
    await moves(tenant.driver, a, "pickup");
    await confine(tenant.driver);
    expect(await redirect(tenant.ops, parent.id, roads.far)).toSucceed(200);
    expect(await statusOf(a)).toBe("picked_up");
    await free(tenant.driver);
  });
});

test("of an order from a manifest is followed by its item; a change of destination replaces what was paid", async () => {
  const made = await newDestination();
  const { itemIds: [item], orders: [one] } = await ordered(made, 1);
  await sql`update delivery.delivery_services set price_per_km = 100 where id = ${made.service}`;
  const before = await balanceOf(made.wallet);
  const far = await newAddress(made.tenant, { latitude: 34.31 });
  const answer = await redirect(made.tenant.ops, one.id, far);
  expect(answer).toSucceed(200);
  const { difference } = answer.body.data.price;
  expect(difference).toBeGreaterThan(0);
  expect(await balanceOf(made.wallet)).toBe(before - difference);
  const [row] = await sql`select destination_branch_id as branch, destination_address_id as address
    from delivery.transfer_manifest_items where id = ${item}`;
  expect(row).toEqual({ branch: null, address: far });
  const back = await made.tenant.ops.post(changeDestination, {
    item_ids: [item],
    destination_branch_id: made.branch,
  });
  expect(back.body.data.changed_count).toBe(1);
  expect(
    await sql`select type, amount from money.payments where delivery_id = ${one.id} and status = 'SUCCESS'`,
  )
    .toEqual([{ type: "DELIVERY_FEE", amount: answer.body.data.price.before }]);
  expect(await balanceOf(made.wallet)).toBe(before);
  expect(await redirect(made.tenant.ops, one.id, far)).toSucceed(200);
  expect(await move(made.tenant.ops, one.id, "cancel", { reason: "no" })).toSucceed(200);
  expect(await balanceOf(made.wallet)).toBe(before + answer.body.data.price.before);
  await checkAll(made.tenant);
});

describe("a driver", () => {
  test("who may go there keeps it and is notified", async () => {
    const { id } = await deliveryIn(roads, "accepted");
    await confine(tenant.driver, roads.farZone);
    const answer = await redirect(tenant.ops, id, roads.far);
    expect(answer.body.data.driver_unassigned).toBe(false);
    expect(await statusOf(id)).toBe("accepted");
    expect((await notices(tenant.driver, "delivery_changed"))[0].payload.delivery_id).toBe(id);
    await free(tenant.driver);
  });

  test.each(["assigned", "accepted"])(
    "who may not is unassigned from what is %s",
    async (status) => {
      const { id } = await deliveryIn(roads, status);
      await confine(tenant.driver);
      const told = await redirect(tenant.customer, id, roads.far, { dry_run: true });
      expect(told.body.data.driver_unassigned).toBe(true);
      expect(await statusOf(id)).toBe(status);
      const answer = await redirect(tenant.customer, id, roads.far);
      expect(answer.body.data.driver_unassigned).toBe(true);
      expect(await statusOf(id)).toBe("pending");
      expect((await notices(tenant.driver, "assignment_returned"))[0].payload.delivery_id).toBe(id);
      await free(tenant.driver);
    },
  );

  test("who loses it sets the search for another one going", async () => {
    const searching = await newRoads();
    const { tenant: company } = searching;
    const { id } = await deliveryIn(searching, "accepted");
    await saveSettings(company.id, "general.delivery", {
      on_demand_auto_assignment: { enabled: true, priority_checks: {} },
    });
    for (const driver of [company.driver, company.driver2]) await confine(driver);
    expect(await redirect(company.ops, id, searching.far)).toSucceed(200);
    const { delivery } = (await company.ops.get(`${path}/${id}`)).body;
    expect(delivery.auto_assignment.status).not.toBe("off");
  });

  test.each(["picked_up", "in_transit", "failed"])(
    "who has it on the road keeps it where allowed (%s)",
    async (status) => {
      const { id } = await deliveryIn(roads, status);
      await confine(tenant.driver);
      const was = await shown(id);
      for (const dry_run of [true, false]) {
        const refused = await redirect(tenant.ops, id, roads.far, { dry_run });
        expect(refused).toFailWith(409, "redirect_needs_other_driver");
      }
      expect(await shown(id)).toEqual(was);
      await free(tenant.driver);
      expect(await redirect(tenant.ops, id, roads.far)).toSucceed(200);
      expect(await statusOf(id)).toBe(status);
    },
  );
});

describe("at one moment", () => {
  test("a redirect and a pickup: one after the other, and the fee is taken as it then is", async () => {
    for (const first of ["redirect", "pickup"] as const) {
      const { id } = await deliveryIn(roads, "accepted", { payer_type: "sender" });
      const calls = [
        () => redirect(tenant.customer, id, roads.far),
        () => move(tenant.driver, id, "pickup"),
      ];
      if (first === "pickup") calls.reverse();
      const answers = await queuedOn(id, calls);
      const [redirected, pickup] = first === "redirect" ? answers : answers.reverse();
      expect(pickup).toSucceed(200);
      if (first === "redirect") expect(redirected).toSucceed(200);
      else expect(redirected).toFailWith(409, "delivery_already_picked_up");
      const [row] =
        await sql`select delivery_fee_amount from money.cod_collections where delivery_id = ${id}`;
      expect(row.delivery_fee_amount).toBe(first === "redirect" ? fee.far : fee.near);
    }
  });

  test("a redirect that unassigns and a pickup: who is first wins", async () => {
    for (const first of ["redirect", "pickup"] as const) {
      const { id } = await deliveryIn(roads, "accepted");
      await confine(tenant.driver);
      const calls = [
        () => redirect(tenant.ops, id, roads.far),
        () => move(tenant.driver, id, "pickup"),
      ];
      if (first === "pickup") calls.reverse();
      const answers = await queuedOn(id, calls);
      const [redirected, pickup] = first === "redirect" ? answers : answers.reverse();
      if (first === "redirect") {
        expect(redirected).toSucceed(200);
        expect(pickup.status).toBe(403);
        expect(await statusOf(id)).toBe("pending");
      } else {
        expect(pickup).toSucceed(200);
        expect(redirected).toFailWith(409, "redirect_needs_other_driver");
      }
      await free(tenant.driver);
    }
  });

  test("ten redirects: the wallet bears the price that stands; one key is one redirect", async () => {
    await fundWallet(tenant, "customer", tenant.customer.id, 50_000);
    const { id } = await newDelivery(roads, { payer_type: "sender", payment_method: "wallet" });
    const answers = await Promise.all(
      Array.from(
        { length: 10 },
        (_, n) => redirect(tenant.ops, id, n % 2 ? roads.far : roads.near),
      ),
    );
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    const net = async () =>
      (await sql`select sum(amount) as net from money.payments
        where delivery_id = ${id} and status = 'SUCCESS'`)[0].net;
    expect(await net()).toBe((await shown(id)).delivery_fee);
    expect(await redirect(tenant.ops, id, roads.near)).toSucceed(200);
    await expectReplayed(
      tenant.ops,
      place(id),
      { dropoff_address_id: roads.far },
      { dropoff_address_id: roads.near },
    );
    expect(await net()).toBe(fee.far);
  });
});
