/** A customer's return that was given back to them brings nothing back: the same units may be returned again. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { enable, givenToCarrier, report as carrierReports } from "../../support/carriers.ts";
import { newReturning, returning, returnOf, waiting } from "../../support/customer-returns.ts";
import {
  checkAll,
  deliveryIn,
  move,
  moves,
  statusOf,
  takenOver,
} from "../../support/deliveries.ts";
import { contents, itemsOf, kept, partial, priced } from "../../support/kept-parts.ts";
import { onItsWay, report } from "../../support/outcomes.ts";
import { queuedOn } from "../../support/overlapping.ts";
import type { Yard } from "../../support/packages.ts";
import type { Tenant } from "../../support/people.ts";

let yard: Yard;
let tenant: Tenant;
let secret: string;
beforeAll(async () => {
  yard = await newReturning();
  tenant = yard.tenant;
  secret = (await enable(tenant)).secret;
});
afterAll(() => checkAll(tenant));

const givenBack = async (more: object = {}) => {
  const made = await returning(yard, more);
  await moves(tenant.driver, made.id, "return");
  expect(await statusOf(made.id)).toBe("returned");
  return made;
};

describe("a return that its driver gave back", () => {
  test("is ordered again, whole or by its items, as often as it is given back", async () => {
    const { parcel } = await givenBack();
    const some = async (quantities: Record<string, number>) =>
      returnOf(yard, parcel, { return_items: await kept(tenant, parcel, quantities) });
    const again = await returnOf(yard, parcel);
    expect(again).toSucceed(201);
    expect(await returnOf(yard, parcel)).toFailWith(409, "return_already_exists");
    expect(await some({ Cap: 1 })).toFailWith(409, "return_already_exists");
    expect(await move(tenant.ops, again.body.id, "cancel", { reason: "no" })).toSucceed(200);
    expect(await some({ Cap: 1 })).toSucceed(201);
    const rest = await returnOf(yard, parcel, {}, tenant.customer);
    expect(contents(await itemsOf(tenant, rest.body.id))).toEqual({ Shirt: 2 });
  });

  test("of some items leaves these to be returned, and the others as they are", async () => {
    const made = await returning(yard);
    await moves(tenant.driver, made.id, "return");
    const shirt = { return_items: await kept(tenant, made.parcel, { Shirt: 1 }) };
    const first = await returnOf(yard, made.parcel, shirt);
    expect(first).toSucceed(201);
    const two = { return_items: await kept(tenant, made.parcel, { Shirt: 2 }) };
    expect(await returnOf(yard, made.parcel, two)).toFailWith(409, "return_already_exists");
    const rest = await returnOf(yard, made.parcel);
    expect(contents(await itemsOf(tenant, rest.body.id))).toEqual({ Shirt: 1, Cap: 1 });
  });

  test("is ordered again once, however many ask at the same moment", async () => {
    const { parcel } = await givenBack();
    const ask = () => returnOf(yard, parcel);
    const answers = await queuedOn(parcel, [ask, ask, ask]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
  });
});

test.each(["at the door", "in a warehouse"])(
  "a return that a carrier fetched %s and brought back to its customer is ordered again",
  async (place) => {
    const { id: original } = await deliveryIn(yard, "delivered", priced);
    const { id, parcel } = place === "in a warehouse" ? await waiting(yard) : {
      id: (await returnOf(yard, original, { payer_type: "receiver" })).body.id,
      parcel: original,
    };
    const tracking_number = await givenToCarrier(tenant, id);
    for (const status of ["in_transit", "returned"]) {
      await carrierReports(tenant, secret, { tracking_number, status });
    }
    // The warehouse expects it until operations say that its customer has it.
    if (place === "in a warehouse") {
      expect(await statusOf(id)).toBe("in_transit");
      await moves(tenant.ops, id, "return");
    }
    expect(await statusOf(id)).toBe("returned");
    expect(await returnOf(yard, parcel)).toSucceed(201);
  },
);

test("what was fetched from its customer is undelivered no more, though its return is cancelled", async () => {
  const { id, parcel } = await waiting(yard);
  const cancelled = await move(tenant.ops, id, "cancel", { reason: "Lost interest" });
  expect(cancelled).toSucceed(200);
  const undone = () => move(tenant.ops, parcel, "outcome/undo", { reason: "Wrong parcel" });
  const refused = await undone();
  expect(refused).toFailWith(409, "outcome_went_on");
  expect(refused.body.delivery_ids).toEqual([id]);
  const back = cancelled.body.operational_return.id;
  await takenOver(yard, back);
  await moves(tenant.driver, back, "depart", "complete");
  expect(await undone()).toFailWith(409, "outcome_went_on");
  expect(await statusOf(parcel)).toBe("delivered");
});

test("an ordered return that nobody fetched, and that is cancelled, leaves the undo as it was", async () => {
  const { id: parcel } = await deliveryIn(yard, "delivered", priced);
  const { body } = await returnOf(yard, parcel);
  const undone = () => move(tenant.ops, parcel, "outcome/undo", { reason: "Wrong parcel" });
  expect(await undone()).toFailWith(409, "outcome_went_on");
  expect(await move(tenant.ops, body.id, "cancel", { reason: "Lost interest" })).toSucceed(200);
  expect(await undone()).toSucceed(200);
});

describe("the rest of a parcel that was kept in part, lost in a warehouse", () => {
  async function lost() {
    const id = await onItsWay(yard, "in_transit", priced);
    const answer = await report(tenant.driver, id, await partial(tenant, id, { Shirt: 1, Cap: 1 }));
    const [back] = answer.body.data.returns;
    const { receiving_order_id } = await moves(tenant.driver, back.id, [
      "return",
      { warehouse_id: yard.there },
    ]);
    const nothing = { status: "received", item_details: [{ received_quantity: 0 }] };
    expect(await tenant.ops.put(`/warehousing/receiving-orders/${receiving_order_id}`, nothing))
      .toSucceed(200);
    expect(await move(tenant.ops, back.id, "cancel", { reason: "lost" })).toSucceed(200);
    return id;
  }

  test("is not among what its customer may return", async () => {
    const id = await lost();
    const two = { return_items: await kept(tenant, id, { Shirt: 2 }) };
    expect(await returnOf(yard, id, two)).toFailWith(409, "return_already_exists");
    const made = await returnOf(yard, id);
    expect(contents(await itemsOf(tenant, made.body.id))).toEqual({ Shirt: 1, Cap: 1 });
  });

  test("cannot be undone: it is in nobody's hands any more", async () => {
    const id = await lost();
    expect(await move(tenant.ops, id, "outcome/undo", { reason: "Wrong parcel" }))
      .toFailWith(409, "outcome_went_on");
    expect(await statusOf(id)).toBe("delivered");
  });
});
