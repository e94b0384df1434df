/** A count without a lot, where lots lie: what they hold is not booked a second time. */
import { beforeAll, describe, expect, test } from "vitest";
import { body, countsPath, differences, line, sendCount } from "../../support/inventory-counts.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { line as picked, pickingSteps } from "../../support/picking.ts";
import { checkStock, newShelf, type Shelf, stockIn, unitsOf } from "../../support/warehouses.ts";

let tenant: Tenant;

beforeAll(async () => {
  tenant = await newTenant();
});

const place = (at: Shelf) => ({ warehouse_id: at.warehouse, bin_id: at.bin, item_id: at.item });
const counted = (at: Shelf, items: object[], more: object = {}) =>
  sendCount(tenant.warehouse, at, items, more);

/** Sends a count that names too few lots. */
async function expectLotsAsked(
  at: Shelf,
  items: object[],
  more: object = {},
  field = "items.0.lot_number",
) {
  const sent = { ...body(at, ...items), ...more };
  const answer = await tenant.warehouse.post(countsPath, sent);
  expect(answer, JSON.stringify(sent)).toFailWith(409, "lot_number_required");
  expect(answer.body).toMatchObject({ field, item_id: at.item });
}

describe("a line without a lot", () => {
  test("is refused where only lots lie, however many were counted", async () => {
    const at = await newShelf(tenant, 0);
    await stockIn(tenant, { ...place(at), quantity: 5, lot_number: "L1" });
    for (const n of [5, 3, 0]) await expectLotsAsked(at, [line(at, n)]);
    await expectLotsAsked(
      at,
      [line(at, 1, { status: "damaged" }), line(at, 5)],
      {},
      "items.1.lot_number",
    );
    expect(await unitsOf(at.item)).toEqual({ available: 5 });
    const refused = tenant.warehouse.in("en").post(countsPath, body(at, line(at, 5)));
    expect((await refused).body.message).toMatch(/count each lot/i);
    // It takes what it asks for: each lot, and what has none beside them.
    expect(differences(await counted(at, [line(at, 4, { lot_number: "L1" }), line(at, 1)])))
      .toEqual([-1, 1]);
    expect(await unitsOf(at.item)).toEqual({ available: 5 });
    await checkStock(tenant);
  });

  test("changes what has none only when every lot beside it is counted", async () => {
    const at = await newShelf(tenant, 10);
    for (const lot_number of ["L1", "L2"]) {
      await stockIn(tenant, { ...place(at), quantity: 3, lot_number });
    }
    for (const n of [16, 7, 0]) await expectLotsAsked(at, [line(at, n)]);
    await expectLotsAsked(at, [line(at, 7), line(at, 3, { lot_number: "L1" })]);
    expect(differences(await counted(at, [line(at, 10)]))).toEqual([0]);
    const lots = [line(at, 3, { lot_number: "L1" }), line(at, 0, { lot_number: "L2" })];
    expect(differences(await counted(at, [line(at, 7), ...lots]))).toEqual([-3, 0, -3]);
    // The lot that is gone is asked for no more.
    expect(differences(await counted(at, [line(at, 8), lots[0]]))).toEqual([1, 0]);
    expect(await unitsOf(at.item)).toEqual({ available: 11 });
    await checkStock(tenant);
  });

  test("is about its own bin and status", async () => {
    const at = await newShelf(tenant, 2);
    const beside = await newShelf(tenant, 0);
    await stockIn(tenant, { ...place(at), quantity: 5, lot_number: "L1", status: "damaged" });
    await stockIn(tenant, { ...place(beside), quantity: 5, lot_number: "L1" });
    expect(differences(await counted(at, [line(at, 4)]))).toEqual([2]);
    await expectLotsAsked(at, [line(at, 4, { status: "damaged" })]);
  });

  test("sees the lots that are set aside for orders, and pieces with a number", async () => {
    const at = await newShelf(tenant, 0);
    await stockIn(tenant, { ...place(at), quantity: 2, lot_number: "L1" });
    await pickingSteps(tenant, at).newOrder({
      status: "in_progress",
      item_details: [picked(at, { quantity: 2 })],
    });
    expect(await unitsOf(at.item)).toEqual({ reserved: 2 });
    await expectLotsAsked(at, [line(at, 2)]);
    const other = await newShelf(tenant, 0);
    await stockIn(tenant, { ...place(other), quantity: 1, serial_number: "S1" });
    await expectLotsAsked(other, [line(other, 1)], {}, "items.0.serial_number");
    await stockIn(tenant, { ...place(other), quantity: 1, lot_number: "L1", serial_number: "S2" });
    await expectLotsAsked(other, [line(other, 2)]);
    const one = line(other, 1, { serial_number: "S1" });
    await expectLotsAsked(
      other,
      [one, line(other, 1, { lot_number: "L1" })],
      {},
      "items.1.serial_number",
    );
    await counted(other, [
      one,
      line(other, 1, { lot_number: "L1", serial_number: "S2" }),
      line(other, 3),
    ]);
    expect(await unitsOf(other.item)).toEqual({ available: 5 });
    await checkStock(tenant);
  });
});

test("of a whole bin, a line without a lot takes away and adds nothing", async () => {
  const at = await newShelf(tenant, 0);
  const whole = { whole_bins: true };
  await stockIn(tenant, { ...place(at), quantity: 5, lot_number: "L1" });
  await expectLotsAsked(at, [line(at, 5)], whole);
  // Its label is lost: the lot is not there, and the units are.
  const relabelled = await counted(at, [line(at, 5), line(at, 0, { lot_number: "L1" })], whole);
  expect(differences(relabelled)).toEqual([5, -5]);
  await stockIn(tenant, { ...place(at), quantity: 2, lot_number: "L2" });
  expect(differences(await counted(at, [line(at, 4)], whole))).toEqual([-1, -2]);
  await stockIn(tenant, { ...place(at), quantity: 2, lot_number: "L2" });
  expect(differences(await counted(at, [line(at, 0)], whole))).toEqual([-4, -2]);
  expect(await unitsOf(at.item)).toEqual({});
  await checkStock(tenant);
});
