/** Transfers of stock that are refused, and move nothing. */
import { beforeAll, describe, expect, test } from "vitest";
import { newRoute } from "../../support/inventory-transfers.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectRefused } from "../../support/promises.ts";
import { newBin, newShelf, unitsOf } from "../../support/warehouses.ts";

const path = "/warehousing/inventory-transfers";
let tenant: Tenant;
let other: Tenant;

beforeAll(async () => {
  [tenant, other] = [await newTenant(), await newTenant()];
});

const route = (quantity?: number) => newRoute(tenant, quantity);

describe("a transfer", () => {
  test("names what is not there", async () => {
    const r = await route();
    const foreign = await newShelf(other, 10);
    const closed = await newBin(tenant, r.destination, { is_active: false });
    for (
      const [body, status, code, field] of [
        [
          r.body({ destination_warehouse_id: r.source }),
          400,
          "warehouses_must_differ",
          "destination_warehouse_id",
        ],
        [
          r.body({ source_warehouse_id: foreign.warehouse }),
          404,
          "warehouse_not_found",
          "source_warehouse_id",
        ],
        [
          r.body({ destination_warehouse_id: foreign.warehouse }),
          404,
          "warehouse_not_found",
          "destination_warehouse_id",
        ],
        [
          r.body({}, r.line(), r.line({ source_bin_id: r.destination_bin_id })),
          404,
          "bin_not_found",
          "items.1.source_bin_id",
        ],
        [
          r.body({}, r.line({ destination_bin_id: r.source_bin_id })),
          404,
          "bin_not_found",
          "items.0.destination_bin_id",
        ],
        [
          r.body({}, r.line({ source_bin_id: foreign.bin })),
          404,
          "bin_not_found",
          "items.0.source_bin_id",
        ],
        [
          r.body({}, r.line({ item_id: foreign.item })),
          404,
          "inventory_item_not_found",
          "items.0.item_id",
        ],
        [
          r.body({}, r.line({ destination_bin_id: closed })),
          409,
          "bin_inactive",
          "items.0.destination_bin_id",
        ],
      ] as const
    ) {
      const answer = await tenant.ops.post(path, body);
      expect(answer, JSON.stringify(body)).toFailWith(status, code);
      expect(answer.body.field).toBe(field);
    }
    expect(await unitsOf(r.item_id)).toEqual({ available: 10 });
    expect(await unitsOf(foreign.item)).toEqual({ available: 10 });
  });

  test("refuses wrong input and the wrong people, in the caller's language", async () => {
    const r = await route();
    await expectRefused(tenant.ops, { method: "POST", path }, [
      [{}, "source_warehouse_id", "validation_failed"],
      [r.body({ items: [] }), "items"],
      [r.body({ items: undefined }), "items"],
      [r.body({}, r.line({ quantity: 0 })), "items.0.quantity"],
      [r.body({}, r.line({ quantity: -1 })), "items.0.quantity"],
      [r.body({}, r.line({ quantity: 1.5 })), "items.0.quantity"],
      [r.body({}, r.line({ quantity: "4" })), "items.0.quantity"],
      [
        r.body({}, r.line({ destination_bin_id: undefined })),
        "items.0.destination_bin_id",
        "validation_failed",
      ],
      [r.body({}, r.line({ lot_number: "" })), "items.0.lot_number"],
      [r.body({ reference_number: " " }), "reference_number"],
    ]);
    const said = await Promise.all(
      (["ar", "ku"] as const).map((language) =>
        tenant.ops.in(language).post(path, r.body({}, r.line({ quantity: 99 })))
      ),
    );
    for (const answer of said) {
      expect(answer).toFailWith(409, "insufficient_stock");
      expect(answer.body.message).toMatch(/[\u0600-\u06ff]/);
    }
    const { staff, driver, institution, customer } = tenant;
    await expectGuarded({ method: "POST", path, body: r.body() }, {
      denied: [staff, driver, institution, customer],
    });
    await expectGuarded({ method: "GET", path }, { denied: [driver, institution, customer] });
  });
});
