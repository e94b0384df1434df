/** Goods given in exchange come back free of charge, wherever they are sent. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { change } from "../../support/amount-changes.ts";
import type { Body } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { checkAll, moves, path } from "../../support/deliveries.ts";
import { balanceOf, fundWallet } from "../../support/money.ts";
import { broughtIn, onItsWay, report } from "../../support/outcomes.ts";
import type { Tenant } from "../../support/people.ts";
import { newRoads, redirect, type Roads } from "../../support/redirects.ts";

let roads: Roads;
let tenant: Tenant;
let wallet: string;

beforeAll(async () => {
  roads = await newRoads();
  tenant = roads.tenant;
});
beforeEach(async () => {
  wallet = await fundWallet(tenant, "customer", tenant.customer.id, 50_000);
});
afterAll(() => checkAll(tenant));

/** The return of an exchange, in its driver's hands. */
async function givenInExchange(): Promise<string> {
  const answer = await report(tenant.driver, await onItsWay(roads), {
    result: "exchanged",
    taken_back: [{ name: "Old phone", quantity: 1 }],
  });
  expect(answer).toSucceed(200);
  return answer.body.data.returns[0].id;
}
const shown = async (id: string): Promise<Body> =>
  (await tenant.ops.get(`${path}/${id}`)).body.delivery;
const free = { before: 0, after: 0, difference: 0, currency: "IQD", charged: "none" };

describe("a return that was made at the door", () => {
  test("is redirected free of charge, though its service allows no returns and does not go there", async () => {
    const id = await givenInExchange();
    const before = await balanceOf(wallet);
    await sql`update delivery.delivery_services set zone_access_mode = 'select_zones',
      zone_selector_type = 'zone', unit_min = 3 where id = ${roads.service}`;
    for (const more of [{ dry_run: true }, {}, { charge: "wallet" }]) {
      const answer = await redirect(tenant.ops, id, roads.far, more);
      expect(answer).toSucceed(200);
      expect(answer.body.data.price).toEqual(free);
    }
    await sql`update delivery.delivery_services set zone_access_mode = 'all_zones', unit_min = 1
      where id = ${roads.service}`;
    expect(await shown(id)).toMatchObject({
      dropoff_address_id: roads.far,
      delivery_fee: 0,
      cash_due: { pickup: { delivery_fee: 0 }, delivery: { cod: 0, delivery_fee: 0 } },
    });
    expect(await balanceOf(wallet)).toBe(before);
    const { cash } = await moves(tenant.driver, id, "depart", "complete");
    expect(cash.collected).toMatchObject({ cod: 0, delivery_fee: 0 });
    expect(await balanceOf(wallet)).toBe(before);
  });

  test("stays free where it waits in a warehouse and its service allows returns", async () => {
    await sql`update delivery.delivery_services set allow_returns = true where id = ${roads.service}`;
    const id = await givenInExchange();
    await broughtIn(roads, id);
    const answer = await redirect(tenant.ops, id, roads.far);
    expect(answer.body.data.price).toEqual(free);
    expect(await shown(id)).toMatchObject({ status: "pending", delivery_fee: 0 });
    await sql`update delivery.delivery_services set allow_returns = false where id = ${roads.service}`;
  });

  test("collects nothing: its amount is fixed, as that of an operational return", async () => {
    const id = await givenInExchange();
    for (const by of [tenant.ops, tenant.customer, tenant.driver]) {
      const refused = await change(by, id, 1000);
      expect(refused).toFailWith(409, "operational_return_fixed");
      expect(refused.body.message).toContain("free of charge");
    }
    expect((await shown(id)).cod_amount).toBe(0);
  });
});
