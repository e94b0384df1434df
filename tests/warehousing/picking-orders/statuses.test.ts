import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newAddress } from "../../support/make.ts";
import { newService } from "../../support/money.ts";
import { line, newPicking, type Picking, pickingOrders as path } from "../../support/picking.ts";
import { checkStock, inTenant, newShelf, unitsOf } from "../../support/warehouses.ts";

let { tenant, newOrder } = {} as Picking;
beforeAll(async () => {
  ({ tenant, newOrder } = await newPicking());
});

describe("the statuses", () => {
  const all = ["pending", "in_progress", "completed", "handed_off", "cancelled"] as const;
  const legal = new Set([
    "pending>in_progress",
    "pending>completed",
    "pending>cancelled",
    "in_progress>completed",
    "in_progress>cancelled",
    "completed>handed_off",
    ...all.map((status) => `${status}>${status}`),
  ]);
  const routes: Record<typeof all[number], string[]> = {
    pending: [],
    in_progress: ["in_progress"],
    completed: ["completed"],
    handed_off: ["completed", "handed_off"],
    cancelled: ["cancelled"],
  };

  test("move as the table says and no other way, and stock agrees", async () => {
    for (const from of all) {
      for (const to of all) {
        const at = await newShelf(tenant, 5);
        const order = await newOrder({}, at);
        const put = (status: string) => tenant.ops.put(`${path}/${order.id}`, { status });
        for (const step of routes[from]) expect(await put(step)).toSucceed(200);
        const answer = await put(to);
        if (legal.has(`${from}>${to}`)) {
          expect(answer, `${from}>${to}`).toSucceed(200);
          expect(answer.body.order.status).toBe(to);
        } else {
          expect(answer, `${from}>${to}`).toFailWith(409, "invalid_status_transition");
          expect(answer.body).toMatchObject({ from, to });
        }
        const now = legal.has(`${from}>${to}`) ? to : from;
        expect(await unitsOf(at.item), `${from}>${to}`).toEqual(
          now === "in_progress"
            ? { available: 3, reserved: 2 }
            : now === "completed" || now === "handed_off"
            ? { available: 3 }
            : { available: 5 },
        );
      }
    }
    await checkStock(tenant);
  });

  test("a pick that stock does not suffice for stays where it is", async () => {
    const at = await newShelf(tenant, 2);
    const [first, second] = [await newOrder({}, at), await newOrder({}, at)];
    expect(await tenant.ops.put(`${path}/${first.id}`, { status: "in_progress" })).toSucceed(200);
    expect(await tenant.ops.put(`${path}/${second.id}`, { status: "in_progress" }))
      .toFailWith(409, "insufficient_stock");
    expect((await tenant.ops.get(`${path}/${second.id}`)).body.order.status).toBe("pending");
  });

  test("the pick of a delivery keeps its stock until the driver comes, and only the driver hands it off", async () => {
    const at = await newShelf(tenant, 5);
    const order = await newOrder({ status: "in_progress" }, at);
    const delivery = await aDelivery();
    await sql`update warehousing.picking_orders set delivery_id = ${delivery} where id = ${order.id}`;
    const put = (body: object) => tenant.ops.put(`${path}/${order.id}`, body);
    const handOff = async () => {
      expect(await put({ status: "handed_off" }))
        .toFailWith(409, "pnd_picking_handed_off_by_driver_pickup");
    };
    await handOff();
    expect(await put({ item_details: [line(at, { quantity: 1 })] }))
      .toFailWith(409, "picking_items_fixed");
    expect(await put({ item_details: [line(at, { picked_quantity: 1 })], status: "completed" }))
      .toFailWith(409, "picking_incomplete");
    expect(await put({ status: "completed" })).toSucceed(200);
    expect(await unitsOf(at.item)).toEqual({ available: 3, reserved: 2 });
    await handOff();
    expect(await put({ status: "cancelled" })).toFailWith(409, "invalid_status_transition");
    const read = await tenant.ops.get(`${path}/${order.id}`);
    expect(read.body.order).toMatchObject({ status: "completed", delivery_id: expect.any(String) });
    // As the driver's pick-up does it.
    await inTenant(tenant, "select warehousing.stock_exit('picking_order', $1::uuid)", [order.id]);
    await sql`update warehousing.picking_orders set status = 'handed_off' where id = ${order.id}`;
    expect(await unitsOf(at.item)).toEqual({ available: 3 });
    await handOff();
    await checkStock(tenant);
  });
});

async function aDelivery(): Promise<string> {
  const [service, address] = [await newService(tenant), await newAddress(tenant)];
  const place = sql.json({ full_address: "Street 1", city: "Baghdad" });
  const code = 800_000_000 + Math.floor(Math.random() * 1e8);
  const row = {
    tenant_id: tenant.id,
    delivery_code: code,
    barcode: `D-${code}`,
    institution_user_id: tenant.institution.id,
    delivery_service_id: service,
    payer_type: "sender",
    payment_method: "wallet",
    delivery_fee: 1000,
    currency: "IQD",
    unit_size: 1,
    unit_size_source: "service_min",
    pickup_address_id: address,
    dropoff_address_id: address,
    pickup_snapshot: place,
    dropoff_snapshot: place,
    recipient: sql.json({ name: "Recipient", phone: "+9647700000001" }),
    service_snapshot: sql.json({ name: { en: "Standard" } }),
  };
  const [made] = await sql`insert into delivery.deliveries ${sql(row)} returning id`;
  return made.id;
}
