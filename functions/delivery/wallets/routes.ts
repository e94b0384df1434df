import { can, either, member, role } from "../../../shared/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/endpoint.ts";
import { pagination } from "../../../shared/list.ts";
import { ids } from "../../../shared/schemas.ts";
import {
  AdjustWallet,
  MyWallets,
  transactions,
  TransactionsResponse,
  WalletAdjusted,
  wallets,
  WalletsResponse,
} from "./schemas.ts";

const office = can("manage:tenant", "manage:operations:tenant");

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
    errors: ["invalid_column_filters"],
    async run({ db, query }) {
      const page = await wallets.run(db, query);
      const data = page.rows.map(({ owner_name: _searchedOnly, ...wallet }) => wallet);
      return { data, pagination: pagination(page) };
    },
  }),
  endpoint({
    method: "get",
    path: "/wallets/:id/transactions",
    summary: "What moved a wallet, newest first; its owner and the office see it",
    access: either(office, role("driver", "institution", "customer")),
    params: ids("id"),
    query: transactions.query,
    response: TransactionsResponse,
    errors: ["wallet_not_found", "invalid_column_filters"],
    async run({ db, params, query }) {
      const wallet = await db.call("delivery.wallet_get", params);
      const page = await transactions.run(db, {
        ...query,
        column_filters: { ...query.column_filters, wallet_id: params.id },
      });
      const data = page.rows.map(({ wallet_id: _asked, ...transaction }) => transaction);
      return { wallet, data, pagination: pagination(page) };
    },
  }),
  endpoint({
    method: "post",
    path: "/wallets/:id/adjust",
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
];
