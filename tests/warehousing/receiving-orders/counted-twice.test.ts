/** Two receive the same parcel: the second count is not lost without a word. */
import { beforeAll, describe, expect, test } from "vitest";
import { deliveryIn, type Ground, moves, newGround } from "../../support/deliveries.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { checkStock, newBin } from "../../support/warehouses.ts";

const receipts = "/warehousing/receiving-orders";
let tenant: Tenant;
let ground: Ground;

beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});

/** A pending receipt of three boxes and two bags. */
async function expected() {
  const items = [{ name: "Boxes", quantity: 3 }, { name: "Bags", quantity: 2 }];
  const { id } = await deliveryIn(ground, "in_transit", { package_details: { items } });
  const { receiving_order_id } = await moves(tenant.driver, id, [
    "return",
    { warehouse_id: ground.warehouse },
  ]);
  const path = `${receipts}/${receiving_order_id}`;
  const { order } = (await tenant.ops.get(path)).body;
  const [boxes, bags] = order.item_details.map((line: { item_id: string }) => line.item_id);
  const take = (item_details?: object[] | null, person = tenant.warehouse) =>
    person.put(path, { status: "received", item_details });
  return { path, take, boxes, bags };
}

describe("what was received", () => {
  test("as it was counted is the same again, however it is said", async () => {
    const { take, boxes, bags } = await expected();
    const counted = [{ item_id: boxes, received_quantity: 2, damaged_quantity: 1 }];
    const first = await take(counted);
    expect(first).toSucceed(200);
    for (
      const same of [
        counted,
        [{ ...counted[0], condition: "damaged" }, { item_id: bags }],
        [{ item_id: bags, received_quantity: 2 }, { ...counted[0], bin_id: ground.bin }],
      ]
    ) {
      const again = await take(same, tenant.ops);
      expect(again, JSON.stringify(same)).toSucceed(200);
      expect(again.body.order).toEqual(first.body.order);
    }
  });

  test("with another count is refused, and says who received it and what can be done", async () => {
    const { path, take, boxes, bags } = await expected();
    const first = await take([{ item_id: boxes, received_quantity: 2 }]);
    expect(first).toSucceed(200);
    const beside = await newBin(tenant, ground.warehouse);
    const same = { item_id: boxes, received_quantity: 2 };
    for (
      const other of [
        undefined,
        null,
        [],
        [{ item_id: boxes, received_quantity: 3 }],
        [{ ...same, condition: "damaged" }],
        [{ ...same, damaged_quantity: 1 }],
        [{ ...same, bin_id: beside }],
        [same, { item_id: bags, received_quantity: 0 }],
        [same, {}, {}],
      ]
    ) {
      const answer = await take(other, tenant.ops);
      expect(answer, JSON.stringify(other)).toFailWith(409, "invalid_status_transition");
    }
    const { receiver } = first.body.order;
    for (
      const [language, says] of [["en", /adjustment/], ["ar", /تعديل/], [
        "ku",
        /ڕاستکردنەوە/,
      ]] as const
    ) {
      const { message } = (await tenant.ops.in(language).put(path, { status: "received" })).body;
      expect(message).toMatch(says);
      expect(message).toContain(receiver.full_name);
    }
    expect((await tenant.ops.get(path)).body.order).toEqual(first.body.order);
    await checkStock(tenant);
  });

  test("whole is whole without lines", async () => {
    const { take, boxes } = await expected();
    expect(await take()).toSucceed(200);
    for (const same of [undefined, [], [{ item_id: boxes, received_quantity: 3 }]]) {
      expect(await take(same)).toSucceed(200);
    }
  });
});
