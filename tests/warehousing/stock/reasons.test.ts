/** Refusals say what is wrong with which field, in words that help a person with a scanner. */
import { beforeAll, expect, test } from "vitest";
import { newTenant, type Tenant } from "../../support/people.ts";
import { newAddress } from "../../support/make.ts";
import { newItem, newShelf, type Shelf, stockIn } from "../../support/warehouses.ts";

let tenant: Tenant;
let at: Shelf;
beforeAll(async () => {
  tenant = await newTenant();
  at = await newShelf(tenant, 5);
});

const post = (path: string, body: object, language: "en" | "ar" | "ku" = "en") =>
  tenant.ops.in(language).post(`/warehousing/${path}`, body);

test("a code or number that another one has is named by its field", async () => {
  const bins = `warehouses/${at.warehouse}/bins`;
  const there = await newShelf(tenant, 0);
  for (
    const [path, body, code, field] of [
      [
        "warehouses",
        {
          ...{ name: "W", code: "TAKEN", address_id: await newAddress(tenant) },
        },
        "warehouse_code_exists",
        "code",
      ],
      [bins, { name: "B", code: "TAKEN" }, "bin_code_exists", "code"],
      ["inventory-items", { name: "I", sku: "TAKEN" }, "item_sku_exists", "sku"],
      [
        "picking-orders",
        {
          ...{ warehouse_id: at.warehouse, order_type: "batch", status: "pending" },
          item_details: [{ item_id: at.item, bin_id: at.bin, quantity: 1 }],
          reference_number: "TAKEN",
        },
        "picking_reference_exists",
        "reference_number",
      ],
      [
        "inventory-transfers",
        {
          ...{ source_warehouse_id: at.warehouse, destination_warehouse_id: there.warehouse },
          items: [{
            ...{ item_id: at.item, quantity: 1 },
            ...{ source_bin_id: at.bin, destination_bin_id: there.bin },
          }],
          reference_number: "TAKEN",
        },
        "transfer_reference_exists",
        "reference_number",
      ],
    ] as const
  ) {
    expect(await post(path, body), path).toSucceed(201);
    const again = await post(path, body);
    expect(again, path).toFailWith(409, code);
    expect(again.body.field, path).toBe(field);
  }
  const receiving = { name: "R", is_default_receiving: true };
  expect(await post(bins, { ...receiving, code: "R1" })).toSucceed(201);
  const second = await post(bins, { ...receiving, code: "R2" });
  expect(second).toFailWith(409, "default_receiving_exists");
  expect(second.body.field).toBe("is_default_receiving");
});

test("goods with lots or serial numbers that are asked for without are not said to be missing", async () => {
  const lots = await newItem(tenant);
  const piece = await newItem(tenant, { is_serialized: true });
  const place = { warehouse_id: at.warehouse, bin_id: at.bin };
  await stockIn(tenant, { ...place, item_id: lots, quantity: 9, lot_number: "L1" });
  await stockIn(tenant, { ...place, item_id: piece, quantity: 1, serial_number: "S1" });
  for (const item_id of [lots, piece]) {
    for (
      const [path, line, field] of [
        [
          "moves",
          { from_bin_id: at.bin, to_bin_id: at.bin, to_status: "damaged" },
          "items.0.quantity",
        ],
        ["write-offs", { bin_id: at.bin }, "items.0.quantity"],
      ] as const
    ) {
      if (path === "moves" && item_id === piece) continue;
      const items = [{ item_id, quantity: 1, ...line }];
      const answer = await post(`inventory/${path}`, {
        ...{ warehouse_id: at.warehouse, reason: "x" },
        items,
      });
      expect(answer, path).toFailWith(409, "insufficient_stock");
      expect(answer.body).toMatchObject({ field, item_id });
      expect(answer.body.message).toMatch(/name the lot or the piece/);
    }
  }
  const body = { ...place, item_id: lots, delta: -1, reason: "x" };
  expect((await post("inventory/adjustments", body, "ar")).body.message).toMatch(/الدفعة/);
  // Of a lot that is named there is too little, as of goods without any.
  for (const more of [{ lot_number: "L1", delta: -10 }, { item_id: at.item, delta: -10 }]) {
    const short = await post("inventory/adjustments", { ...body, ...more });
    expect(short.body.message).toBe("There is not enough available stock.");
  }
});

test("a line that says nothing, or the same twice, is refused with the reason", async () => {
  const place = { item_id: at.item, bin_id: at.bin };
  const move = { item_id: at.item, from_bin_id: at.bin, to_bin_id: at.bin, quantity: 1 };
  const counted = { ...place, counted: 1 };
  const { id } = (await post("picking-orders", {
    ...{ warehouse_id: at.warehouse, order_type: "batch", status: "pending" },
    item_details: [{ ...place, quantity: 1 }],
  })).body.order;
  const picked = { ...place, picked_quantity: 1 };
  for (
    const [path, body, field, reason] of [
      ["inventory/moves", { items: [move] }, "items.0.to_bin_id", /lies already/],
      ["inventory/counts", { items: [counted, counted] }, "items.1.item_id", /more than once/],
      ["inventory/adjustments", { ...place, delta: 0, reason: "x" }, "delta", /not be 0/],
      [
        `picking-orders/${id}/progress`,
        { status: "completed", items: [picked, picked] },
        "items",
        /more than once/,
      ],
    ] as const
  ) {
    for (const language of ["en", "ar", "ku"] as const) {
      const answer = await post(path, { warehouse_id: at.warehouse, ...body }, language);
      expect(answer, path).toFailWith(400, "validation_failed");
      expect(answer.body.field, path).toBe(field);
      if (language === "en") expect(answer.body.message, path).toMatch(reason);
      else expect(answer.body.message).not.toMatch(/صيغته غير صحيحة|شێوەکەی هەڵەیە/);
    }
  }
});
