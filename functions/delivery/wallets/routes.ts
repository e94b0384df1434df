import { anyOf, member, permission, role } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { inWords } from "./movement-text.ts";
import {
  AdjustWallet,
  MyWallets,
  ReverseAdjustment,
  TopUp,
  TopUpResponse,
  transactions,
  TransactionsResponse,
  WalletAdjusted,
  wallets,
  WalletsResponse,
} from "./schemas.ts";

type Described = Record<string, unknown> & { kind: string; description: string | null };

const office = permission("manage:tenant", "manage:operations:tenant");

/** Wallets: read by their owners and the office, filled and emptied by hand by administrators. */
export const walletEndpoints: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/wallets/me",
    summary: "My wallets",
    access: member(),
    response: MyWallets,
    run: ({ db }) => db.call("delivery.wallets_mine"),
  }),
  endpoint({
    method: "get",
    path: "/wallets",
    summary: "List the tenant's wallets",
    access: office,
    query: wallets.query,
    response: WalletsResponse,
    async run({ db, query }) {
      const { data, ...page } = await wallets.answer(db, query);
      return { data: data.map(({ owner_name: _searchedOnly, ...wallet }) => wallet), ...page };
    },
  }),
  endpoint({
    method: "get",
    path: "/wallets/:id/transactions",
    summary: "List a wallet's movements, newest first, for its owner and staff",
    access: anyOf(office, role("driver", "institution", "customer")),
    params: ids("id"),
    query: transactions.query,
    response: TransactionsResponse,
    errors: ["wallet_not_found"],
    async run({ db, params, query, language }) {
      const { summary: wallet, data, ...page } = await transactions.answer(db, {
        ...query,
        column_filters: { ...query.column_filters, wallet_id: params.id },
      });
      const moves = data.map(({ wallet_id: _asked, ...transaction }) => transaction as Described);
      return { wallet, data: inWords(language(), moves), ...page };
    },
  }),
  endpoint({
    method: "post",
    path: "/wallets/:id/adjust",
    person: true,
    summary: "Put money from outside into a wallet, or take it out",
    access: role("tenant_admin"),
    idempotency: "required",
    params: ids("id"),
    body: AdjustWallet,
    response: WalletAdjusted,
    errors: [
      "wallet_not_found",
      "idempotency_key_required",
      "too_many_decimals",
      "insufficient_wallet_balance",
    ],
    run: ({ db, params, body }) => db.call("delivery.wallet_adjust", { ...body, id: params.id }),
  }),
  endpoint({
    method: "post",
    path: "/wallets/:id/adjustments/:payment_id/reverse",
    person: true,
    summary: "Reverse an adjustment with a reversing entry",
    access: role("tenant_admin"),
    idempotency: "required",
    params: ids("id", "payment_id"),
    body: ReverseAdjustment,
    response: WalletAdjusted,
    errors: [
      "wallet_not_found",
      "adjustment_not_found",
      "adjustment_already_reversed",
      "adjustment_has_cash",
      "idempotency_key_required",
      "insufficient_wallet_balance",
    ],
    run: ({ db, params, body }) =>
      db.call("delivery.wallet_adjustment_reverse", { ...body, ...params }),
  }),
  endpoint({
    method: "post",
    path: "/wallets/:id/top-ups",
    person: true,
    summary: "Put money into my own wallet through a payment gateway",
    access: role("driver", "institution", "customer"),
    params: ids("id"),
    body: TopUp,
    response: TopUpResponse,
    status: 201,
    errors: [
      "wallet_not_found",
      "too_many_decimals",
      "payment_method_not_found",
      "invalid_payment_method",
      "gateway_not_configured",
      "gateway_unavailable",
      "back_ref_required",
      "back_ref_not_allowed",
    ],
    async run({ db, params, body }) {
      const { openPayment, returnTo } = await import(
        "../../../shared/payment-gateways/checkout.ts"
      );
      const asked = await db.call<{ payment_id: string; amount: number; currency: string }>(
        "money.wallet_top_up",
        {
          id: params.id,
          amount: body.amount,
          payment_method_type_id: body.paymentMethodTypeId,
          ...returnTo(body),
        },
      );
      return { ...asked, instructions: await openPayment(asked.payment_id) };
    },
  }),
];
