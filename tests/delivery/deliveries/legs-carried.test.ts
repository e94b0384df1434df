import { afterAll, beforeAll, expect, test } from "vitest";
import type { Body, Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import {
  assign,
  checkAll,
  type Ground,
  handedTo,
  move,
  moves,
  newDelivery,
  newGround,
  outboundOnRoad,
  path,
  stagedInWarehouse,
  takenOver,
} from "../../support/deliveries.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { received } from "../../support/send-back.ts";

// A parcel in legs: whoever carries one of them reads what it owes, what it is called and whom to ask for.
let tenant: Tenant;
let ground: Ground;

beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});
afterAll(() => checkAll(tenant));

const due = (cod: number, delivery_fee: number) => ({ cod, delivery_fee, currency: "IQD" });
const nothing = due(0, 0);

/** Every place a person finds a leg in, by name. */
async function shown(leg: string, barcode: string, driver: Person): Promise<Record<string, Body>> {
  const list = await driver.get("/delivery/assignments", {
    query: { delivery_id: leg, include: "delivery_details" },
  });
  const [assignment] = list.body.assignments;
  const sequence = await driver.get(`/delivery/assignments/${driver.id}/sequence`);
  const handoff = await driver.get("/delivery/handoffs", { query: { delivery_id: leg } });
  const mine = await driver.get(path, { query: { limit: 100 } });
  const detail = await driver.get(`${path}/${leg}`);
  const office = await tenant.ops.get(path, { query: { limit: 100, is_leg: true } });
  const parent = await tenant.ops.get(`${path}/${assignment.delivery.parent_id}`);
  const scan = await tenant.warehouse.get(`/warehousing/package-scan/${barcode}`);
  const its = (rows: Body[]) => rows.find((row) => (row.delivery ?? row).id === leg)!;
  return {
    assignment: assignment.delivery,
    details: assignment.delivery_details,
    sequence: its(sequence.body.assignments)?.delivery,
    handoff: handoff.body.data[0]?.delivery,
    list: its(mine.body.data),
    detail: detail.body.delivery,
    office: its(office.body.data),
    legs: its(parent.body.delivery.legs),
    scan: its([...scan.body.inbound_deliveries, ...scan.body.outbound_deliveries]),
  };
}

test("the second leg says what is collected at the door, the first what the sender pays", async () => {
  const { parent, a, b } = await stagedInWarehouse(ground, {
    payer_type: "receiver",
    cod_amount: 7000,
    recipient: { name: "Rezan", phone: "+9647701112233" },
  });
  await handedTo(ground, b, tenant.driver2);
  const [codes] = await sql`select
    (select delivery_code from delivery.deliveries where id = ${parent.id}) as parcel,
    (select delivery_code from delivery.deliveries where id = ${b}) as leg`;
  const second = await shown(b, parent.barcode, tenant.driver2);
  for (const [where, leg] of Object.entries(second)) {
    expect(leg, where).toMatchObject({
      cod_amount: 7000,
      delivery_fee: 2000,
      cash_due: { pickup: nothing, delivery: due(7000, 2000) },
      parcel: { id: parent.id, delivery_code: Number(codes.parcel), barcode: parent.barcode },
      sender: null,
      recipient: { name: "Rezan", phone: "+9647701112233" },
    });
  }
  expect(second.list.delivery_code).toBe(Number(codes.leg));
  const answer = (await tenant.ops.get(`${path}/${a}`)).body.delivery;
  expect(answer).toMatchObject({
    cod_amount: 0,
    delivery_fee: 0,
    price: 0,
    cash_due: { pickup: nothing, delivery: nothing },
    parcel: { id: parent.id },
    sender: { name: expect.any(String), phone: expect.any(String) },
  });
  expect(answer.recipient).not.toHaveProperty("name");
  expect(answer.recipient).not.toHaveProperty("phone");
});

test("a fee that the sender pays in cash is the first leg's alone", async () => {
  const made = await newDelivery(ground, {
    staged: true,
    warehouse_id: ground.warehouse,
    payer_type: "sender",
    cod_amount: 500,
  });
  const [a, b] = made.legs.map(({ id }: Body) => id);
  await assign(tenant, a);
  const { legs } = (await tenant.ops.get(`${path}/${made.id}`)).body.delivery;
  expect(legs).toMatchObject([
    { cod_amount: 0, delivery_fee: 2000, cash_due: { pickup: due(0, 2000), delivery: nothing } },
    { cod_amount: 500, delivery_fee: 0, cash_due: { pickup: nothing, delivery: due(500, 0) } },
  ]);
  const list = await tenant.driver.get(path, { query: { limit: 100 } });
  expect(list.body.data.find(({ id }: Body) => id === a).cash_due.pickup).toEqual(
    due(0, 2000),
  );
  expect(await move(tenant.ops, made.id, "cancel", { reason: "no" })).toSucceed();
  const ended = (await tenant.ops.get(`${path}/${b}`)).body.delivery;
  expect(ended.cash_due).toEqual({ pickup: nothing, delivery: nothing });
});

test("a driver's amounts are found by what they show", async () => {
  const { b } = await stagedInWarehouse(ground, { cod_amount: 8123 });
  await handedTo(ground, b, tenant.driver2);
  const found = await tenant.driver2.get(path, {
    query: { column_filters: { cod_amount: { min: 8123, max: 8123 } } },
  });
  expect(found.body.data.map(({ id }: Body) => id)).toEqual([b]);
});

test("each pickup and completion says what was due and what was booked", async () => {
  const made = await newDelivery(ground, {
    staged: true,
    warehouse_id: ground.warehouse,
    payer_type: "sender",
    cod_amount: 900,
  });
  const [a, b] = made.legs.map(({ id }: Body) => id);
  await assign(tenant, a);
  const taken = await move(tenant.driver, a, "pickup");
  expect(taken.body.cash).toEqual({ due: due(0, 2000), collected: due(0, 2000) });
  await moves(tenant.driver, a, "depart");
  const arrived = await move(tenant.driver, a, "complete");
  expect(arrived.body.cash).toEqual({ due: nothing, collected: nothing });
  const handoff = await handedTo(ground, b, tenant.driver2);
  const over = await tenant.driver2.post(`/delivery/handoffs/${handoff}/pickup`, {});
  expect(over.body.cash).toEqual({ due: nothing, collected: nothing });
  expect(over.body.handoff.delivery.cash_due.delivery).toEqual(due(900, 0));
  const done = await move(tenant.driver2, b, "complete");
  expect(done.body.cash).toEqual({ due: due(900, 0), collected: due(900, 0) });
  const [row] = await sql`select amount from money.cod_collections
    where delivery_id = ${made.id} and collection_stage = 'dropoff'`;
  expect(Number(row.amount)).toBe(900);
});

test("a leg's way is measured from where it began, however late", async () => {
  const { a, b } = await stagedInWarehouse(ground, {});
  const [first] =
    await sql`select id, from_warehouse_id from delivery.assignments where delivery_id = ${a}`;
  expect(first.from_warehouse_id).toBeNull();
  const [wanted] =
    (await sql`select delivery.routes_to_measure(${tenant.id}, ${
      JSON.stringify([first.id])
    }) as list`)[
      0
    ].list;
  const [from] =
    await sql`select latitude, longitude from delivery.addresses where id = ${ground.from}`;
  expect(wanted.from).toEqual([from.latitude, from.longitude]);
  await handedTo(ground, b);
  const [second] =
    await sql`select from_warehouse_id from delivery.assignments where delivery_id = ${b}`;
  expect(second.from_warehouse_id).toBe(ground.warehouse);
  const { body } = await tenant.driver.get("/delivery/assignments", {
    query: { delivery_id: a, include: "delivery_details" },
  });
  expect(body.assignments[0].delivery_details.pickup.id).toBe(ground.from);
});

test("back for good, neither the parcel nor its legs owe anything; a leg that sets out again does", async () => {
  const owed = async (...ids: string[]) =>
    await Promise.all(
      ids.map(async (id) =>
        (await tenant.ops.get(`${path}/${id}`)).body.delivery.cash_due.delivery
      ),
    );
  const more = { cod_amount: 7000, staged: true, warehouse_id: ground.warehouse };
  const first = await newDelivery(ground, more);
  const [a, never] = first.legs.map(({ id }: Body) => id);
  await assign(tenant, a);
  await moves(tenant.driver, a, "pickup");
  expect(await owed(first.id, never)).toEqual([due(7000, 2000), due(7000, 2000)]);
  await moves(tenant.driver, a, "return");
  expect(await owed(first.id, a, never)).toEqual([nothing, nothing, nothing]);
  const scan = await tenant.warehouse.get(`/warehousing/package-scan/${first.barcode}`);
  expect(scan.body.delivery.cash_due.delivery).toEqual(nothing);

  const { parent, b } = await outboundOnRoad(ground, more);
  const back = await moves(tenant.driver, b, "fail", "return");
  expect(await owed(parent.id, b)).toEqual([due(7000, 2000), due(7000, 2000)]);
  await received(ground, back.receiving_order_id);
  expect(await owed(parent.id, b)).toEqual([due(7000, 2000), due(7000, 2000)]);
  const sent = await move(tenant.ops, b, "operational-return", { reason: "unwanted" });
  expect(sent).toSucceed(201);
  await takenOver(ground, sent.body.delivery.id);
  await moves(tenant.driver, sent.body.delivery.id, "complete");
  expect(await owed(parent.id, b)).toEqual([nothing, nothing]);
});
