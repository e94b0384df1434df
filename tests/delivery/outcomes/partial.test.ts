/** Parcels of which their receivers keep a part: the cash, the books and what goes back. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import {
  bookOf,
  checkAll,
  deliveryIn,
  type Ground,
  handedTo,
  move,
  moves,
  newGround,
  path,
  stagedInWarehouse,
  statusOf,
} from "../../support/deliveries.ts";
import { eventsOf, onItsWay, photoOf, report } from "../../support/outcomes.ts";
import { queuedOn } from "../../support/overlapping.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectRefused, expectReplayed } from "../../support/promises.ts";
import { soldInStore } from "../../support/sold.ts";

let tenant: Tenant;
let ground: Ground;
let other: Tenant;
beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
  other = await newTenant();
});
afterAll(() => checkAll(tenant));

/** Two shirts at 8,000 and a cap at 4,000: 20,000. */
const items = [
  { name: "Shirt", quantity: 2, unit_price: 8000 },
  { name: "Cap", quantity: 1, unit_price: 4000 },
];
const priced = { cod_amount: 20_000, package: { items } };
const unpriced = {
  cod_amount: 20_000,
  package: { items: items.map(({ name, quantity }) => ({ name, quantity })) },
};
const itemsOf = async (id: string): Promise<Body[]> =>
  (await tenant.ops.get(`${path}/${id}`)).body.delivery.items;

/** Kept quantities by name, as a report names them. */
async function kept(id: string, quantities: Record<string, number>) {
  const all = await itemsOf(id);
  return Object.entries(quantities).map(([name, quantity]) => ({
    delivery_item_id: all.find((item) => item.name === name)!.id,
    quantity,
  }));
}
const partial = async (id: string, quantities: Record<string, number>, more = {}) => ({
  result: "partial",
  items: await kept(id, quantities),
  ...more,
});
const contents = (rows: Body[]) =>
  Object.fromEntries(rows.map(({ name, quantity }) => [name, quantity]));
const walletOf = () => bookOf(tenant, "wallet", tenant.customer.id);

describe("ordering with prices", () => {
  const ordered = (more: object) =>
    tenant.ops.post(path, {
      customer_id: tenant.customer.id,
      delivery_service_id: ground.service,
      pickup_address_id: ground.from,
      dropoff_address_id: ground.to,
      payer_type: "receiver",
      payment_method: "cash",
      unit_size: 2,
      ...priced,
      ...more,
    });

  test("shows them beside the items, and as null where there are none", async () => {
    const answer = await ordered({});
    expect(answer).toSucceed(201);
    expect((await itemsOf(answer.body.id)).map(({ name, unit_price }) => [name, unit_price]))
      .toEqual([["Shirt", 8000], ["Cap", 4000]]);
    const bare = await ordered(unpriced);
    expect((await itemsOf(bare.body.id)).map(({ unit_price }) => unit_price)).toEqual([null, null]);
  });

  test("they stand on all items and add up to the COD", async () => {
    for (
      const wrong of [
        { cod_amount: 19_000 },
        { package: { items: [items[0], { name: "Cap" }] } },
        { cod_amount: 0 },
      ]
    ) {
      const answer = await ordered(wrong);
      expect(answer).toFailWith(400, "item_prices_not_cod");
      expect(answer.body).toMatchObject({ field: "package" });
    }
    const legacy = await ordered({ package: undefined, package_details: { items: [items[0]] } });
    expect(legacy).toFailWith(400, "item_prices_not_cod");
    expect(legacy.body).toMatchObject({
      field: "package_details",
      cod_amount: 20_000,
      items_total: 16_000,
    });
    for (const unit_price of [-1, "much", 0.5, 1e15]) {
      const answer = await ordered({ package: { items: [{ name: "Cap", unit_price }] } });
      expect(answer, String(unit_price)).toFailWith(400, "invalid_package");
      expect(answer.body).toMatchObject({ field: "package", item: 1, name: "unit_price" });
    }
  });

  test("a draft is checked as it changes", async () => {
    const { body: { id } } = await ordered({ status: "draft" });
    const change = (body: object) => tenant.ops.patch(`${path}/${id}`, body);
    expect(await change({ cod_amount: 16_000 })).toFailWith(400, "item_prices_not_cod");
    expect(await change({ cod_amount: 16_000, package: { items: [items[0]] } })).toSucceed(200);
    expect((await itemsOf(id)).map(({ unit_price }) => unit_price)).toEqual([8000]);
  });
});

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
      const body = await partial(id, { Shirt: 1, Cap: 1 }, {
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
      expect(contents(await itemsOf(back.id))).toEqual({ Shirt: 1 });
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
    const all = await itemsOf(id);
    const body = await partial(id, { Shirt: 1 });
    const foreign = await itemsOf(await onItsWay(ground, "in_transit", priced));
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
    expect(await report(tenant.driver, id, await partial(id, { Cap: 1 })))
      .toFailWith(400, "item_prices_required");
    const changed = await onItsWay(ground, "in_transit", priced);
    const lower = { cod_amount: 18_000, reason: "Discount" };
    expect(await move(tenant.ops, changed, "amount-changes", lower)).toSucceed(201);
    expect(await report(tenant.driver, changed, await partial(changed, { Cap: 1 })))
      .toFailWith(400, "item_prices_required");
    expect([await statusOf(id), await statusOf(changed)]).toEqual(["in_transit", "in_transit"]);
  });

  test("an amount that was agreed for these items is exactly what is due for them", async () => {
    const id = await onItsWay(ground, "in_transit", unpriced);
    const kept_items = await kept(id, { Cap: 1, Shirt: 1 });
    const agreed = await move(tenant.ops, id, "amount-changes", {
      cod_amount: 11_000,
      reason: "She keeps two",
      kept_items,
    });
    expect(agreed).toSucceed(201);
    expect(await report(tenant.driver, id, await partial(id, { Cap: 1 })))
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
    const answer = await report(tenant.driver, id, await partial(id, { Shirt: 2 }));
    expect(answer).toSucceed(200);
    expect(answer.body.data.cash.due).toMatchObject({ cod: 0, delivery_fee: 2000 });
    expect(contents(await itemsOf(answer.body.data.returns[0].id))).toEqual({ Cap: 1 });
  });

  test("a store's order is delivered whole", async () => {
    const id = await onItsWay(ground, "in_transit", priced);
    const body = await partial(id, { Cap: 1 });
    const undo = await soldInStore(tenant, id);
    expect(await report(tenant.driver, id, body)).toFailWith(409, "order_amount_fixed");
    await undo();
  });

  test("its leg takes the cash of a staged parcel, and the rest goes back to where it was ordered", async () => {
    const { parent, b } = await stagedInWarehouse(ground, priced);
    const handoff = await handedTo(ground, b);
    expect(await tenant.driver.post(`/delivery/handoffs/${handoff}/pickup`)).toSucceed(200);
    const { items } = (await tenant.driver.get(`${path}/${b}`)).body.delivery;
    expect(items.map(({ unit_price }: Body) => unit_price)).toEqual([8000, 4000]);
    const answer = await report(tenant.driver, b, await partial(parent.id, { Shirt: 2 }));
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
    const answer = await report(tenant.driver, id, await partial(id, { Cap: 1 }));
    const [back] = answer.body.data.returns;
    const again = { result: "partial", items: [{ delivery_item_id: id, quantity: 1 }] };
    expect(await report(tenant.driver, back.id, again)).toFailWith(409, "outcome_not_at_door");
  });

  test("a parcel that is brought by nobody of the company needs a driver", async () => {
    const { id } = await deliveryIn(ground, "picked_up", priced);
    const body = await partial(id, { Cap: 1 });
    await sql`update delivery.assignments set status = 'returned' where delivery_id = ${id}`;
    expect(await report(tenant.ops, id, body)).toFailWith(409, "delivery_has_no_driver");
  });
});

describe("twice", () => {
  test("the same report again is one delivery and one return", async () => {
    const id = await onItsWay(ground, "in_transit", priced);
    const body = await partial(id, { Cap: 1 });
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
      const bodies = [await partial(id, { Shirt: 1 }), { result: "delivered" }];
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

describe("what went back, and what was kept", () => {
  /** A parcel of which a shirt and the cap were kept, and the return of the other shirt. */
  async function keptTwo() {
    const id = await onItsWay(ground, "in_transit", priced);
    const answer = await report(tenant.driver, id, await partial(id, { Shirt: 1, Cap: 1 }));
    return { id, back: answer.body.data.returns[0] as Body };
  }
  const asksFor = (id: string, more: object = {}, by = tenant.ops) =>
    by.post(path, {
      delivery_flow: "customer_return",
      original_delivery_id: id,
      delivery_service_id: ground.service,
      payer_type: "sender",
      payment_method: "cash",
      unit_size: 1,
      ...more,
    });
  beforeAll(() =>
    sql`update delivery.delivery_services set allow_returns = true where id = ${ground.service}`
  );

  test("the rest comes back into a warehouse, and the parcel stays delivered", async () => {
    const { id, back } = await keptTwo();
    const { body } = await move(tenant.driver, back.id, "return", {
      warehouse_id: ground.warehouse,
    });
    expect(
      await tenant.admin.put(`/warehousing/receiving-orders/${body.receiving_order_id}`, {
        status: "received",
      }),
    ).toSucceed(200);
    const [row] = await sql`select status, current_warehouse_id as at from delivery.deliveries
      where id = ${id}`;
    expect({ ...row }).toEqual({ status: "delivered", at: null });
    await checkAll(tenant);
  });

  test("is back with a proof alone, and refunds no fee", async () => {
    const { back } = await keptTwo();
    expect(await move(tenant.driver, back.id, "complete")).toFailWith(
      400,
      "delivery_proof_required",
    );
    const proof = await photoOf(tenant.driver, back.id);
    await moves(tenant.driver, back.id, ["complete", { proof }]);
    const refunds = await sql`select from money.payments
      where delivery_id = ${back.original_delivery_id} and type = 'REFUND'`;
    expect(refunds).toEqual([]);
  });

  test("its customer returns what was kept, once, and never more", async () => {
    const { id } = await keptTwo();
    const answer = await asksFor(id);
    expect(answer).toSucceed(201);
    expect(contents(await itemsOf(answer.body.id))).toEqual({ Shirt: 1, Cap: 1 });
    expect(await asksFor(id)).toFailWith(409, "return_already_exists");
  });

  test("item by item, and again what a return that was cancelled would have brought", async () => {
    const { id } = await keptTwo();
    const some = async (quantities: Record<string, number>) =>
      asksFor(id, { return_items: await kept(id, quantities) });
    expect(await some({ Shirt: 2 })).toFailWith(409, "return_already_exists");
    const cap = await some({ Cap: 1 });
    expect(cap).toSucceed(201);
    expect(await some({ Cap: 1 })).toFailWith(409, "return_already_exists");
    const return_items = await kept(id, { Shirt: 1 });
    expect(await asksFor(id, { return_items }, tenant.customer)).toSucceed(201);
    expect(await asksFor(id, {}, tenant.customer)).toFailWith(409, "return_already_exists");
    expect(await move(tenant.ops, cap.body.id, "cancel", { reason: "kept" })).toSucceed(200);
    const left = await asksFor(id);
    expect(left).toSucceed(201);
    expect(contents(await itemsOf(left.body.id))).toEqual({ Cap: 1 });
  });

  test("also of a parcel that was kept whole; a return of all leaves nothing", async () => {
    const { id } = await deliveryIn(ground, "delivered", priced);
    const one = await asksFor(id, { return_items: await kept(id, { Shirt: 1 }) });
    expect(one).toSucceed(201);
    const rest = await asksFor(id);
    expect(contents(await itemsOf(rest.body.id))).toEqual({ Shirt: 1, Cap: 1 });
    const whole = await deliveryIn(ground, "delivered", priced);
    expect(await asksFor(whole.id)).toSucceed(201);
    expect(await asksFor(whole.id, { return_items: await kept(whole.id, { Cap: 1 }) }))
      .toFailWith(409, "return_already_exists");
  });

  test("two returns of the same unit at the same moment: one", async () => {
    const { id } = await keptTwo();
    const return_items = await kept(id, { Cap: 1 });
    const answers = await queuedOn(id, [
      () => asksFor(id, { return_items }),
      () => asksFor(id, { return_items }),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
  });

  test("items of other parcels, and named where nothing returns, are refused", async () => {
    const { id } = await keptTwo();
    const foreign = (await itemsOf((await keptTwo()).id))[0].id;
    const theirs = await deliveryIn(await newGround(other), "delivered", priced);
    const [{ id: strange }] = await sql`select id from delivery.delivery_items
      where delivery_id = ${theirs.id} limit 1`;
    for (const delivery_item_id of [foreign, strange]) {
      const answer = await asksFor(id, { return_items: [{ delivery_item_id, quantity: 1 }] });
      expect(answer).toFailWith(400, "partial_items_invalid");
      expect(answer.body.field).toBe("return_items");
    }
    const standard = await tenant.ops.post(path, {
      delivery_service_id: ground.service,
      payer_type: "sender",
      payment_method: "cash",
      return_items: await kept(id, { Cap: 1 }),
    });
    expect(standard).toFailWith(400, "validation_failed");
    expect(standard.body.field).toBe("return_items");
  });
});
