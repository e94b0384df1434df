/** The lines of a receipt, and the entry that an error names. */
import { beforeAll, describe, expect, test } from "vitest";
import {
  assign,
  deliveryIn,
  type Ground,
  moves,
  newDelivery,
  newGround,
} from "../../support/deliveries.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";
import { newBin } from "../../support/warehouses.ts";

const receipts = "/warehousing/receiving-orders";
let tenant: Tenant;
let ground: Ground;

beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});

/** A pending receipt of three boxes and two bags. */
async function expected(at = ground) {
  const items = [{ name: "Boxes", quantity: 3 }, { name: "Bags", quantity: 2 }];
  const { id } = await deliveryIn(at, "in_transit", { package_details: { items } });
  const { receiving_order_id } = await moves(tenant.driver, id, [
    "return",
    { warehouse_id: at.warehouse },
  ]);
  const { order } = (await tenant.ops.get(`${receipts}/${receiving_order_id}`)).body;
  const [boxes, bags] = order.item_details.map((line: { item_id: string }) => line.item_id);
  const take = (...item_details: object[]) =>
    tenant.warehouse.put(`${receipts}/${receiving_order_id}`, { status: "received", item_details });
  return { take, boxes, bags };
}

describe("a line of a receipt", () => {
  test("has room for one entry, by its item or by its place", async () => {
    const { take, boxes, bags } = await expected();
    for (
      const [entries, field] of [
        [
          [{ item_id: boxes, received_quantity: 1 }, { item_id: boxes, condition: "damaged" }],
          "item_details.1.item_id",
        ],
        [
          [{ received_quantity: 1 }, { item_id: bags }, { item_id: boxes }],
          "item_details.2.item_id",
        ],
        [[{ item_id: bags }, { received_quantity: 1 }], "item_details.1"],
      ] as const
    ) {
      const answer = await take(...entries);
      expect(answer, field).toFailWith(400, "item_named_twice");
      expect(answer.body.field).toBe(field);
    }
    const answer = await take({ item_id: bags, received_quantity: 1 }, {
      item_id: boxes,
      condition: "damaged",
    });
    expect(answer).toSucceed(200);
    expect(answer.body.order.item_details).toMatchObject([
      { item_id: boxes, received_quantity: 3, condition: "damaged" },
      { item_id: bags, received_quantity: 1, condition: "good" },
    ]);
  });

  test("is named by the entry that is wrong about it", async () => {
    const { take, boxes, bags } = await expected();
    const closed = await newBin(tenant, ground.warehouse, { is_active: false });
    const elsewhere = (await newGround(tenant)).bin;
    for (
      const [entries, status, code, field] of [
        [[{}, { received_quantity: 9 }], 400, "received_too_much", "1.received_quantity"],
        [
          [{ item_id: bags }, { item_id: boxes, received_quantity: 9 }],
          400,
          "received_too_much",
          "1.received_quantity",
        ],
        [[{}, { bin_id: closed }], 409, "bin_inactive", "1.bin_id"],
        [[{ bin_id: closed }, {}], 409, "bin_inactive", "0.bin_id"],
        [[{}, { bin_id: elsewhere }], 404, "bin_not_found", "1.bin_id"],
        [[{}, {}, {}], 404, "inventory_item_not_found", "2.item_id"],
      ] as const
    ) {
      const answer = await take(...entries);
      expect(answer, field).toFailWith(status, code);
      expect(answer.body.field).toBe(`item_details.${field}`);
    }
  });

  test("needs a bin, and the entry that lacks one is named", async () => {
    const bare = await newGround(tenant, { bin: false });
    const { take } = await expected(bare);
    const shelf = await newBin(tenant, bare.warehouse);
    const answer = await take({ received_quantity: 0 }, { received_quantity: 1 });
    expect(answer).toFailWith(400, "bin_id_required_for_received_items");
    expect(answer.body.field).toBe("item_details.1.bin_id");
    const second = await newBin(tenant, bare.warehouse);
    const taken = await take({}, { bin_id: shelf });
    expect(taken).toSucceed(200);
    expect(taken.body.order.item_details).toMatchObject([{ bin_id: shelf }, { bin_id: shelf }]);
    const other = await (await expected(bare)).take({ bin_id: second }, { bin_id: shelf });
    expect(other.body.order.item_details).toMatchObject([{ bin_id: second }, { bin_id: shelf }]);
    const first = await (await expected(bare)).take({ bin_id: second });
    expect(first.body.order.item_details).toMatchObject([{ bin_id: second }, { bin_id: second }]);
  });
});

test("a parcel that was handed over is received, or missed in its lines, and its receipt not cancelled", async () => {
  const strict = await newTenant();
  await saveSettings(strict.id, "general.warehouse", { handoff_required: true });
  const at = await newGround(strict);
  const { legs } = await newDelivery(at, { staged: true, warehouse_id: at.warehouse });
  await assign(strict, legs[0].id);
  await moves(strict.driver, legs[0].id, "pickup", "depart", "complete");
  const [{ id }] = (await strict.warehouse.get(receipts)).body.data;
  for (
    const [language, says] of [["en", /receive it/], ["ar", /استلمه/], ["ku", /وەریبگرە/]] as const
  ) {
    const off = await strict.warehouse.in(language).put(`${receipts}/${id}`, {
      status: "cancelled",
    });
    expect(off).toFailWith(409, "invalid_status_transition");
    expect(off.body.message).toMatch(says);
  }
  const nothing = { status: "received", item_details: [{ received_quantity: 0 }] };
  expect(await strict.warehouse.put(`${receipts}/${id}`, nothing)).toSucceed(200);
});
