/** A parcel that an operational return brought into a warehouse lies there, and continues to its sender by another one. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newReturning, returning, returnOf, waiting } from "../../support/customer-returns.ts";
import { sql } from "../../support/db.ts";
import {
  checkAll,
  move,
  moves,
  newDelivery,
  parcelStock,
  stagedInWarehouse,
  statusOf,
  takenOver,
} from "../../support/deliveries.ts";
import { partial, priced } from "../../support/kept-parts.ts";
import { onItsWay, photoOf, report } from "../../support/outcomes.ts";
import { whereIs, type Yard } from "../../support/packages.ts";
import { saveSettings, type Tenant } from "../../support/people.ts";
import { broughtInto, received, sentBackBy } from "../../support/send-back.ts";

let tenant: Tenant;
let yard: Yard;
beforeAll(async () => {
  yard = await newReturning();
  tenant = yard.tenant;
  await saveSettings(tenant.id, "general.warehouse", { default_warehouse_id: yard.there });
  await saveSettings(tenant.id, "general.delivery", {
    return_requests: { destination_mode: "warehouse" },
  });
});
afterAll(() => checkAll(tenant));

const kinds = {
  "from door to door": async () => {
    const { id } = await newDelivery(yard);
    await received(yard, await broughtInto(yard, id, yard.warehouse));
    return id as string;
  },
  staged: async () => (await stagedInWarehouse(yard)).parent.id as string,
};

async function brought(id: string): Promise<void> {
  await takenOver(yard, id, tenant.driver2);
  await moves(tenant.driver2, id, "depart", "complete");
}

const again = (id: string) => move(tenant.warehouse, id, "operational-return");

describe.each(Object.keys(kinds) as (keyof typeof kinds)[])("a parcel %s", (kind) => {
  test.each(["operational-return", "cancel"] as const)(
    "that %s brought into the default warehouse",
    async (call) => {
      const id = await kinds[kind]();
      const first = await sentBackBy(yard, id, call);
      expect(await again(id)).not.toSucceed();
      await brought(first.id);
      const ended = call === "cancel" ? "cancelled" : "returned";
      expect(await whereIs(id)).toMatchObject({ status: ended, at: yard.there });

      const second = await again(id);
      expect(second).toSucceed(201);
      const [{ to }] = await sql`select dropoff_address_id as to from delivery.deliveries
        where id = ${second.body.id}`;
      expect(to).toBe(yard.from);
      expect(await again(id)).toFailWith(409, "return_already_exists");
      await brought(second.body.id);
      expect(await whereIs(id)).toMatchObject({ status: ended, at: null });
      expect(await statusOf(second.body.id)).toBe("delivered");
      expect(await again(id)).toFailWith(409, "delivery_not_in_warehouse");
    },
  );
});

/** Returns that end in the default warehouse though their originals are delivered. */
const rests = {
  "the rest of a parcel that was kept in part": async () => {
    const id = await onItsWay(yard, "in_transit", priced);
    const kept = await partial(tenant, id, { Shirt: 1, Cap: 1 });
    const [back] = (await report(tenant.driver, id, kept)).body.data.returns;
    const proof = await photoOf(tenant.driver, back.id);
    await moves(tenant.driver, back.id, ["complete", { proof }]);
    return back.id as string;
  },
  "goods given in exchange": async () => {
    const exchanged = { result: "exchanged", taken_back: [{ name: "Old phone", quantity: 1 }] };
    const answer = await report(tenant.driver, await onItsWay(yard), exchanged);
    const [back] = answer.body.data.returns;
    await moves(tenant.driver, back.id, "complete");
    return back.id as string;
  },
  "a customer's return": async () => {
    const { id } = await returning(yard);
    await moves(tenant.driver, id, "complete");
    return id;
  },
};

test.each(Object.keys(rests) as (keyof typeof rests)[])(
  "%s continues to its sender",
  async (rest) => {
    const id = await rests[rest]();
    expect(await whereIs(id)).toMatchObject({ status: "delivered", at: yard.there });
    const made = await again(id);
    expect(made).toSucceed(201);
    const back = made.body.id;
    expect(await again(id)).toFailWith(409, "return_already_exists");
    expect(await move(tenant.ops, back, "cancel", { reason: "not yet" })).toSucceed(200);
    expect((await whereIs(id)).at).toBe(yard.there);
    const sent = (await again(id)).body.id;
    const [row] = await sql`select dropoff_address_id as to, delivery_fee::int as fee, made_at_door,
    recipient ->> 'name' as name from delivery.deliveries where id = ${sent}`;
    expect(row).toMatchObject({ to: yard.from, fee: 0, made_at_door: false });
    expect(row.name).not.toBe("Recipient");
    await brought(sent);
    expect(await whereIs(id)).toMatchObject({ status: "delivered", at: null });
    expect(await parcelStock(id)).toEqual({});
    expect(await again(id)).toFailWith(409, "delivery_not_in_warehouse");
  },
);

test("a customer's return that 1.3.0 left returned in a warehouse continues to its sender", async () => {
  const { id, parcel } = await waiting(yard, yard.there);
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await tx`update delivery.deliveries set status = 'returned', delivered_at = null where id = ${id}`;
  });
  expect(await returnOf(yard, parcel)).toFailWith(409, "return_already_exists");
  const sent = await again(id);
  expect(sent).toSucceed(201);
  expect(await again(id)).toFailWith(409, "return_already_exists");
  await brought(sent.body.id);
  expect(await whereIs(id)).toMatchObject({ status: "returned", at: null });
  expect(await statusOf(sent.body.id)).toBe("delivered");
  expect(await parcelStock(id)).toEqual({});
  expect(await again(id)).toFailWith(409, "delivery_not_in_warehouse");
});

test("a customer's return that waits there is cancelled, not sent back", async () => {
  const { id } = await waiting(yard, yard.warehouse);
  expect(await again(id)).toFailWith(409, "invalid_status_transition");
});

test("at the same moment one other return is made", async () => {
  const id = await kinds["from door to door"]();
  await brought((await sentBackBy(yard, id, "operational-return")).id);
  const answers = await Promise.all([again(id), again(id), again(id)]);
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
});

test("what is cancelled where it was ordered from, or lies at its sender, goes nowhere", async () => {
  const id = await kinds["from door to door"]();
  const [{ id: warehouse }] = await sql`update warehousing.warehouses
    set address_id = ${yard.from} where id = ${yard.there} returning id`;
  const home = await newDelivery(yard, {
    pickup_address_id: undefined,
    pickup_warehouse_id: warehouse,
  });
  await sql`update delivery.deliveries set current_warehouse_id = ${warehouse} where id = ${home.id}`;
  expect(await move(tenant.ops, home.id, "cancel", { reason: "no" })).toSucceed(200);
  expect(await again(home.id)).toFailWith(409, "invalid_status_transition");
  expect(await again(id)).toSucceed(201);
});
