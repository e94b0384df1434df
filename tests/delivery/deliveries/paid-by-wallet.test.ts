/** Fees of deliveries that a wallet pays. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import {
  checkAll,
  deliveryIn,
  type Ground,
  move,
  moves,
  newDelivery,
  newGround,
  order,
  path,
} from "../../support/deliveries.ts";
import { balanceOf, fundWallet, paymentsOf } from "../../support/money.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let ground: Ground;
let wallet: string;

beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
  wallet = await fundWallet(tenant, "customer", tenant.customer.id, 100_000);
});
afterAll(() => checkAll(tenant));

describe("a wallet", () => {
  test("pays when the order is given, not when it is drafted", async () => {
    const before = await balanceOf(wallet);
    const draft = await tenant.customer.post(
      path,
      order(ground, {
        customer_id: undefined,
        payer_type: "sender",
        payment_method: "wallet",
        status: "draft",
      }),
    );
    expect(draft).toSucceed(201);
    expect(await balanceOf(wallet)).toBe(before);
    expect(await move(tenant.customer, draft.body.id, "submit")).toSucceed();
    expect(await balanceOf(wallet)).toBe(before - 2000);
    expect(await move(tenant.customer, draft.body.id, "submit")).toFailWith(
      409,
      "invalid_status_transition",
    );
    expect(await balanceOf(wallet)).toBe(before - 2000);
  });

  test("that is short refuses the order, and nothing is left of it", async () => {
    const poor = await newTenant();
    const there = await newGround(poor);
    const answer = await poor.customer.post(
      path,
      order(there, { payer_type: "sender", payment_method: "wallet" }),
    );
    expect(answer).toFailWith(400, "insufficient_wallet_balance");
    const [{ n }] =
      await sql`select count(*)::int as n from delivery.deliveries where tenant_id = ${poor.id}`;
    expect(n).toBe(0);
  });

  test("is the sender's: no receiver pays with it, and somebody must own it", async () => {
    const wrong = { payer_type: "receiver", payment_method: "wallet" };
    expect(await tenant.ops.post(path, order(ground, wrong))).toFailWith(
      400,
      "wallet_is_the_senders",
    );
    expect(
      await tenant.ops.post(
        path,
        order(ground, { ...wrong, payer_type: "sender", customer_id: null }),
      ),
    ).toFailWith(400, "customer_required_for_wallet");
  });

  test("gets nothing back where the policy keeps the fee of a cancelled order", async () => {
    await sql`update delivery.delivery_services set policy_mode = 'custom',
      policy_overrides = '{"payment_policies": {"refund_delivery_fee_on_cancel": false, "refund_delivery_fee_on_return": true}}'
      where id = ${ground.service}`;
    const { id } = await newDelivery(ground, { payer_type: "sender", payment_method: "wallet" });
    const before = await balanceOf(wallet);
    expect((await moves(tenant.ops, id, ["cancel", { reason: "no" }])).refunded).toBe(false);
    expect(await balanceOf(wallet)).toBe(before);
    const back = await deliveryIn(ground, "returned", {
      payer_type: "sender",
      payment_method: "wallet",
    });
    expect(await paymentsOf(back.id)).toMatchObject([{ type: "DELIVERY_FEE" }, {
      type: "REFUND",
      amount: 2000,
    }]);
    expect(await balanceOf(wallet)).toBe(before);
    await sql`update delivery.delivery_services set policy_mode = 'tenant', policy_overrides = '{}'
      where id = ${ground.service}`;
  });
});
