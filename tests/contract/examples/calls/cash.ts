/** Cash of drivers and desks, and wallets. */
import { randomUUID } from "node:crypto";
import { newCash, remit, selected } from "../../../support/cod.ts";
import { sql } from "../../../support/db.ts";
import { jobsDone } from "../../../support/jobs.ts";
import { fundWallet } from "../../../support/money.ts";
import { backRef, methods, newShop } from "../../../support/orders.ts";
import { takeCards } from "../../../support/payments.ts";
import type { Call, Calls } from "../call.ts";

/** Cash that the driver has collected. */
const collected: Pick<Call, "before"> = {
  before: async ({ tenant }) => ({ things: { collection: (await newCash(tenant)).id } }),
};

/** A settlement that the dispatcher has just taken, with its receipt. */
const settled: Pick<Call, "before"> = {
  before: async ({ tenant }) => {
    const { id } = await newCash(tenant);
    const { body } = await tenant.dispatcher.post(remit, selected(id));
    await jobsDone(tenant.id);
    return { things: { collection: id, settlement: body.data.settlement_payment_id } };
  },
};

/** A statement whose payout was reversed: it is open. */
const unpaid: Pick<Call, "before"> = {
  before: async ({ tenant, things }) => {
    await tenant.admin.post(`/delivery/merchant-statements/${things.merchant_statement}/reverse`, {
      reason: "The bank sent it back",
    });
    return {};
  },
};

export const cash: Calls = {
  "POST /delivery/cod-collections/remit": {
    ...collected,
    body: ({ collection }) => ({
      scope: "selected",
      cod_collection_ids: [collection],
      reference: "Evening of Monday",
    }),
  },
  "POST /delivery/cod-collections/settle-by-wallet": {
    by: "driver",
    before: async ({ tenant }) => {
      await fundWallet(tenant, "driver", tenant.driver.id, 1_250);
      return { things: { collection: (await newCash(tenant)).id } };
    },
    body: ({ collection }) => ({ scope: "selected", cod_collection_ids: [collection] }),
  },
  "GET /delivery/cod-settlements/:settlement_payment_id/receipt": settled,
  "POST /delivery/cod-settlements/:settlement_payment_id/receipt": {
    ...settled,
    body: () => ({ language: "ar" }),
  },
  "GET /delivery/cod-settlements/:settlement_payment_id": settled,
  "GET /delivery/cod-settlements/:settlement_payment_id/verify": {
    before: async (world) => {
      const { things } = await settled.before!(world);
      const [{ hash }] = await sql`select hash from money.settlement_receipts
        where payment_id = ${things!.settlement as string}`;
      return { things: { ...things, hash } };
    },
    query: ({ hash }) => ({ hash: String(hash) }),
  },
  "POST /delivery/cod-settlements/:settlement_payment_id/reverse": {
    ...settled,
    body: () => ({ reason: "Entered for the wrong driver" }),
  },
  "POST /delivery/cod-collections/handover": {
    alone: "received",
    by: "driver",
    before: async ({ tenant }) => {
      await sql`delete from money.cash_handovers where tenant_id = ${tenant.id}`;
      await newCash(tenant);
      return {};
    },
    body: () => ({ amount: 1_250, notes: "In the blue envelope" }),
  },
  "POST /delivery/cod-collections/handovers/:id/count": {
    body: () => ({ counted_amount: 100 }),
  },
  "POST /delivery/cod-collections/handovers/:id/resolve": {
    alone: "received",
    before: async ({ tenant, things }) => {
      await tenant.dispatcher.post(`/delivery/cod-collections/handovers/${things.handover}/count`, {
        counted_amount: 90,
      });
      return {};
    },
    body: () => ({
      resolution: "recounted",
      counted_amount: 100,
      notes: "A note lay under the envelope",
    }),
  },
  "POST /delivery/cod-collections/handovers/:id/cancel": {
    alone: "received",
    body: () => ({ notes: "Counted again" }),
  },
  "POST /delivery/cash-desks/transfers": {
    body: ({ cashier }) => ({
      kind: "bank_deposit",
      from_user_id: cashier,
      amount: 20,
      reference: "Slip 4711",
    }),
  },
  "POST /delivery/cash-desks/transfers/:id/reverse": {
    body: () => ({ reason: "The bank gave it back" }),
  },
  "POST /delivery/cash-desks/refunds/:refund_id/pay": {
    alone: "received",
    body: ({ cashier }) => ({ from_user_id: cashier, reference: "Receipt 81" }),
  },
  "POST /delivery/driver-pay/payouts": {
    alone: "received",
    // The pay of a payout that was reversed is due again.
    before: async ({ tenant, things }) => {
      await tenant.admin.post(`/delivery/driver-pay/payouts/${things.driver_payout}/reverse`, {
        reason: "Entered for the wrong week",
      });
      return {};
    },
    body: ({ driver }) => ({ driver_id: driver, method: "wallet", reference: "Week 47" }),
  },
  "POST /delivery/driver-pay/payouts/:id/reverse": {
    body: () => ({ reason: "Entered for the wrong week" }),
  },
  "POST /delivery/merchant-statements": {
    body: ({ institution }) => ({ owner_user_id: institution }),
  },
  "GET /delivery/merchant-statements/verify": {
    before: async ({ things }) => {
      const [{ hash }] = await sql`select hash from money.merchant_statements
        where id = ${things.merchant_statement as string}`;
      return { things: { ...things, hash } };
    },
    query: ({ hash }) => ({ hash: String(hash) }),
  },
  "POST /delivery/merchant-statements/:id/pay": {
    ...unpaid,
    body: () => ({ method: "bank", reference: "Transfer 2291" }),
  },
  "POST /delivery/merchant-statements/:id/confirm": { by: "institution", body: () => ({}) },
  "POST /delivery/merchant-statements/:id/reverse": {
    body: () => ({ reason: "The bank sent it back" }),
  },
  "POST /delivery/merchant-statements/:id/void": {
    ...unpaid,
    body: () => ({ reason: "Made for the wrong week" }),
  },
  "POST /delivery/wallets/:id/adjust": {
    body: () => ({ amount: 5_000, direction: "credit", reason: "Goodwill for a late parcel" }),
  },
  "POST /delivery/wallets/:id/adjustments/:payment_id/reverse": {
    before: async ({ tenant, things }) => {
      const answer = await tenant.admin.post(`/delivery/wallets/${things.wallet}/adjust`, {
        amount: 5_000,
        direction: "credit",
        reason: "Goodwill for a late parcel",
      }, { headers: { "idempotency-key": randomUUID() } });
      return { things: { payment: answer.body.payment_id } };
    },
    body: () => ({ reason: "Wrong wallet" }),
  },
  "POST /delivery/wallets/:id/top-ups": {
    by: "customer",
    before: async () => {
      const shop = await newShop();
      await takeCards(shop);
      const { tenant } = shop;
      const wallet = await fundWallet(tenant, "customer", tenant.customer.id, 0);
      return { tenant, things: { tenant: tenant.id, wallet } };
    },
    body: () => ({ amount: 25_000, paymentMethodTypeId: methods.gatewayone, backRef }),
  },
};
