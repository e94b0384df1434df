/** A lot or a piece under a wrong name: nothing moves, since other goods would. */
import { beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { newBin, newShelf, type Shelf, stockIn } from "../../support/warehouses.ts";

let tenant: Tenant;
let at: Shelf;
let elsewhere: Shelf;
let beside: string;

beforeAll(async () => {
  tenant = await newTenant();
  at = await newShelf(tenant, 0);
  elsewhere = await newShelf(tenant, 0);
  beside = await newBin(tenant, at.warehouse);
  const place = { warehouse_id: at.warehouse, bin_id: at.bin, item_id: at.item };
  for (const lot_number of ["L1", "L2"]) {
    await stockIn(tenant, { ...place, quantity: 3, lot_number });
  }
});

const stock = () =>
  sql`
  select warehouse_id, bin_id, lot_number, quantity from warehousing.stock
  where item_id = ${at.item} and quantity > 0 order by lot_number`;

type Body = Record<string, unknown>;
const listed = (line: Body): Body => ({ warehouse_id: at.warehouse, items: [line] });
const place = () => ({ item_id: at.item, bin_id: at.bin });
const calls: [path: string, field: string, body: (named: Body) => Body][] = [
  ["inventory/receipts", "items.0.", (lot) => listed({ ...place(), quantity: 1, ...lot })],
  ["inventory/counts", "items.0.", (lot) => listed({ ...place(), counted: 0, ...lot })],
  ["inventory/adjustments", "", (lot) => ({
    ...place(),
    warehouse_id: at.warehouse,
    delta: 1,
    reason: "found",
    ...lot,
  })],
  [
    "inventory/returns",
    "items.0.",
    (lot) => ({ ...listed({ ...place(), quantity: 1, ...lot }), reason: "unsold" }),
  ],
  ["inventory/moves", "items.0.", (lot) =>
    listed({
      item_id: at.item,
      from_bin_id: at.bin,
      to_bin_id: beside,
      quantity: 1,
      ...lot,
    })],
  ["inventory-transfers", "items.0.", (lot) => ({
    source_warehouse_id: at.warehouse,
    destination_warehouse_id: elsewhere.warehouse,
    items: [{
      item_id: at.item,
      source_bin_id: at.bin,
      destination_bin_id: elsewhere.bin,
      quantity: 1,
      ...lot,
    }],
  })],
];

test.each(calls)("POST /warehousing/%s names the right field", async (path, before, body) => {
  const held = await stock();
  for (
    const [wrong, right] of [
      ["lot", "lot_number"],
      ["lotNumber", "lot_number"],
      ["batch_number", "lot_number"],
      ["serial", "serial_number"],
    ] as const
  ) {
    const answer = await tenant.warehouse.post(`/warehousing/${path}`, body({ [wrong]: "L2" }));
    expect(answer, wrong).toFailWith(400, "unknown_field");
    expect(answer.body).toMatchObject({ field: `${before}${wrong}`, expected_field: right });
  }
  expect(await stock()).toEqual(held);
});

test("a write-off, whose fields are called otherwise, names its own", async () => {
  const sent = { ...place(), quantity: 1, lot_number: "L2" };
  const answer = await tenant.ops.post("/warehousing/inventory/write-offs", {
    ...listed(sent),
    reason: "broken",
  });
  expect(answer).toFailWith(400, "unknown_field");
  expect(answer.body).toMatchObject({ field: "items.0.lot_number", expected_field: "lot" });
});

test("a list tells a filter that it does not know, as ever", async () => {
  const query = { item_id: at.item, lot: "L2" };
  const answer = await tenant.warehouse.get("/warehousing/inventory", { query });
  expect(answer).toSucceed();
  expect(answer.body.ignored).toEqual(["lot"]);
});
