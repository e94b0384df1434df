import { beforeAll, describe, expect, test } from "vitest";
import type { Body, Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import {
  type Ground,
  moves,
  newDelivery,
  newGround,
  path,
  stagedInWarehouse,
  takenOver,
} from "../../support/deliveries.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

// Cash of a staged parcel is found by what its driver holds: the leg.
const cash = "/delivery/cod-collections";
let tenant: Tenant;
let other: Tenant;
let ground: Ground;
let parent: Body;
let b: string;
let codes: { parcel: number; a: number; b: number };

beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
  ground = await newGround(tenant);
  const staged = await stagedInWarehouse(ground, {
    cod_amount: 5000,
    recipient: { name: "Rêzan Karîm", phone: "+9647705554433" },
  });
  parent = staged.parent;
  b = staged.b;
  await takenOver(ground, b, tenant.driver2);
  await moves(tenant.driver2, b, "complete");
  const code = async (id: string) =>
    Number(
      (await sql`select delivery_code from delivery.deliveries where id = ${id}`)[0].delivery_code,
    );
  codes = { parcel: await code(parent.id), a: await code(staged.a), b: await code(b) };
  const { id } = await newDelivery(ground, { cod_amount: 10, recipient: { name: "Somebody" } });
  await tenant.ops.post("/delivery/assignments", { delivery_id: id, driver_id: tenant.driver2.id });
  await sql`update delivery.assignments set status = 'accepted' where delivery_id = ${id}`;
  await sql`update delivery.deliveries set status = 'accepted' where id = ${id}`;
  await moves(tenant.driver2, id, "pickup", "complete");
});

const rows = async (query: Record<string, unknown>, person: Person = tenant.driver2) => {
  const answer = await person.get(cash, { query: query as never });
  expect(answer).toSucceed();
  return answer.body.cod.collections as Body[];
};

test("a row names the legs and the receiver, and the customer as documented", async () => {
  const [row] = await rows({ delivery_code: codes.parcel });
  expect(row).toMatchObject({
    delivery_id: parent.id,
    delivery_code: codes.parcel,
    leg_codes: [codes.a, codes.b],
    receiver_name: "Rêzan Karîm",
    delivery_details: {
      customer_name: expect.stringContaining("customer"),
      receiver_name: "Rêzan Karîm",
    },
  });
});

describe("a row is found", () => {
  test.each<[string, () => Record<string, unknown>]>([
    ["by the leg's code", () => ({ delivery_code: codes.b })],
    ["by the other leg's code", () => ({ delivery_code: codes.a })],
    ["by the leg's id", () => ({ delivery_id: b })],
    ["by the parcel's id", () => ({ delivery_id: parent.id })],
    ["by a search for the receiver", () => ({ search: "rêzan" })],
    ["by a column of codes", () => ({ column_filters: { delivery_code: codes.b } })],
    ["by a range of codes", () => ({
      column_filters: { delivery_code: { min: codes.parcel, max: codes.parcel } },
    })],
    ["by a column of receivers", () => ({ column_filters: { receiver_name: "karîm" } })],
  ])("%s", async (_how, query) => {
    for (const person of [tenant.driver2, tenant.dispatcher]) {
      expect((await rows(query(), person)).map(({ delivery_id }) => delivery_id)).toEqual([
        parent.id,
      ]);
    }
    expect(await rows(query(), tenant.driver)).toEqual([]);
    expect(await rows(query(), other.dispatcher)).toEqual([]);
  });
});

test("a search for a leg's code finds its parcel", async () => {
  // A short number is part of other numbers and addresses as well.
  const found = await rows({ search: String(codes.b), limit: 100 });
  expect(found.map(({ delivery_id }) => delivery_id)).toContain(parent.id);
  expect(await rows({ search: String(codes.b) }, tenant.driver)).toEqual([]);
});

test("a leg's detail and its cash are of one parcel", async () => {
  const { collections } = (await tenant.driver2.get(`${path}/${b}`)).body.delivery;
  expect(collections).toMatchObject([{ amount: 7000 }]);
});
