/** Changes of an amount that are refused, and change nothing. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { amountChanges, change } from "../../support/amount-changes.ts";
import { bookedCash, enable } from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import {
  deliveryIn,
  type Ground,
  move,
  newDelivery,
  newGround,
  path,
  stagedInWarehouse,
} from "../../support/deliveries.ts";
import { checkDeliveries } from "../../support/delivery-invariants.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectNoSuch, expectRefused } from "../../support/promises.ts";
import { soldInStore } from "../../support/sold.ts";

let ground: Ground;
let tenant: Tenant;
let other: Tenant;

beforeAll(async () => {
  ground = await newGround(await newTenant());
  tenant = ground.tenant;
  other = await newTenant();
});
afterAll(() => checkDeliveries(tenant));

describe("a change is refused", () => {
  test("of what is no order, has ended, comes back, belongs to a store or is with a carrier", async () => {
    for (
      const [status, code] of [
        ["draft", "delivery_is_draft"],
        ["delivered", "delivery_ended"],
        ["cancelled", "delivery_ended"],
        ["returned", "delivery_ended"],
      ]
    ) {
      const { id } = await deliveryIn(ground, status, { cod_amount: 5000 });
      expect(await change(tenant.ops, id, 1)).toFailWith(409, code);
    }
    const { b } = await stagedInWarehouse(ground, { cod_amount: 5000 });
    const back = await move(tenant.ops, b, "operational-return");
    expect(await change(tenant.ops, back.body.id, 1)).toFailWith(409, "operational_return_fixed");
    const sold = await newDelivery(ground, { cod_amount: 5000 });
    const unsold = await soldInStore(tenant, sold.id);
    expect(await change(tenant.ops, sold.id, 1)).toFailWith(409, "order_amount_fixed");
    expect(await change(tenant.customer, sold.id, 1)).toFailWith(403, "forbidden");
    await unsold();
    await enable(tenant);
    const booked = await bookedCash(ground);
    for (const by of [tenant.ops, tenant.customer]) {
      expect(await change(by, booked.id, 1)).toFailWith(409, "shipment_booked");
    }
    await sql`update integration.carrier_shipments set status = 'cancelled' where delivery_id = ${booked.id}`;
    expect(await change(tenant.customer, booked.id, 1)).toSucceed(201);
  });

  test("where the amount is wrong, or the same, or nobody would be credited", async () => {
    const { id } = await newDelivery(ground, { cod_amount: 5000 });
    await expectRefused(tenant.ops, { method: "POST", path: amountChanges(id) }, [
      [{ reason: "x" }, "cod_amount"],
      [{ cod_amount: -1, reason: "x" }, "cod_amount"],
      [{ cod_amount: "5", reason: "x" }, "cod_amount"],
      [{ cod_amount: 1 }, "reason"],
      [{ cod_amount: 1, reason: " " }, "reason"],
      [{ cod_amount: 1.5, reason: "x" }, "cod_amount", "too_many_decimals"],
      [{ cod_amount: 5000, reason: "x" }, "cod_amount", "amount_unchanged"],
      [{ cod_amount: 1, reason: "x", kept_items: [] }, "kept_items"],
      [
        { cod_amount: 1, reason: "x", kept_items: [{ quantity: 1 }] },
        "kept_items.0.delivery_item_id",
      ],
    ]);
    const nobodys = await newDelivery(ground, { customer_id: undefined });
    const refused = await change(tenant.ops, nobodys.id, 1);
    expect(refused).toFailWith(400, "customer_required_for_cod");
    expect(refused.body.field).toBe("cod_amount");
  });

  test("to everybody else, and about another company's", async () => {
    const { id } = await newDelivery(ground, { cod_amount: 5000 });
    const call = {
      method: "POST",
      path: amountChanges(id),
      body: { cod_amount: 1, reason: "x" },
    } as const;
    await expectGuarded(call, { denied: [tenant.warehouse, tenant.staff] });
    await expectGuarded({ method: "GET", path: amountChanges(id) }, { denied: [] });
    const at = `${path}/{id}/amount-changes`;
    const post = { ...call, path: at };
    await expectNoSuch(other.admin, post, "delivery_id", "delivery_not_found", id);
    const get = { method: "GET", path: at } as const;
    await expectNoSuch(other.admin, get, "delivery_id", "delivery_not_found", id);
  });
});
