/** A parcel that an operational return brought into a warehouse lies there, and continues to its sender by another one. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import {
  checkAll,
  move,
  moves,
  newDelivery,
  stagedInWarehouse,
  statusOf,
  takenOver,
} from "../../support/deliveries.ts";
import { newYard, whereIs, type Yard } from "../../support/packages.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";
import { broughtInto, received, sentBackBy } from "../../support/send-back.ts";

let tenant: Tenant;
let yard: Yard;
beforeAll(async () => {
  tenant = await newTenant();
  yard = await newYard(tenant);
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

const again = (id: string) => move(tenant.ops, id, "operational-return");

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
