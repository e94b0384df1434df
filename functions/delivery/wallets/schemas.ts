import { z } from "zod";
import { backRefs } from "../../../shared/payment-gateways/back-ref.ts";
import {
  defineList,
  equal,
  id,
  number,
  oneOf,
  period,
  since,
  until,
  words,
} from "../../../shared/api/list.ts";
import {
  Id,
  Money,
  Pagination,
  PersonRef,
  Text,
  Timestamp,
} from "../../../shared/schemas/schemas.ts";

const OwnerType = z.enum(["driver", "customer", "institution", "staff", "tenant"]);
const Direction = z.enum(["credit", "debit"]);

export const Wallet = z.object({
  id: Id,
  owner_type: OwnerType,
  owner_id: Id.nullable(),
  owner: PersonRef.nullable(),
  currency: z.string(),
  balance: z.number(),
  is_active: z.boolean(),
  created_at: Timestamp,
  updated_at: Timestamp,
  held_balance: z.number().meta({
    description: "COD that cannot be spent yet, by the setting `delivery.payouts`",
  }),
  available_balance: z.number().meta({
    description: "The balance without what is held or stated: it can be spent",
  }),
  stated_balance: z.number().meta({
    description: "The net of open statements, which waits to be paid out",
  }),
}).meta({ id: "Wallet" });

const Transaction = z.object({
  id: z.int(),
  kind: z.string(),
  description: z.string().nullable(),
  direction: Direction,
  amount: z.number(),
  currency: z.string(),
  balance_after: z.number(),
  reference_type: z.string(),
  reference_id: Id,
  actor_id: Id.nullable(),
  created_at: Timestamp,
  held: z.boolean().describe("Of COD: it is a part of `held_balance`"),
  released_at: Timestamp.nullable().describe(
    "Of COD since when it can be spent; null while it is held, and of other movements",
  ),
}).meta({ id: "WalletTransaction" });

export const MyWallets = z.object({
  wallet: Wallet.nullable().describe(
    "The first in the company's currency; of several, that of what the person is there now: a driver's own for a driver",
  ),
  wallets: z.array(Wallet).describe("In the same order, then by currency and owner_type"),
});
export const WalletsResponse = z.object({ data: z.array(Wallet), pagination: Pagination });
export const TransactionsResponse = z.object({
  wallet: Wallet,
  data: z.array(Transaction),
  pagination: Pagination,
});

export const AdjustWallet = z.object({
  amount: Money.refine((amount) => amount > 0, { error: "more than nothing" }),
  direction: Direction,
  reason: Text,
}).meta({ id: "AdjustWallet" });

export const ReverseAdjustment = z.strictObject({ reason: Text }).meta({ id: "ReverseAdjustment" });

export const WalletAdjusted = z.object({
  wallet: Wallet,
  transaction: Transaction,
  payment_id: Id,
});

export const wallets = defineList({
  view: "money.wallets_list",
  search: ["owner_name"],
  sort: ["created_at", "balance", "owner_name", "updated_at"],
  params: {
    owner_type: oneOf("owner_type", words(OwnerType)),
    owner_id: id("owner_id"),
    currency: equal("currency"),
  },
  columns: { balance: number("balance") },
  limit: { default: 20, max: 100 },
});

export const transactions = defineList({
  view: "money.wallet_transactions_list",
  search: ["description"],
  sort: ["created_at", "amount"],
  // As they were booked: a transaction that began earlier may have waited for the wallet and been booked later.
  sortColumns: { created_at: "id" },
  params: {
    direction: oneOf("direction", words(Direction)),
    date_from: since("created_at"),
    date_to: until("created_at"),
  },
  columns: { wallet_id: id("wallet_id"), created_at: period("created_at") },
  idType: "bigint",
  readBy: "id",
  // In the same statement, so that the balance is that of the newest line.
  summary: {
    sql: () => "delivery.wallet_get(jsonb_build_object('id', $1 #> '{column,wallet_id}'))",
  },
  limit: { default: 20, max: 100 },
});

export const TopUp = z.object({
  amount: Money.refine((amount) => amount > 0, { error: "more than nothing" }),
  paymentMethodTypeId: Id,
  ...backRefs,
}).meta({ id: "TopUpWallet" });
export const TopUpResponse = z.object({
  payment_id: Id,
  amount: z.number(),
  currency: z.string(),
  instructions: z.object({
    redirect_url: z.string(),
    gateway_order_id: z.string(),
    expires_at: Timestamp,
  }).nullable().describe("Null in the answer to a repetition after the payment has ended"),
});
