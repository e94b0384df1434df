/** Top-ups of wallets that are paid at a gateway. */
import { beforeAll, describe, expect, test } from "vitest";
import "../../support/expect.ts";
import { sql } from "../../support/db.ts";
import { fundWallet } from "../../support/money.ts";
import { backRef, checkAll, methods, type Shop, walletOf } from "../../support/orders.ts";
import { atGateway, newCardShop } from "../../support/payments.ts";

let shop: Shop;
beforeAll(async () => {
  shop = await newCardShop();
});

describe("a top-up", () => {
  const topUp = async (body: object = {}) => {
    const wallet = await fundWallet(shop.tenant, "customer", shop.tenant.customer.id, 0);
    return {
      wallet,
      answer: await shop.tenant.customer.post(`/delivery/wallets/${wallet}/top-ups`, {
        amount: 25_000,
        paymentMethodTypeId: methods.gatewayone,
        backRef,
        ...body,
      }),
    };
  };

  test("is credited when the gateway says it was paid", async () => {
    const before = await walletOf(shop.tenant, shop.tenant.customer.id);
    const { answer } = await topUp();
    expect(answer).toSucceed(201);
    expect(answer.body).toMatchObject({ amount: 25_000, currency: "IQD" });
    expect(await walletOf(shop.tenant, shop.tenant.customer.id)).toBe(before);
    await atGateway(answer.body.instructions.redirect_url, "pay");
    expect(await walletOf(shop.tenant, shop.tenant.customer.id)).toBe(before + 25_000);
    await checkAll(shop.tenant);
  });

  test("that comes again once it is paid is answered as paid, and nothing is left to pay", async () => {
    const wallet = await fundWallet(shop.tenant, "customer", shop.tenant.customer.id, 0);
    const key = { headers: { "idempotency-key": crypto.randomUUID() } };
    const body = { amount: 4_000, paymentMethodTypeId: methods.gatewayone, backRef };
    const ask = () => shop.tenant.customer.post(`/delivery/wallets/${wallet}/top-ups`, body, key);
    const first = await ask();
    expect(first).toSucceed(201);
    await atGateway(first.body.instructions.redirect_url, "pay");
    const before = await walletOf(shop.tenant, shop.tenant.customer.id);
    const late = await ask();
    expect(late).toSucceed(201);
    expect(late.body).toMatchObject({ payment_id: first.body.payment_id, instructions: null });
    expect(await walletOf(shop.tenant, shop.tenant.customer.id)).toBe(before);
  });

  describe("that is sent several times at once, under one key,", () => {
    const asked = async () => {
      const wallet = await fundWallet(shop.tenant, "customer", shop.tenant.customer.id, 0);
      const key = { headers: { "idempotency-key": crypto.randomUUID() } };
      const body = { amount: 3_000, paymentMethodTypeId: methods.gatewayone, backRef };
      return () => shop.tenant.customer.post(`/delivery/wallets/${wallet}/top-ups`, body, key);
    };
    const opening = (id: string, ago: string) =>
      sql`update money.payments set redirect_url = null, opened_at = clock_timestamp() - ${ago}::interval where id = ${id}`;

    test("is opened at the gateway once, and every answer leads there", async () => {
      const ask = await asked();
      const answers = await Promise.all([ask(), ask(), ask(), ask()]);
      for (const answer of answers) {
        expect(answer).toSucceed(201);
        expect(answer.body).toEqual(answers[0]!.body);
      }
      const { payment_id, instructions } = answers[0]!.body;
      const payments =
        await sql`select redirect_url, gateway_order_id from money.payments where id = ${payment_id}`;
      expect(payments).toEqual([{
        redirect_url: instructions.redirect_url,
        gateway_order_id: instructions.gateway_order_id,
      }]);
    });

    test("waits for the request that is opening it, and opens it itself where that one could not", async () => {
      const ask = await asked();
      const { body: { payment_id, instructions } } = await ask();
      await opening(payment_id, "0");
      const second = ask();
      let answered = false;
      second.then(() => answered = true);
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      expect(answered).toBe(false);
      await sql`update money.payments set redirect_url = ${instructions.redirect_url} where id = ${payment_id}`;
      expect((await second).body).toMatchObject({ payment_id, instructions });

      await opening(payment_id, "0");
      const third = ask();
      await new Promise((resolve) => setTimeout(resolve, 500));
      await opening(payment_id, "1 minute");
      const { body } = await third;
      expect(body).toMatchObject({ success: true, payment_id });
      expect(body.instructions.gateway_order_id).not.toBe(instructions.gateway_order_id);
    });
  });

  test("that comes again is opened at no gateway that is switched off", async () => {
    const own = await newCardShop(10);
    const { admin, customer } = own.tenant;
    const wallet = await fundWallet(own.tenant, "customer", customer.id, 0);
    const key = { headers: { "idempotency-key": crypto.randomUUID() } };
    const body = { amount: 4_000, paymentMethodTypeId: methods.gatewayone, backRef };
    const ask = () => customer.post(`/delivery/wallets/${wallet}/top-ups`, body, key);
    const first = await ask();
    const turn = (is_active: boolean) => admin.put("/payment/gateways/gatewayone", { is_active });
    expect(await turn(false)).toSucceed(200);
    expect((await ask()).body).toEqual(first.body);
    await sql`update money.payments set redirect_url = null, opened_at = opened_at - interval '1 minute'
      where id = ${first.body.payment_id}`;
    const refused = await ask();
    expect(refused).toFailWith(409, "gateway_not_configured");
    expect(refused.body.field).toBe("paymentMethodTypeId");
    expect(await turn(true)).toSucceed(200);
    expect((await ask()).body.instructions.redirect_url).toMatch(/^http/);
  });

  test("is for one's own wallet, of an amount there is, by a gateway, back to the store", async () => {
    expect((await topUp({ amount: 0 })).answer).toFailWith(400, "validation_failed");
    expect((await topUp({ amount: 0.5 })).answer).toFailWith(400, "too_many_decimals");
    expect((await topUp({ paymentMethodTypeId: methods.wallet })).answer)
      .toFailWith(400, "invalid_payment_method");
    expect((await topUp({ backRef: undefined })).answer).toFailWith(400, "back_ref_required");
    expect((await topUp({ backRef: "https://evil.example/" })).answer)
      .toFailWith(400, "back_ref_not_allowed");
    const { wallet } = await topUp();
    const body = { amount: 1000, paymentMethodTypeId: methods.gatewayone, backRef };
    expect(await shop.tenant.institution.post(`/delivery/wallets/${wallet}/top-ups`, body))
      .toFailWith(404, "wallet_not_found");
    expect(await shop.tenant.admin.post(`/delivery/wallets/${wallet}/top-ups`, body))
      .toFailWith(403, "forbidden");
  });

  test("is of no fraction of what its gateway counts by, in a currency that stays while it is open", async () => {
    const small = await newCardShop();
    const { admin, customer, id } = small.tenant;
    const decimals = (count: number) =>
      admin.put(`/tenants/${id}/settings`, {
        general: { currency: { settings: { currency_code: "IQD", decimals: count } } },
      });
    expect(await decimals(3)).toSucceed(200);
    const settings = { account_id: small.account, amount_exponent: 2 };
    expect(await admin.put("/payment/gateways/razorpay", { settings })).toSucceed(200);
    const wallet = await fundWallet(small.tenant, "customer", customer.id, 0);
    const asked = (amount: number) =>
      customer.post(`/delivery/wallets/${wallet}/top-ups`, {
        amount,
        paymentMethodTypeId: methods.razorpay,
        backRef,
      });
    const refused = await asked(10.505);
    expect(refused).toFailWith(400, "too_many_decimals");
    expect(refused.body).toMatchObject({ field: "amount", decimals: 2 });
    expect(await decimals(2)).toSucceed(200);
    expect(await asked(10.5)).toSucceed(201);
    expect(await decimals(0)).toFailWith(409, "currency_in_use");
  });
});
