/** A parcel that is received incomplete or damaged is made known to those who decide what becomes of it. */
import { beforeAll, expect, test } from "vitest";
import type { Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { deliveryIn, type Ground, moves, newGround } from "../../support/deliveries.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let ground: Ground;
beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});

/** Three boxes, received so: the receiving order, and its delivery. */
async function received(line: Record<string, number>) {
  const items = [{ name: "Boxes", quantity: 3 }];
  const { id, delivery_code } = await deliveryIn(ground, "in_transit", {
    package_details: { items },
  });
  const { receiving_order_id } = await moves(tenant.driver, id, [
    "return",
    { warehouse_id: ground.warehouse },
  ]);
  const path = `/warehousing/receiving-orders/${receiving_order_id}`;
  const { order } = (await tenant.ops.get(path)).body;
  const item_details = [{ item_id: order.item_details[0].item_id, ...line }];
  for (let time = 0; time < 2; time++) {
    expect(await tenant.warehouse.put(path, { status: "received", item_details })).toSucceed(200);
  }
  return { delivery: id, delivery_code, receipt: receiving_order_id as string };
}

const noticesOf = async (who: Person, receipt: string, language = "en") =>
  (await who.get("/tenants/me/notifications", {
    query: { type: "receipt_incomplete", language },
  })).body.data.filter(({ payload }: { payload: { receiving_order_id: string } }) =>
    payload.receiving_order_id === receipt
  );
const eventOf = async (receipt: string) =>
  (await sql`select event_data from integration.system_events
    where entity_id = ${receipt} and event_type = 'receiving_order.received'`)[0]!.event_data;

test.each([
  [{ received_quantity: 2, damaged_quantity: 1 }, { missing: 1, damaged: 1 }],
  [{ received_quantity: 0 }, { missing: 3, damaged: 0 }],
  [{ received_quantity: 3, damaged_quantity: 3 }, { missing: 0, damaged: 3 }],
])("received as %j, administrators and operations are notified once of %j", async (line, lost) => {
  const { receipt, delivery, delivery_code } = await received(line);
  const { missing, damaged } = lost;
  for (const who of [tenant.admin, tenant.ops]) {
    const [notice, ...more] = await noticesOf(who, receipt);
    expect(more).toEqual([]);
    expect(notice.payload).toMatchObject({ ...lost, delivery_id: delivery, delivery_code });
    expect(notice.message).toBe(
      `Receiving order ${notice.payload.reference_number} came incomplete: ${missing} missing, ${damaged} damaged.`,
    );
  }
  for (const language of ["ar", "ku"]) {
    const [{ message }] = await noticesOf(tenant.ops, receipt, language);
    expect(message).toContain(`${missing}`);
    expect(message).not.toContain("missing");
  }
  for (const who of [tenant.warehouse, tenant.driver, tenant.customer]) {
    expect(await noticesOf(who, receipt)).toEqual([]);
  }
  expect(await eventOf(receipt)).toMatchObject(lost);
});

test("received whole, nobody is notified", async () => {
  const { receipt } = await received({ received_quantity: 3 });
  expect(await noticesOf(tenant.ops, receipt)).toEqual([]);
  expect(await eventOf(receipt)).toMatchObject({ missing: 0, damaged: 0 });
});
