/** The history of goods: every movement of an item, of a warehouse, or of the record that an event names. */
import { beforeAll, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { anId } from "../../support/expect.ts";
import { newStaff } from "../../support/packages.ts";
import { newPerson, newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectPaged } from "../../support/promises.ts";
import { newBin, newItem, newShelf, type Shelf } from "../../support/warehouses.ts";

const path = "/warehousing/inventory/transactions";
let tenant: Tenant;
let here: Shelf;
let there: Shelf;
let lamp: string;
let receipt: string;
let move: string;
let second: string;

const post = async (what: string, body: object, by = tenant.ops): Promise<Body> => {
  const answer = await by.post(`/warehousing/inventory/${what}`, body);
  expect(answer).toSucceed(201);
  return answer.body;
};
const list = async (query: Record<string, string | number> = {}, by = tenant.ops) => {
  const answer = await by.get(path, { query });
  expect(answer).toSucceed(200);
  return answer.body;
};
const seen = async (query: Record<string, string | number>) =>
  (await list(query)).data.map(({ transaction_type, quantity }: Body) =>
    `${transaction_type} ${quantity}`
  );

beforeAll(async () => {
  tenant = await newTenant();
  [here, there] = [await newShelf(tenant, 10), await newShelf(tenant, 10)];
  lamp = await newItem(tenant, { name: "Brass lamp", sku: "LAMP-9" });
  second = await newBin(tenant, here.warehouse, { code: "B-2" });
  const at = { warehouse_id: here.warehouse };
  ({ receipt_id: receipt } = await post("receipts", {
    ...at,
    items: [
      { item_id: lamp, bin_id: here.bin, quantity: 9, lot_number: "L7" },
      { item_id: here.item, bin_id: here.bin, quantity: 2 },
    ],
  }, tenant.warehouse));
  ({ move_id: move } = await post("moves", {
    ...at,
    items: [{
      item_id: lamp,
      from_bin_id: here.bin,
      to_bin_id: second,
      quantity: 4,
      lot_number: "L7",
      to_status: "damaged",
    }],
  }));
  await post("adjustments", {
    ...at,
    item_id: lamp,
    bin_id: here.bin,
    lot_number: "L7",
    delta: -1,
    reason: "Miscounted",
  });
  await post("write-offs", {
    ...at,
    reason: "Broken",
    items: [{
      item_id: lamp,
      bin_id: second,
      status: "damaged",
      lot: "L7",
      quantity: 3,
      note: "no glass",
    }],
  });
  await post("adjustments", {
    warehouse_id: there.warehouse,
    item_id: there.item,
    bin_id: there.bin,
    delta: 5,
    reason: "Found",
  });
});

test("an item's movements add up to what lies there, newest first", async () => {
  expect(await seen({ item_id: lamp })).toEqual(["write_off 3", "adjust 1", "move 4", "receive 9"]);
  const { data } = await list({ item_id: lamp });
  const sum = data.reduce(
    (units: number, { quantity, from_status, to_status }: Body) =>
      units + (to_status ? quantity : 0) - (from_status ? quantity : 0),
    0,
  );
  const [stock] = await sql`select sum(quantity)::int as units from warehousing.stock
    where item_id = ${lamp}`;
  expect(sum).toBe(stock.units);
  expect(data[0]).toEqual({
    id: expect.any(String),
    transaction_type: "write_off",
    quantity: 3,
    warehouse: { id: here.warehouse, name: expect.any(String), code: expect.any(String) },
    item: { id: lamp, name: "Brass lamp", sku: "LAMP-9" },
    from_bin: { id: second, code: "B-2", name: expect.toBeOneOf([null, expect.any(String)]) },
    to_bin: null,
    from_status: "damaged",
    to_status: null,
    lot_number: "L7",
    serial_number: null,
    reference: { type: expect.any(String), id: anId },
    reason: "Broken",
    note: "no glass",
    performed_by: { id: tenant.ops.id, full_name: expect.any(String) },
    created_at: expect.any(String),
  });
});

test("the ids in events read what they moved", async () => {
  for (
    const [id, type, rows] of [[receipt, "inventory.received", 2], [
      move,
      "inventory.moved",
      1,
    ]] as const
  ) {
    const [event] = await sql`select event_data from integration.system_events
      where tenant_id = ${tenant.id} and event_type = ${type}
        and ${id} in (event_data ->> 'receipt_id', event_data ->> 'move_id')`;
    expect(event).toBeDefined();
    const { data } = await list({ reference_id: id });
    expect(data).toHaveLength(rows);
    expect(data.every(({ reference }: Body) => reference.id === id)).toBe(true);
  }
});

test("each filter narrows, and all rows are on exactly one page", async () => {
  expect(await seen({ warehouse_id: there.warehouse, transaction_type: "adjust" })).toEqual([
    "adjust 5",
  ]);
  expect(await seen({ lot_number: "l7", item_id: lamp })).toEqual([]);
  expect(await seen({ lot_number: "L7", transaction_type: "receive" })).toEqual(["receive 9"]);
  expect(await seen({ performed_by: tenant.warehouse.id })).toEqual(["receive 2", "receive 9"]);
  expect(await seen({ search: "lamp-9", transaction_type: "move" })).toEqual(["move 4"]);
  expect(await seen({ date_from: "2099-01-01" })).toEqual([]);
  expect(await seen({ date_to: "2099-01-01", item_id: lamp })).toHaveLength(4);
  await expectPaged(tenant.ops, path, "created_at");
});

test("staff of one warehouse see its movements only; others, and other companies, none", async () => {
  const clerk = await newPerson(tenant.id, "staff", "warehouse_staff");
  await newStaff(tenant, there.warehouse, clerk.id, "E-9");
  const { data } = await list({}, clerk);
  expect(data.length).toBeGreaterThan(0);
  expect(data.every(({ warehouse }: Body) => warehouse.id === there.warehouse)).toBe(true);
  const other = await newTenant();
  expect((await list({ item_id: lamp }, other.ops)).data).toEqual([]);
  expect((await list({ reference_id: receipt }, other.ops)).data).toEqual([]);
  await expectGuarded({ method: "GET", path }, {
    denied: [tenant.customer, tenant.driver, tenant.institution],
  });
  const refused = await tenant.ops.get(path, { query: { transaction_type: "reserve" } });
  expect(refused).toFailWith(400, "validation_failed");
});
