/** Held COD row by row: in the list of cash, and among the movements of the owner's wallet. */
import { describe, expect, test } from "vitest";
import type { Body, Person } from "../../support/api.ts";
import { newCash } from "../../support/cod.ts";
import {
  daysLater,
  delivered,
  handIn,
  leaves,
  newBanker,
  newHolder,
  setPayouts,
  standing,
} from "../../support/cod-holds.ts";
import { reverseSettlement } from "../../support/merchant-statements.ts";
import { newTenant } from "../../support/people.ts";

const path = "/delivery/cod-collections";

/** Whether each of these rows is held, and whether it says since when it is released, as this person reads the list. */
async function shownTo(by: Person, ...rows: string[]): Promise<[boolean | null, boolean][]> {
  const { body } = await by.get(path, { query: { limit: "100" } });
  return rows.map((id) => {
    const row = body.cod.collections.find((one: Body) => one.id === id);
    return [row.held, row.released_at !== null];
  });
}

/** The movements of COD on a wallet, the newest first. */
async function creditsOf(person: Person): Promise<Body[]> {
  const { wallet } = (await person.get("/delivery/wallets/me")).body;
  const { body } = await person.get(`/delivery/wallets/${wallet.id}/transactions`);
  return body.data.filter(({ kind }: Body) => kind === "cod_credit");
}

describe("a row says whether its COD is held", () => {
  test("until it is remitted, and again when that is reversed, as the wallet's movement does", async () => {
    const ground = await newHolder();
    const { tenant } = ground;
    const [first, second] = await delivered(ground, [3_000, 4_000]);
    expect(await shownTo(tenant.dispatcher, first, second)).toEqual([[true, false], [true, false]]);
    await handIn(ground, [first]);
    expect(await shownTo(tenant.dispatcher, first, second)).toEqual([[false, true], [true, false]]);
    for (const by of [tenant.customer, tenant.ops]) {
      const { wallet } = (await tenant.customer.get("/delivery/wallets/me")).body;
      const { body } = await by.get(`/delivery/wallets/${wallet.id}/transactions`);
      const credits = body.data.filter(({ kind }: Body) => kind === "cod_credit");
      expect(credits.map(({ amount, held }: Body) => [amount, held])).toEqual([
        [4_000, true],
        [3_000, false],
      ]);
      expect(credits[0].released_at).toBeNull();
      const { collections } = (await tenant.dispatcher.get(path)).body.cod;
      const row = collections.find(({ id }: Body) => id === first);
      expect(credits[1].released_at).toBe(row.released_at);
      expect(new Date(row.released_at)).toEqual(new Date(row.remitted_at));
    }
    const held = (await creditsOf(tenant.customer)).filter((one) => one.held)
      .reduce((sum, { amount }) => sum + amount, 0);
    expect(held).toBe((await standing(tenant.customer))[1]);
    expect(await reverseSettlement(tenant, first)).toSucceed(200);
    expect(await shownTo(tenant.dispatcher, first, second)).toEqual([[true, false], [true, false]]);
    expect((await creditsOf(tenant.customer)).map((one) => one.held)).toEqual([true, true]);
  });

  test("until its cash has left the desks, or its day has come", async () => {
    const ground = await newBanker();
    const { tenant } = ground;
    const [banked] = await delivered(ground, [3_000]);
    await handIn(ground, [banked]);
    expect(await shownTo(tenant.dispatcher, banked)).toEqual([[true, false]]);
    await leaves(tenant.dispatcher, 5_000);
    expect(await shownTo(tenant.dispatcher, banked)).toEqual([[false, true]]);
    await setPayouts(tenant, { release: "on_delivery", hold_days: 3 });
    const [waiting] = await delivered(ground, [2_000]);
    expect(await shownTo(tenant.dispatcher, waiting)).toEqual([[true, false]]);
    await daysLater(tenant, 4);
    expect(await shownTo(tenant.dispatcher, waiting)).toEqual([[false, true]]);
  });

  test("never where nothing holds it; a driver sees no wallet of others", async () => {
    const ground = await newHolder({ release: "on_delivery" });
    const { tenant } = ground;
    const [row] = await delivered(ground, [3_000]);
    const { collections } = (await tenant.dispatcher.get(path)).body.cod;
    expect(collections[0]).toMatchObject({ held: false, released_at: collections[0].collected_at });
    expect(await shownTo(tenant.driver, row)).toEqual([[null, false]]);
    const fee = (await newCash(tenant, { cod: 0, fee: 500 })).id;
    expect(await shownTo(tenant.dispatcher, fee)).toEqual([[false, false]]);
    const { wallet } = (await tenant.customer.get("/delivery/wallets/me")).body;
    const { data } =
      (await tenant.customer.get(`/delivery/wallets/${wallet.id}/transactions`)).body;
    for (const move of data.filter(({ kind }: Body) => kind !== "cod_credit")) {
      expect(move).toMatchObject({ held: false, released_at: null });
    }
  });
});

test("cash is found by its owner, in the words of wallets", async () => {
  const ground = await newHolder();
  const { tenant } = ground;
  const [customers] = await delivered(ground, [3_000]);
  const [institutions] = await delivered(ground, [4_000], {
    customer_id: undefined,
    institution_user_id: tenant.institution.id,
  });
  const found = async (query: Record<string, string>, by = tenant.dispatcher) => {
    const answer = await by.get(path, { query });
    expect(answer).toSucceed(200);
    return answer.body.cod.collections.map(({ id }: Body) => id).sort();
  };
  const both = [customers, institutions].sort();
  expect(await found({})).toEqual(both);
  expect(await found({ owner_id: tenant.customer.id })).toEqual([customers]);
  expect(await found({ owner_id: tenant.institution.id })).toEqual([institutions]);
  expect(await found({ owner_type: "customer" })).toEqual([customers]);
  expect(await found({ owner_type: "institution", status: "collected" })).toEqual([institutions]);
  expect(await found({ owner_type: "tenant" })).toEqual([]);
  expect(await found({ owner_type: "customer", owner_id: tenant.institution.id })).toEqual([]);
  expect(await found({ owner_id: tenant.customer.id }, tenant.driver)).toEqual([customers]);
  const summed = await tenant.dispatcher.get(path, { query: { owner_id: tenant.institution.id } });
  expect(summed.body.cod).toMatchObject({
    pagination: { total: 1 },
    summary: { total_cod_collections: 1, total_collected: summed.body.cod.collections[0].amount },
  });
  const other = await newTenant();
  expect(await found({ owner_id: tenant.customer.id }, other.admin)).toEqual([]);
  for (const query of [{ owner_type: "driver" }, { owner_id: "x" }]) {
    expect((await tenant.dispatcher.get(path, { query })).status).toBe(400);
  }
});
