/** Deliveries that are cancelled: fees, assignments and stock. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import {
  assign,
  checkAll,
  type Ground,
  move,
  moves,
  newDelivery,
  newGround,
  parcelStock,
  stagedInWarehouse,
  statusOf,
} from "../../support/deliveries.ts";
import { balanceOf, fundWallet } from "../../support/money.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let ground: Ground;

beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});
afterAll(() => checkAll(tenant));

describe("cancelling", () => {
  test("a paid order gives the fee back once, however many cancel it", async () => {
    const wallet = await fundWallet(tenant, "customer", tenant.customer.id, 10_000);
    const before = await balanceOf(wallet);
    const { id } = await newDelivery(ground, { payer_type: "sender", payment_method: "wallet" });
    expect(await balanceOf(wallet)).toBe(before - 2000);
    const answers = await Promise.all(
      [tenant.ops, tenant.customer, tenant.admin, tenant.customer].map((who) =>
        move(who, id, "cancel", { reason: "changed my mind" })
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
    expect(answers.find(({ status }) => status === 200)!.body.refunded).toBe(true);
    expect(await balanceOf(wallet)).toBe(before);
    const payments =
      await sql`select type, status from money.payments where delivery_id = ${id} order by type`;
    expect(payments).toEqual([
      { type: "DELIVERY_FEE", status: "SUCCESS" },
      { type: "REFUND", status: "SUCCESS" },
    ]);
  });

  test("a staged order cancels its legs with it, until the first is under way", async () => {
    const parent = await newDelivery(ground, { staged: true, warehouse_id: ground.warehouse });
    await assign(tenant, parent.legs[0].id);
    expect(await move(tenant.customer, parent.id, "cancel", { reason: "no" }))
      .toFailWith(409, "invalid_status_transition");
    await moves(tenant.ops, parent.legs[0].id, ["cancel", { reason: "no" }]);
    const rows = await sql`select status from delivery.deliveries
      where id = ${parent.id} or parent_id = ${parent.id}`;
    expect(rows.map(({ status }) => status)).toEqual(["cancelled", "cancelled", "cancelled"]);
    const [live] = await sql`select status from delivery.assignments where delivery_id = ${
      parent.legs[0].id
    }`;
    expect(live.status).toBe("returned");
    const begun = await newDelivery(ground, { staged: true, warehouse_id: ground.warehouse });
    await assign(tenant, begun.legs[0].id);
    await moves(tenant.driver, begun.legs[0].id, "pickup");
    expect(await move(tenant.ops, begun.id, "cancel", { reason: "no" }))
      .toFailWith(409, "invalid_status_transition");
  });

  test("a prepared return puts its stock back and lets the original go out again", async () => {
    const { parent, b } = await stagedInWarehouse(ground);
    const { delivery } =
      (await move(tenant.ops, parent.id, "operational-return", { reason: "wrong" })).body;
    expect([await statusOf(b), await statusOf(parent.id)]).toEqual(["pending", "in_transit"]);
    expect(await move(tenant.ops, delivery.id, "execute")).toSucceed();
    expect(await parcelStock(parent.id)).toEqual({ reserved: 1 });
    await moves(tenant.ops, delivery.id, ["cancel", { reason: "sent out after all" }]);
    expect(await parcelStock(parent.id)).toEqual({ available: 1 });
    expect(await statusOf(b)).toBe("pending");
    expect(await move(tenant.ops, b, "execute")).toSucceed();
  });
});
