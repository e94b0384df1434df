/** A refusal about one of many lines names that line, whichever call it came with: a scanner shows which piece is meant. */
import { beforeAll, describe, expect, test } from "vitest";
import { newTenant, type Tenant } from "../../support/people.ts";
import {
  checkStock,
  newBin,
  newItem,
  newShelf,
  type Shelf,
  stockIn,
} from "../../support/warehouses.ts";

let tenant: Tenant;
let at: Shelf;
let there: Shelf;
let closed: string;
let beside: string;
let cage: string;
let piece: string;

beforeAll(async () => {
  tenant = await newTenant();
  [at, there] = [await newShelf(tenant, 10), await newShelf(tenant, 10)];
  closed = await newBin(tenant, at.warehouse, { is_active: false });
  beside = await newBin(tenant, at.warehouse);
  cage = await newBin(tenant, at.warehouse, { is_temporary: true, location_type: "CAGE" });
  piece = await newItem(tenant, { is_serialized: true });
  const place = { warehouse_id: at.warehouse, bin_id: at.bin, item_id: piece, quantity: 1 };
  for (const serial_number of ["S1", "S2"]) await stockIn(tenant, { ...place, serial_number });
});

const post = (call: string, warehouse_id: string, ...items: object[]) =>
  tenant.ops.post(`/warehousing/inventory/${call}`, { warehouse_id, reason: "found", items });

describe.each(["receipts", "returns"])("of %s", (call) => {
  const good = () => ({ item_id: at.item, bin_id: at.bin, quantity: 1 });
  const serial = (serial_number?: string, bin_id = at.bin) => ({
    item_id: piece,
    bin_id,
    quantity: 1,
    serial_number,
  });

  test("the second is wrong", async () => {
    const retired = await newItem(tenant, { is_active: false });
    for (
      const [line, status, code, field] of [
        [{ ...good(), bin_id: closed }, 409, "bin_inactive", "bin_id"],
        [{ ...good(), bin_id: cage }, 409, "bin_of_sorting_session", "bin_id"],
        [{ ...good(), item_id: retired }, 409, "inventory_item_inactive", "item_id"],
        [serial(), 400, "serial_number_required", "serial_number"],
        [serial("S1"), 409, "serial_number_taken", "serial_number"],
        [serial("S1", beside), 409, "serial_number_taken", "serial_number"],
      ] as const
    ) {
      const answer = await post(call, at.warehouse, good(), line);
      expect(answer, code).toFailWith(status, code);
      expect(answer.body.field, code).toBe(`items.1.${field}`);
    }
  });

  test("a serial number stands in two of them", async () => {
    const answer = await post(call, at.warehouse, good(), serial("S3"), serial("S3", beside));
    expect(answer).toFailWith(409, "serial_number_taken");
    expect(answer.body).toMatchObject({ field: "items.2.serial_number", item_id: piece });
  });
});

test("of moves and transfers, with the bin they go to", async () => {
  const line = { item_id: at.item, from_bin_id: at.bin, to_bin_id: beside, quantity: 1 };
  for (
    const [to_bin_id, code] of [[closed, "bin_inactive"], [cage, "bin_of_sorting_session"]] as const
  ) {
    const moved = await post("moves", at.warehouse, line, { ...line, to_bin_id });
    expect(moved).toFailWith(409, code);
    expect(moved.body.field).toBe("items.1.to_bin_id");
  }
  const sent = { item_id: there.item, source_bin_id: there.bin, quantity: 1 };
  const transferred = await tenant.ops.post("/warehousing/inventory-transfers", {
    source_warehouse_id: there.warehouse,
    destination_warehouse_id: at.warehouse,
    items: [{ ...sent, destination_bin_id: beside }, { ...sent, destination_bin_id: closed }],
  });
  expect(transferred).toFailWith(409, "bin_inactive");
  expect(transferred.body.field).toBe("items.1.destination_bin_id");
});

test("of counts and adjustments, and a piece that is moved about is never in two places", async () => {
  const counted = (serial_number: string, bin_id: string) => ({
    item_id: piece,
    bin_id,
    serial_number,
    counted: 1,
  });
  const answer = await post("counts", at.warehouse, counted("S1", at.bin), counted("S2", beside));
  expect(answer).toFailWith(409, "serial_number_taken");
  expect(answer.body.field).toBe("items.1.serial_number");
  const adjusted = await tenant.ops.post("/warehousing/inventory/adjustments", {
    ...{ warehouse_id: at.warehouse, item_id: piece, bin_id: beside, serial_number: "S2" },
    ...{ delta: 1, reason: "found" },
  });
  expect(adjusted).toFailWith(409, "serial_number_taken");
  expect(adjusted.body.field).toBe("serial_number");
  const step = (from_bin_id: string, to_bin_id: string) => ({
    ...{ item_id: piece, serial_number: "S1", quantity: 1 },
    ...{ from_bin_id, to_bin_id },
  });
  expect(await post("moves", at.warehouse, step(at.bin, beside), step(beside, at.bin)))
    .toSucceed(201);
  expect(await post("moves", at.warehouse, step(at.bin, beside))).toSucceed(201);
  await checkStock(tenant);
});
