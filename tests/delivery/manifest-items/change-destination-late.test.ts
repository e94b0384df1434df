/** A driver without a network handed an order over before its destination was changed on the manifest. */
import { beforeAll, expect, test } from "vitest";
import { assign, move, moves, newGround, path, statusOf } from "../../support/deliveries.ts";
import { sql } from "../../support/db.ts";
import { balanceOf, newService } from "../../support/money.ts";
import { eventsOf, sound, undo } from "../../support/outcomes.ts";
import { redirect, redirectNotices } from "../../support/redirects.ts";
import { newAddress } from "../../support/make.ts";
import { type Change, newChange, ordered } from "../../support/set-destination.ts";

let { made, tenant, other, change } = {} as Change;
let dear: string;
beforeAll(async () => {
  ({ made, tenant, other, change } = await newChange());
  await newGround(tenant);
  dear = await newService(tenant, { default_price: 2500 });
});

const now = () => new Date().toISOString();
const termsOf = async (id: string) =>
  (await sql`select d.dropoff_address_id, d.delivery_service_id, d.delivery_fee, d.service_snapshot ->> 'id' as snapshot,
      i.destination_branch_id, i.destination_address_id, (select sum(p.amount) from money.payments p
        where p.delivery_id = d.id and p.status = 'SUCCESS') as paid
    from delivery.deliveries d join delivery.transfer_manifest_items i on i.id = d.manifest_item_id
    where d.id = ${id}`)[0];

/** An order that its driver has accepted, its terms, and what the institution's wallet holds. */
async function accepted() {
  const { itemIds: [item], orders: [{ id }] } = await ordered(made, 1);
  await assign(tenant, id);
  return { item, id, terms: await termsOf(id), wallet: await balanceOf(made.wallet) };
}

/** Picked up and handed over at this moment, as the app says when it has a network again. */
async function handedOver(id: string, occurred_at: string) {
  await moves(tenant.driver, id, ["pickup", { occurred_at }], ["depart", { occurred_at }]);
  expect(await move(tenant.driver, id, "complete", { occurred_at })).toSucceed(200);
}

test("it went where it was to go then, with the service and price of then, until an undo", async () => {
  const { item, id, terms, wallet } = await accepted();
  const occurred_at = now();
  const changed = await change([item], { delivery_service_id: dear });
  expect(changed.body.data.changed[0].price_difference).toBe(1500);
  const newer = await termsOf(id);
  expect(newer).toMatchObject({
    delivery_service_id: dear,
    destination_branch_id: other,
    paid: 2500,
  });
  await handedOver(id, occurred_at);
  expect(await termsOf(id)).toEqual(terms);
  expect(await balanceOf(made.wallet)).toBe(wallet);
  expect(await redirectNotices(tenant.dispatcher, id)).toEqual([["redirect_late", 1000]]);
  const events = await eventsOf(id, "delivery.redirected");
  const history = await sql`select payload from delivery.transfer_manifest_events
    where manifest_item_id = ${item} and event_type = 'destination_changed'`;
  for (const rows of [events, history.map((row) => row.payload)]) {
    expect(rows.map((row) => row.price_difference).sort()).toEqual([-1500, 1500]);
  }
  await sound(tenant);

  expect(await undo(tenant.driver, id)).toSucceed(200);
  expect(await statusOf(id)).toBe("in_transit");
  expect(await termsOf(id)).toEqual(newer);
  expect(await balanceOf(made.wallet)).toBe(wallet - 1500);
  await sound(tenant);
});

test("a redirect and a change are both put back", async () => {
  const { item, id, terms, wallet } = await accepted();
  const occurred_at = now();
  expect(await redirect(tenant.ops, id, await newAddress(tenant))).toSucceed(200);
  expect((await change([item], { delivery_service_id: dear })).body.data.changed_count).toBe(1);
  await handedOver(id, occurred_at);
  expect(await termsOf(id)).toEqual(terms);
  expect(await balanceOf(made.wallet)).toBe(wallet);
  await sound(tenant);
});

test("a change of before the report holds, and one that changed nothing puts nothing back", async () => {
  const { item, id } = await accepted();
  expect((await change([item], { delivery_service_id: dear })).body.data.changed_count).toBe(1);
  const newer = await termsOf(id);
  const occurred_at = now();
  expect((await change([item])).body.data.changed_count).toBe(1);
  await handedOver(id, occurred_at);
  expect(await termsOf(id)).toEqual(newer);
  expect(await redirectNotices(tenant.dispatcher, id)).toEqual([]);
  expect((await tenant.ops.get(`${path}/${id}`)).body.delivery.delivery_fee).toBe(2500);
});
