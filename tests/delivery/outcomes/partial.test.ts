/** Parcels of which their receivers keep a part: the cash and the books. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import {
  bookOf,
  checkAll,
  deliveryIn,
  type Ground,
  move,
  newGround,
  path,
  stagedInWarehouse,
  statusOf,
  takenOver,
} from "../../support/deliveries.ts";
import { contents, itemsOf, kept, partial, priced, unpriced } from "../../support/kept-parts.ts";
import { eventsOf, onItsWay, report } from "../../support/outcomes.ts";
import { queuedOn } from "../../support/overlapping.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectRefused, expectReplayed } from "../../support/promises.ts";
import { soldInStore } from "../../support/sold.ts";

let tenant: Tenant;
let ground: Ground;
beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});
afterAll(() => checkAll(tenant));

const walletOf = () => bookOf(tenant, "wallet", tenant.customer.id);

describe("a part is kept", () => {
  test.each(["picked_up", "in_transit"])(
    "from %s: its price and the fee are taken, the rest is in the driver's hands",
    async (from) => {
      const id = await onItsWay(ground, from, priced);
      const [held, owner] = [
        await bookOf(tenant, "driver_cash", tenant.driver.id),
        await walletOf(),
      ];
      const split = { cod: 12_000, delivery_fee: 2000 };
      const body = await partial(tenant, id, { Shirt: 1, Cap: 1 }, {
        cash_collected: split,
        recipient_name: "Sara",
        note: "One was too small",
      });
      const answer = await report(tenant.driver, id, body);
      expect(answer).toSucceed(200);
      const due = { ...split, currency: "IQD" };
      expect(answer.body.data).toMatchObject({
        delivery: {
          id,
          status: "delivered",
          delivered_in_part: true,
          cod_amount: 12_000,
          ordered_cod_amount: 20_000,
          recipient: { received_by: "Sara" },
          assignment: { status: "completed" },
        },
        returns: [{
          original_delivery_id: id,
          delivery_flow: "operational_return",
          status: "picked_up",
          price: 0,
          cod_amount: 0,
          delivered_in_part: false,
          assignment: { status: "accepted", driver_id: tenant.driver.id },
        }],
        cash: { due, collected: due },
      });
      const [back] = answer.body.data.returns;
      expect(contents(await itemsOf(tenant, back.id))).toEqual({ Shirt: 1 });
      expect(await bookOf(tenant, "driver_cash", tenant.driver.id)).toBe(held + 14_000);
      expect(await walletOf()).toBe(owner + 12_000);
      const [row] = await sql`select amount, cod_amount from money.cod_collections
        where delivery_id = ${id}`;
      expect({ ...row }).toEqual({ amount: 14_000, cod_amount: 12_000 });
      expect(await eventsOf(id)).toEqual([expect.objectContaining({ result: "partial" })]);
      const { data: [change] } = (await tenant.ops.get(`${path}/${id}/amount-changes`)).body;
      expect(change).toMatchObject({
        old_cod_amount: 20_000,
        new_cod_amount: 12_000,
        kept_items: body.items,
        status: "approved",
      });
      await checkAll(tenant);
    },
  );

  test("other cash than what is due for it, items that are none or a missing proof change nothing", async () => {
    const id = await onItsWay(ground, "in_transit", priced);
    const all = await itemsOf(tenant, id);
    const body = await partial(tenant, id, { Shirt: 1 });
    const foreign = await itemsOf(tenant, await onItsWay(ground, "in_transit", priced));
    const call = { method: "POST", path: `${path}/${id}/outcome` } as const;
    const items = (list: unknown) => ({ result: "partial", items: list });
    const one = { delivery_item_id: all[0].id, quantity: 1 };
    await expectRefused(tenant.driver, call, [
      [{ result: "partial" }, "items"],
      [items([]), "items", "partial_items_invalid"],
      [items([{ ...one, quantity: 0 }]), "items.0.quantity"],
      [items([{ ...one, delivery_item_id: "x" }]), "items.0.delivery_item_id", "invalid_uuid"],
      [items([{ ...one, quantity: 3 }]), "items", "partial_items_invalid"],
      [items([one, one]), "items", "partial_items_invalid"],
      [items([{ ...one, delivery_item_id: foreign[0].id }]), "items", "partial_items_invalid"],
      [
        items(all.map(({ id, quantity }) => ({ delivery_item_id: id, quantity }))),
        "items",
        "partial_items_invalid",
      ],
      [
        { ...body, cash_collected: { cod: 20_000, delivery_fee: 2000 } },
        "cash_collected",
        "cash_amount_mismatch",
      ],
      [{ result: "delivered", items: [one] }, "items"],
      [{ ...body, reason_code: "refused" }, "reason_code"],
    ]);
    expect(await statusOf(id)).toBe("in_transit");
    const [{ returns }] = await sql`select count(*)::int as returns from delivery.deliveries
      where original_delivery_id = ${id}`;
    expect(returns).toBe(0);
  });

  test("without prices, or when the amount was changed since, it needs an agreement", async () => {
    const id = await onItsWay(ground, "in_transit", unpriced);
    expect(await report(tenant.driver, id, await partial(tenant, id, { Cap: 1 })))
      .toFailWith(400, "item_prices_required");
    const changed = await onItsWay(ground, "in_transit", priced);
    const lower = { cod_amount: 18_000, reason: "Discount" };
    expect(await move(tenant.ops, changed, "amount-changes", lower)).toSucceed(201);
    expect(await report(tenant.driver, changed, await partial(tenant, changed, { Cap: 1 })))
      .toFailWith(400, "item_prices_required");
    expect([await statusOf(id), await statusOf(changed)]).toEqual(["in_transit", "in_transit"]);
  });

  test("an amount that was agreed for these items is exactly what is due for them", async () => {
    const id = await onItsWay(ground, "in_transit", unpriced);
    const kept_items = await kept(tenant, id, { Cap: 1, Shirt: 1 });
    const agreed = await move(tenant.ops, id, "amount-changes", {
      cod_amount: 11_000,
      reason: "She keeps two",
      kept_items,
    });
    expect(agreed).toSucceed(201);
    expect(await report(tenant.driver, id, await partial(tenant, id, { Cap: 1 })))
      .toFailWith(400, "item_prices_required");
    const answer = await report(tenant.driver, id, {
      result: "partial",
      items: kept_items.toReversed(),
    });
    expect(answer).toSucceed(200);
    expect(answer.body.data.cash.collected).toMatchObject({ cod: 11_000, delivery_fee: 2000 });
    expect(answer.body.data.delivery).toMatchObject({
      cod_amount: 11_000,
      ordered_cod_amount: 20_000,
    });
  });

  test("where nothing is collected no prices are needed", async () => {
    const id = await onItsWay(ground, "in_transit", { ...unpriced, cod_amount: 0 });
    const answer = await report(tenant.driver, id, await partial(tenant, id, { Shirt: 2 }));
    expect(answer).toSucceed(200);
    expect(answer.body.data.cash.due).toMatchObject({ cod: 0, delivery_fee: 2000 });
    expect(contents(await itemsOf(tenant, answer.body.data.returns[0].id))).toEqual({ Cap: 1 });
  });

  test("a store's order is delivered whole", async () => {
    const id = await onItsWay(ground, "in_transit", priced);
    const body = await partial(tenant, id, { Cap: 1 });
    const undo = await soldInStore(tenant, id);
    expect(await report(tenant.driver, id, body)).toFailWith(409, "order_amount_fixed");
    await undo();
  });

  test("its leg takes the cash of a staged parcel, and the rest goes back to where it was ordered", async () => {
    const { parent, b } = await stagedInWarehouse(ground, priced);
    await takenOver(ground, b);
    const { items } = (await tenant.driver.get(`${path}/${b}`)).body.delivery;
    expect(items.map(({ unit_price }: Body) => unit_price)).toEqual([8000, 4000]);
    const answer = await report(tenant.driver, b, await partial(tenant, parent.id, { Shirt: 2 }));
    expect(answer).toSucceed(200);
    expect(answer.body.data).toMatchObject({
      delivery: { id: b, delivered_in_part: true, cod_amount: 16_000 },
      returns: [{ original_delivery_id: parent.id, dropoff_address_id: ground.from }],
      cash: { collected: { cod: 16_000, delivery_fee: 2000 } },
    });
    const { delivery } = (await tenant.ops.get(`${path}/${parent.id}`)).body;
    expect(delivery).toMatchObject({
      status: "delivered",
      delivered_in_part: true,
      cod_amount: 16_000,
    });
    await checkAll(tenant);
  });

  test("what another company carries, a leg into a warehouse and a return are handed over whole", async () => {
    const id = await onItsWay(ground, "in_transit", priced);
    const answer = await report(tenant.driver, id, await partial(tenant, id, { Cap: 1 }));
    const [back] = answer.body.data.returns;
    const again = { result: "partial", items: [{ delivery_item_id: id, quantity: 1 }] };
    expect(await report(tenant.driver, back.id, again)).toFailWith(409, "outcome_not_at_door");
  });

  test("a parcel that is brought by nobody of the company needs a driver", async () => {
    const { id } = await deliveryIn(ground, "picked_up", priced);
    const body = await partial(tenant, id, { Cap: 1 });
    await sql`update delivery.assignments set status = 'returned' where delivery_id = ${id}`;
    expect(await report(tenant.ops, id, body)).toFailWith(409, "delivery_has_no_driver");
  });
});

describe("a partial delivery that is reported twice", () => {
  test("the same report again is one delivery and one return", async () => {
    const id = await onItsWay(ground, "in_transit", priced);
    const body = await partial(tenant, id, { Cap: 1 });
    await expectReplayed(tenant.driver, `${path}/${id}/outcome`, body, { ...body, note: "x" });
    const [{ rows, returns }] = await sql`select
      (select count(*)::int from money.cod_collections where delivery_id = ${id}) as rows,
      (select count(*)::int from delivery.deliveries where original_delivery_id = ${id}) as returns`;
    expect([rows, returns]).toEqual([1, 1]);
  });

  test("two devices with different outcomes: the first holds, whichever it is", async () => {
    for (const first of [0, 1]) {
      const id = await onItsWay(ground, "in_transit", priced);
      const held = await bookOf(tenant, "driver_cash", tenant.driver.id);
      const bodies = [await partial(tenant, id, { Shirt: 1 }), { result: "delivered" }];
      const answers = await queuedOn(
        id,
        [bodies[first], bodies[1 - first]].map((body) => () => report(tenant.driver, id, body)),
      );
      expect(answers[0]).toSucceed(200);
      expect(answers[1]).toFailWith(409, "delivery_status_changed");
      expect(await bookOf(tenant, "driver_cash", tenant.driver.id))
        .toBe(held + (first === 0 ? 10_000 : 22_000));
    }
  });
});
