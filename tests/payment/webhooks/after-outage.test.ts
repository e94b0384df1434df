/** Card orders that were paid while nothing here ran: the gateway is asked before they end. */
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import "../../support/expect.ts";
import { fundWallet } from "../../support/money.ts";
import {
  backRef,
  checkAll,
  methods,
  type Placed,
  placeOrder,
  type Shop,
  standing,
  walletOf,
} from "../../support/orders.ts";
import { askGateways, atGateway, hoursLater, newCardShop } from "../../support/payments.ts";

let shop: Shop;
beforeAll(async () => {
  shop = await newCardShop();
});

const expire = () => sql`select storefront.orders_expire()`;
const ask = (one: Shop = shop) => askGateways(one);
const paymentsOf = async ({ id }: Placed) =>
  (await sql`select status from money.payments where order_id = ${id} order by created_at, id`)
    .map(({ status }) => status);
const pending = { status: "pending", payment_status: "pending", paid: 0 };
const cancelled = { status: "cancelled", paid: 0 };

/** An order a day old; nobody here has heard of what its customer did at the gateway. */
async function unheard(decision?: "pay" | "decline", mine = shop): Promise<Placed> {
  const placed = await placeOrder(mine, "gatewayone");
  if (decision) await atGateway(placed.instructions.redirect_url, decision, "yes");
  await hoursLater(placed, 25);
  return placed;
}

describe("after a day in which nothing ran", () => {
  test("what was paid is paid, whichever job comes first", async () => {
    const before = await walletOf(shop.tenant, null);
    const placed = await unheard("pay");
    await expire();
    expect(await standing(placed.id)).toMatchObject(pending);
    await ask();
    await expire();
    expect(await standing(placed.id)).toMatchObject({
      status: "pending",
      payment_status: "paid",
      paid: 1,
    });
    expect(await walletOf(shop.tenant, null)).toBe(before + 6_000);
    expect(await shop.tenant.admin.put(`/storefront/orders/${placed.id}/approve`)).toSucceed(200);
    await checkAll(shop.tenant);
  });

  test("a look of the customer asks as well", async () => {
    const [paid, open] = [await unheard("pay"), await unheard()];
    for (const { id } of [paid, open]) {
      expect(await shop.tenant.customer.get(`/storefront/orders/${id}/payment-status`))
        .toSucceed(200);
    }
    await expire();
    expect(await standing(paid.id)).toMatchObject({ status: "pending", payment_status: "paid" });
    expect(await standing(open.id)).toMatchObject(cancelled);
  });

  test("another card after a failed try counts", async () => {
    const placed = await placeOrder(shop, "gatewayone");
    await atGateway(placed.instructions.redirect_url, "decline");
    await atGateway(placed.instructions.redirect_url, "pay", "yes");
    await hoursLater(placed, 25);
    await expire();
    await ask();
    expect(await standing(placed.id)).toMatchObject({ payment_status: "paid", paid: 1 });
  });

  test.each([
    ["nothing", undefined, "CANCELLED"],
    ["failed", "decline" as const, "FAILED"],
  ])("an order of which the gateway says %s ends after the question", async (_it, decision, is) => {
    const placed = await unheard(decision);
    await expire();
    expect(await standing(placed.id)).toMatchObject(pending);
    await ask();
    await expire();
    expect(await standing(placed.id)).toMatchObject(cancelled);
    expect(await paymentsOf(placed)).toEqual([is]);
  });

  test("so does one that the gateway does not know any more", async () => {
    const placed = await unheard();
    await sql`update money.payments set gateway_order_id = nextval('money.gateway_order_ids')::text
      where order_id = ${placed.id}`;
    await ask();
    await expire();
    expect(await standing(placed.id)).toMatchObject(cancelled);
  });

  test("a wallet's top-up that was paid is credited", async () => {
    const { customer } = shop.tenant;
    const wallet = await fundWallet(shop.tenant, "customer", customer.id, 0);
    const before = await walletOf(shop.tenant, customer.id);
    const { body } = await customer.post(`/delivery/wallets/${wallet}/top-ups`, {
      amount: 25_000,
      paymentMethodTypeId: methods.gatewayone,
      backRef,
    });
    await atGateway(body.instructions.redirect_url, "pay", "yes");
    await sql`update money.payments set created_at = created_at - interval '25 hours',
      expires_at = expires_at - interval '25 hours' where id = ${body.payment_id}`;
    await ask();
    expect(await walletOf(shop.tenant, customer.id)).toBe(before + 25_000);
    await checkAll(shop.tenant);
  });
});

test("a gateway that cannot be asked keeps an order open for three days, and no longer", async () => {
  const mine = await newCardShop(10);
  const placed = await unheard("pay", mine);
  await sql`update money.payment_gateways set secrets = '{}'
    where tenant_id = ${mine.tenant.id} and gateway_code = 'gatewayone'`;
  for (const hours of [0, 46]) {
    await hoursLater(placed, hours);
    await ask(mine);
    await expire();
    expect(await standing(placed.id)).toMatchObject(pending);
  }
  await hoursLater(placed, 2);
  await sql`select money.payments_reconcile()`;
  const queued = await sql`select from app.jobs where tenant_id = ${mine.tenant.id}
    and kind = 'payment.reconcile' and status = 'queued'`;
  expect(queued).toHaveLength(0);
  await expire();
  expect(await standing(placed.id)).toMatchObject(cancelled);
  expect(await paymentsOf(placed)).toEqual(["CANCELLED"]);
});

test("an order that never reached its gateway ends at a day", async () => {
  const placed = await placeOrder(shop, "gatewayone");
  await sql`update money.payments set redirect_url = null where order_id = ${placed.id}`;
  await hoursLater(placed, 25);
  await expire();
  expect(await standing(placed.id)).toMatchObject(cancelled);
});

test("while all runs, a payment is asked about once more at its end, and its order ends then", async () => {
  const placed = await placeOrder(shop, "gatewayone");
  await hoursLater(placed, 23);
  await ask();
  await expire();
  expect(await standing(placed.id)).toMatchObject(pending);
  await hoursLater(placed, 1.1);
  await ask();
  await expire();
  expect(await standing(placed.id)).toMatchObject(cancelled);
});
