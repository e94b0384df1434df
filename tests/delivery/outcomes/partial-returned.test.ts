/** Units that come back from a parcel of which a part was kept, and those that may still be returned. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import {
  checkAll,
  deliveryIn,
  type Ground,
  move,
  moves,
  newGround,
  path,
} from "../../support/deliveries.ts";
import { contents, itemsOf, kept, partial, priced } from "../../support/kept-parts.ts";
import { broughtIn, onItsWay, photoOf, report } from "../../support/outcomes.ts";
import { queuedOn } from "../../support/overlapping.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let ground: Ground;
let other: Tenant;
beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
  other = await newTenant();
});
afterAll(() => checkAll(tenant));

describe("what went back, and what was kept", () => {
  /** A parcel of which a shirt and the cap were kept, and the return of the other shirt. */
  async function keptTwo() {
    const id = await onItsWay(ground, "in_transit", priced);
    const answer = await report(tenant.driver, id, await partial(tenant, id, { Shirt: 1, Cap: 1 }));
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
    await broughtIn(ground, back.id);
    const [row] = await sql`select status, current_warehouse_id as at from delivery.deliveries
      where id = ${id}`;
    expect({ ...row }).toEqual({ status: "delivered", at: null });
    await checkAll(tenant);
  });

  test("the rest is back with a proof alone, and refunds no fee", async () => {
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
    expect(contents(await itemsOf(tenant, answer.body.id))).toEqual({ Shirt: 1, Cap: 1 });
    expect(await asksFor(id)).toFailWith(409, "return_already_exists");
  });

  test("it is returned item by item, and again what a cancelled return would have brought", async () => {
    const { id } = await keptTwo();
    const some = async (quantities: Record<string, number>) =>
      asksFor(id, { return_items: await kept(tenant, id, quantities) });
    expect(await some({ Shirt: 2 })).toFailWith(409, "return_already_exists");
    const cap = await some({ Cap: 1 });
    expect(cap).toSucceed(201);
    expect(await some({ Cap: 1 })).toFailWith(409, "return_already_exists");
    const return_items = await kept(tenant, id, { Shirt: 1 });
    expect(await asksFor(id, { return_items }, tenant.customer)).toSucceed(201);
    expect(await asksFor(id, {}, tenant.customer)).toFailWith(409, "return_already_exists");
    expect(await move(tenant.ops, cap.body.id, "cancel", { reason: "kept" })).toSucceed(200);
    const left = await asksFor(id);
    expect(left).toSucceed(201);
    expect(contents(await itemsOf(tenant, left.body.id))).toEqual({ Cap: 1 });
  });

  test("items of a parcel that was kept whole come back, too; a return of all leaves nothing", async () => {
    const { id } = await deliveryIn(ground, "delivered", priced);
    const one = await asksFor(id, { return_items: await kept(tenant, id, { Shirt: 1 }) });
    expect(one).toSucceed(201);
    const rest = await asksFor(id);
    expect(contents(await itemsOf(tenant, rest.body.id))).toEqual({ Shirt: 1, Cap: 1 });
    const whole = await deliveryIn(ground, "delivered", priced);
    expect(await asksFor(whole.id)).toSucceed(201);
    expect(await asksFor(whole.id, { return_items: await kept(tenant, whole.id, { Cap: 1 }) }))
      .toFailWith(409, "return_already_exists");
  });

  test("of two returns of the same unit at the same moment one is made", async () => {
    const { id } = await keptTwo();
    const return_items = await kept(tenant, id, { Cap: 1 });
    const answers = await queuedOn(id, [
      () => asksFor(id, { return_items }),
      () => asksFor(id, { return_items }),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
  });

  test("items of other parcels, and named where nothing returns, are refused", async () => {
    const { id } = await keptTwo();
    const foreign = (await itemsOf(tenant, (await keptTwo()).id))[0].id;
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
      return_items: await kept(tenant, id, { Cap: 1 }),
    });
    expect(standard).toFailWith(400, "validation_failed");
    expect(standard.body.field).toBe("return_items");
  });
});
