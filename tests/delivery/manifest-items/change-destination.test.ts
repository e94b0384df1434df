/** Orders of items that go to the wrong place are given another one, until they are picked up. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { path as deliveries } from "../../support/deliveries.ts";
import { newAddress, newBranch } from "../../support/make.ts";
import { newManifest } from "../../support/manifests.ts";
import { balanceOf, checkBooks, newService } from "../../support/money.ts";
import { adjust } from "../../support/wallets.ts";
import {
  type Change,
  changeDestination,
  newChange,
  newDestination,
  ordered,
  requestTo,
  setDestination,
} from "../../support/set-destination.ts";

let { made, tenant, other, change } = {} as Change;
let dear: string;

beforeAll(async () => {
  ({ made, tenant, other, change } = await newChange());
  dear = await newService(tenant, { default_price: 2500 });
});

const deliveryOf = async (id: string) =>
  (await sql`select * from delivery.deliveries where id = ${id}`)[0];
const feesOf = (id: string) =>
  sql`select status, amount from money.payments where delivery_id = ${id} and type = 'DELIVERY_FEE'
    order by created_at, status desc`;

describe("an order that goes elsewhere", () => {
  test("is named by set-destination, and the same destination is answered as before", async () => {
    const { itemIds, orders } = await ordered(made, 2);
    const [one, two] = itemIds;
    const elsewhere = requestTo({ ...made, branch: other });
    const answer = await tenant.dispatcher.post(setDestination, elsewhere(itemIds));
    expect(answer.body).toMatchObject({
      success: false,
      data: { created_count: 0, failed_count: 2 },
    });
    expect(answer.body.data.failed[1]).toMatchObject({
      item_id: two,
      code: "item_already_ordered",
      error_key: "item_already_ordered",
      current_status: "order_created",
      delivery: orders[1],
    });
    const [branch] =
      await sql`select name from delivery.institution_branches where id = ${made.branch}`;
    expect(answer.body.data.failed[1].error_message).toBe(
      `This item already has order ${orders[1].delivery_code} to ${branch.name} with Standard. ` +
        "Change its destination, or cancel the order first.",
    );
    const service = await tenant.dispatcher.post(
      setDestination,
      requestTo({ ...made, service: dear })([one]),
    );
    expect(service.body.data.failed[0].code).toBe("item_already_ordered");
    const same = await tenant.dispatcher.post(setDestination, requestTo(made)(itemIds));
    expect(same).toSucceed(200);
    expect(same.body.data.created.map((row: { delivery: unknown }) => row.delivery)).toEqual(
      orders,
    );
    // A new item beside one that goes elsewhere.
    const fresh = await newManifest(tenant, { items: 1 });
    const mixed = await tenant.dispatcher.post(setDestination, elsewhere([one, ...fresh.itemIds]));
    expect(mixed.body).toMatchObject({
      success: true,
      data: { created_count: 1, failed_count: 1 },
    });
  });
});

describe("change-destination", () => {
  test("writes place, recipient, service and price, and books what it costs more or less", async () => {
    const { itemIds, orders, manifest } = await ordered(made, 2);
    const [first, second] = orders;
    const before = await balanceOf(made.wallet);
    const answer = await change([itemIds[1], itemIds[0]], { delivery_service_id: dear });
    expect(answer).toSucceed(200);
    expect(answer.body.data).toEqual({
      changed_count: 2,
      failed_count: 0,
      failed: [],
      changed: [
        { item_id: itemIds[1], delivery: second, price_difference: 1500 },
        { item_id: itemIds[0], delivery: first, price_difference: 1500 },
      ],
    });
    expect(await balanceOf(made.wallet)).toBe(before - 3000);
    const row = await deliveryOf(first.id);
    const [branch] =
      await sql`select name, address_id from delivery.institution_branches where id = ${other}`;
    expect(row).toMatchObject({
      dropoff_address_id: branch.address_id,
      delivery_service_id: dear,
      delivery_fee: 2500,
      recipient: { name: branch.name },
      dropoff_snapshot: { id: branch.address_id },
      service_snapshot: { id: dear },
      label_outdated: true,
    });
    expect(await feesOf(first.id)).toEqual([
      { status: "CANCELLED", amount: 1000 },
      { status: "SUCCESS", amount: 2500 },
    ]);
    const [event] = await sql`select payload from delivery.transfer_manifest_events
      where manifest_id = ${manifest} and event_type = 'destination_changed' and manifest_item_id = ${
      itemIds[0]
    }`;
    expect(event.payload).toMatchObject({
      delivery_id: first.id,
      price_difference: 1500,
      actor_id: tenant.dispatcher.id,
    });
    // Back again, with a cheaper service.
    const back = await change(itemIds, {
      destination_branch_id: made.branch,
      delivery_service_id: made.service,
    });
    expect(back.body.data.changed.map((c: { price_difference: number }) => c.price_difference))
      .toEqual([-1500, -1500]);
    expect(await balanceOf(made.wallet)).toBe(before);
    // A cancelled order gives back what was paid last.
    expect(await change([itemIds[0]], { delivery_service_id: dear })).toSucceed(200);
    expect(await tenant.dispatcher.post(`${deliveries}/${first.id}/cancel`, { reason: "no" }))
      .toSucceed(200);
    expect(await balanceOf(made.wallet)).toBe(before + 1000);
    expect(await checkBooks(tenant)).toEqual([]);
  });

  test("keeps each order's service when none is sent, and answers nothing to do with 0", async () => {
    const { itemIds, orders } = await ordered({ ...made, service: dear }, 1);
    const address = await newAddress(tenant);
    const to = { destination_branch_id: undefined, destination_address_id: address };
    for (let time = 0; time < 2; time++) {
      const answer = await change(itemIds, to);
      expect(answer.body.data.changed).toEqual([{
        item_id: itemIds[0],
        delivery: orders[0],
        price_difference: 0,
      }]);
    }
    expect(await deliveryOf(orders[0].id)).toMatchObject({
      dropoff_address_id: address,
      delivery_service_id: dear,
    });
    const [item] = await sql`select * from delivery.transfer_manifest_items where id = ${
      itemIds[0]
    }`;
    expect(item).toMatchObject({ destination_branch_id: null, destination_address_id: address });
    expect(await feesOf(orders[0].id)).toHaveLength(1);
    const [{ n }] = await sql`select count(*)::int as n from delivery.transfer_manifest_events
      where manifest_item_id = ${itemIds[0]} and event_type = 'destination_changed'`;
    expect(n).toBe(1);
  });

  test("a dry run says the same and writes nothing, under a key too", async () => {
    const { itemIds, orders } = await ordered(made, 2);
    const before = [await balanceOf(made.wallet), await deliveryOf(orders[0].id)];
    const key = randomUUID();
    const body = { delivery_service_id: dear, dry_run: true };
    const dry = await change([...itemIds, randomUUID()], body, key);
    expect(dry.body.data).toMatchObject({ changed_count: 2, failed_count: 1 });
    expect([await balanceOf(made.wallet), await deliveryOf(orders[0].id)]).toEqual(before);
    const real = await change(itemIds, { delivery_service_id: dear }, key);
    expect(real.headers.get("idempotency-replayed")).toBeNull();
    expect(real.body.data.changed).toEqual(dry.body.data.changed);
  });

  test("a replay answers again, changes once, and another input is refused", async () => {
    const { itemIds } = await ordered(made, 1);
    const key = randomUUID();
    const before = await balanceOf(made.wallet);
    const first = await change(itemIds, { delivery_service_id: dear }, key);
    const again = await change(itemIds, { delivery_service_id: dear }, key);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(again.body).toEqual(first.body);
    expect(await balanceOf(made.wallet)).toBe(before - 1500);
    expect(await change(itemIds, { delivery_service_id: made.service }, key)).toFailWith(
      409,
      "idempotency_conflict",
    );
  });

  test("more than a part holds goes in parts, in the order sent, once under a key", async () => {
    const { itemIds } = await ordered(made, 45);
    const sent = [...itemIds].reverse();
    const before = await balanceOf(made.wallet);
    const key = randomUUID();
    const answer = await change([...sent, randomUUID()], { delivery_service_id: dear }, key);
    expect(answer.body.data).toMatchObject({ changed_count: 45, failed_count: 1 });
    expect(answer.body.data.changed.map((c: { item_id: string }) => c.item_id)).toEqual(sent);
    expect(answer.body.data.failed[0].error_key).toBe("item_not_found");
    expect(await balanceOf(made.wallet)).toBe(before - 45 * 1500);
    const again = await change([...sent, answer.body.data.failed[0].item_id], {
      delivery_service_id: dear,
    }, key);
    expect(again.body).toEqual(answer.body);
    expect(await checkBooks(tenant)).toEqual([]);
  });

  test("a wallet that is short fails its item only, and credits of the part pay for nothing", async () => {
    const poor = await newDestination(4_000);
    const branch = await newBranch(poor.tenant);
    const services = [
      await newService(poor.tenant, { default_price: 1800 }),
      await newService(poor.tenant, { default_price: 500 }),
    ];
    const { itemIds } = await ordered(poor, 3);
    const ask = (item_ids: string[], delivery_service_id: string) =>
      poor.tenant.dispatcher.post(changeDestination, {
        item_ids,
        destination_branch_id: branch,
        delivery_service_id,
      });
    const answer = await ask(itemIds, services[0]);
    expect(answer.body).toMatchObject({
      success: true,
      data: { changed_count: 1, failed_count: 2 },
    });
    expect(answer.body.data.failed[0]).toMatchObject({
      item_id: itemIds[1],
      error_key: "insufficient_wallet_balance",
    });
    expect(answer.body.data.failed[0].error_message).toBe(
      "The wallet holds 200 IQD, and 800 IQD are needed.",
    );
    expect(await balanceOf(poor.wallet)).toBe(200);
    // One becomes cheaper and two dearer: 200 are there before, whatever comes back.
    const mixed = await newService(poor.tenant, { default_price: 1200 });
    const later = await ask(itemIds, mixed);
    expect(later.body.data).toMatchObject({
      changed: [{ price_difference: -600 }, { price_difference: 200 }],
      failed: [{ item_id: itemIds[2], error_key: "insufficient_wallet_balance" }],
    });
    expect(await balanceOf(poor.wallet)).toBe(600);
    // And a company that has spent the money gives nothing back.
    const [till] = await sql`select id, balance from money.accounts
      where tenant_id = ${poor.tenant.id} and kind = 'wallet' and owner_type = 'tenant'`;
    expect(await adjust(poor.tenant.admin, till.id, Number(till.balance), "debit")).toSucceed();
    const spent = await ask([itemIds[0]], services[1]);
    expect(spent.body).toMatchObject({
      success: false,
      data: { failed: [{ error_key: "insufficient_wallet_balance" }] },
    });
    expect(await checkBooks(poor.tenant)).toEqual([]);
  });
});
