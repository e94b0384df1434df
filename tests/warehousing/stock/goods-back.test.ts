/** Goods that come back without a delivery. */
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { anId } from "../../support/expect.ts";
import { newStagedPackage, newYard } from "../../support/packages.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectRefused, expectReplayed } from "../../support/promises.ts";
import {
  checkStock,
  eventsOf,
  newBin,
  newItem,
  newShelf,
  type Shelf,
  unitsOf,
} from "../../support/warehouses.ts";
import { itemOf } from "../../support/waybills.ts";

const back = "/warehousing/inventory/returns";
let tenant: Tenant;
let foreign: Shelf;

beforeAll(async () => {
  tenant = await newTenant();
  foreign = await newShelf(await newTenant(), 5);
});

const line = (at: Shelf, more: object = {}) => ({
  item_id: at.item,
  bin_id: at.bin,
  quantity: 4,
  ...more,
});

describe("goods that come back without a delivery", () => {
  const sent = (at: Shelf, ...lines: object[]) => ({
    warehouse_id: at.warehouse,
    reason: "Exhibition over",
    items: lines.length ? lines : [line(at)],
  });

  test("come into stock as what they are, by movements that say why", async () => {
    const at = await newShelf(tenant, 0);
    const answer = await tenant.warehouse.post(back, {
      ...sent(at, line(at), line(at, { quantity: 1, status: "damaged", lot_number: "L1" })),
      notes: "two boxes",
    });
    expect(answer).toSucceed(201);
    expect(answer.body).toMatchObject({
      return_id: anId,
      transactions: [
        { transaction_type: "return", quantity: 4, from_bin: null, to_bin: { id: at.bin } },
        { transaction_type: "return", quantity: 1, lot_number: "L1" },
      ],
    });
    expect(await unitsOf(at.item)).toEqual({ available: 4, damaged: 1 });
    const [{ reason }] = await sql`select distinct reason from warehousing.inventory_transactions
      where reference_id = ${answer.body.return_id} and reference_type = 'return'`;
    expect(reason).toBe("Exhibition over: two boxes");
    expect(await eventsOf(at.warehouse)).toEqual(["inventory.returned"]);
    await checkStock(tenant);
  });

  test("are refused as receipts are, and what is in a parcel comes with it", async () => {
    const at = await newShelf(tenant, 0);
    const { reason: _, ...unexplained } = sent(at);
    await expectRefused(tenant.ops, { method: "POST", path: back }, [
      [unexplained, "reason"],
      [{ ...sent(at), items: [] }, "items"],
      [sent(at, line(at, { quantity: 0 })), "items.0.quantity"],
      [sent(at, line(at, { status: "expired" })), "items.0.status"],
    ]);
    const yard = await newYard(tenant);
    const item_id = await itemOf((await newStagedPackage(yard)).parent.id);
    const idle = await newItem(tenant, { is_active: false });
    const piece = await newItem(tenant, { is_serialized: true });
    const closed = await newBin(tenant, at.warehouse, { is_active: false });
    for (
      const [more, status, code, field] of [
        [{ item_id }, 409, "item_of_parcel", "items.0.item_id"],
        [{ item_id: idle }, 409, "inventory_item_inactive", "items.0.item_id"],
        [{ item_id: foreign.item }, 404, "inventory_item_not_found", "items.0.item_id"],
        [{ bin_id: foreign.bin }, 404, "bin_not_found", "items.0.bin_id"],
        [{ bin_id: closed }, 409, "bin_inactive", "items.0.bin_id"],
        [{ item_id: piece, quantity: 1 }, 400, "serial_number_required", "items.0.serial_number"],
        [
          { item_id: piece, serial_number: "S1" },
          400,
          "serial_quantity_must_be_one",
          "items.0.quantity",
        ],
      ] as const
    ) {
      const answer = await tenant.warehouse.post(back, sent(at, line(at, more)));
      expect(answer, code).toFailWith(status, code);
      expect(answer.body.field).toBe(field);
    }
    expect(await tenant.ops.post(back, { ...sent(at), warehouse_id: foreign.warehouse }))
      .toFailWith(404, "warehouse_not_found");
    const once = sent(at, line(at, { item_id: piece, quantity: 1, serial_number: "S1" }));
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => tenant.warehouse.post(back, once)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409]);
    for (const answer of answers) {
      if (answer.status === 409) expect(answer).toFailWith(409, "serial_number_taken");
    }
    expect(await unitsOf(at.item)).toEqual({});
    await expectReplayed(tenant.warehouse, back, sent(at), sent(at, line(at, { quantity: 1 })));
    expect(await unitsOf(at.item)).toEqual({ available: 4 });
    await expectGuarded({ method: "POST", path: back, body: sent(at) }, {
      denied: [tenant.staff, tenant.driver, tenant.institution, tenant.customer],
    });
    await checkStock(tenant);
  });
});
