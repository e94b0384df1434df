/** Cash at the desks of the office, and what leaves or reaches them. */
import { z } from "zod";
import { AppError } from "../../../shared/errors/errors.ts";
import {
  contains,
  days,
  defineList,
  equal,
  id,
  number,
  oneOf,
  sinceDay,
  someOf,
  untilDay,
  words,
} from "../../../shared/api/list.ts";
import {
  Currency,
  Id,
  LongText,
  Money,
  Pagination,
  Person,
  Text,
  Timestamp,
  withoutEmpty,
} from "../../../shared/schemas/schemas.ts";

export const OwnerType = z.enum(["staff", "driver", "tenant"]);
/** A wallet's owner stands at the counter; `bank_withdrawal` and `wallet_deposit` bring cash to a desk, the others take it. */
const entered = [
  "bank_deposit",
  "handover",
  "expense",
  "wallet_payout",
  "bank_withdrawal",
  "wallet_deposit",
] as const;
const comes = ["bank_withdrawal", "wallet_deposit"];
const ofWallet = ["wallet_payout", "wallet_deposit"];
export const Kind = z.enum([...entered, "refund"]);

export const desks = defineList({
  view: "money.cash_desks_list",
  search: ["full_name"],
  sort: ["balance", "full_name", "last_moved_at", "currency"],
  params: {
    user_id: id("user_id"),
    owner_type: oneOf("owner_type", words(OwnerType)),
    currency: { ...equal("currency"), schema: Currency },
  },
  columns: {
    full_name: contains("full_name"),
    owner_type: oneOf("owner_type", words(OwnerType)),
    currency: equal("currency"),
    balance: number("balance"),
    last_moved_at: days("last_moved_at"),
  },
  hidden: ["user_id", "full_name", "created_at"],
  limit: { default: 20, max: 100 },
});

export const DesksResponse = z.object({
  data: z.array(z.strictObject({
    id: Id,
    owner_type: OwnerType.describe(
      "`staff`: a cashier; `driver`: a driver who remitted to their own desk; `tenant`: its own till, where carriers pay",
    ),
    user: Person.nullable().describe("Null for the tenant's own till"),
    currency: z.string(),
    balance: z.number().describe(
      "The present balance by the ledger, in `currency`. Negative: up to 1.6.0 a shortage was booked before its cash came",
    ),
    last_moved_at: Timestamp.nullable(),
  })),
  pagination: Pagination,
});

/**
 * A movement of a desk, normalised: missing fields are left out, since a repeated
 * Idempotency-Key is compared with it.
 */
export const Transfer = z.object({
  kind: z.enum(entered).meta({
    description:
      "From a desk: `bank_deposit`, `handover` to a colleague, `expense`, `wallet_payout` in cash to a wallet's owner. " +
      "To a desk: `bank_withdrawal`, `wallet_deposit` by a wallet's owner",
  }),
  from_user_id: Id.nullish().meta({
    description: "The person whose desk gives; only administrators may name somebody else",
  }),
  from_owner_type: OwnerType.nullish().meta({
    description:
      "Default `staff`; `driver`: what a driver remitted to their own desk; `tenant`: its own till, without `from_user_id`",
  }),
  to_user_id: Id.nullish().meta({
    description:
      "Who gets it: of a handover; of what comes to a desk the person whose desk it is, by default the caller's own",
  }),
  to_owner_type: z.enum(["staff", "tenant"]).nullish().meta({
    description:
      "Of what comes to a desk: default `staff`; `tenant`: its own till, without `to_user_id`",
  }),
  wallet_id: Id.nullish().meta({ description: "Of a wallet's deposit or payout" }),
  amount: Money.refine((amount) => amount > 0, { error: "more than nothing" }),
  currency: Currency.nullish().meta({
    description: "The tenant's unless said; of a wallet its own, not said",
  }),
  reference: Text.nullish().meta({
    description: "The number on the slip or receipt; a wallet's payout needs it",
  }),
  notes: LongText.nullish().meta({ description: "An expense needs to say what it was for" }),
}).transform((transfer) => {
  if (transfer.kind === "handover" && !transfer.to_user_id) {
    throw new AppError("receiver_required", { field: "to_user_id" });
  }
  const lacking = missing(transfer);
  if (lacking) {
    throw new AppError("validation_failed", { field: lacking, reason_key: "reason_required" });
  }
  const field = misplaced(transfer);
  if (field) throw new AppError("validation_failed", { field });
  return withoutEmpty(transfer);
}).meta({ id: "CashDeskTransfer" });

type Fields = Record<string, unknown>;

/** The field that this kind of transfer needs and lacks. */
function missing({ kind, wallet_id, reference, notes }: Fields): string | undefined {
  if (ofWallet.includes(String(kind)) && !wallet_id) return "wallet_id";
  if (kind === "wallet_payout" && !reference) return "reference";
  return kind === "expense" && !notes ? "notes" : undefined;
}

/** The first field that this kind of transfer does not have. */
function misplaced(transfer: Fields): string | undefined {
  const kind = String(transfer.kind);
  const wallet = ofWallet.includes(kind);
  const wrong: Record<string, boolean> = comes.includes(kind)
    ? {
      from_user_id: !!transfer.from_user_id,
      from_owner_type: !!transfer.from_owner_type,
      to_user_id: transfer.to_owner_type === "tenant" && !!transfer.to_user_id,
    }
    : {
      from_user_id: transfer.from_owner_type === "tenant" && !!transfer.from_user_id,
      to_user_id: kind !== "handover" && !!transfer.to_user_id,
      to_owner_type: !!transfer.to_owner_type,
    };
  wrong.wallet_id = !wallet && !!transfer.wallet_id;
  wrong.currency = wallet && !!transfer.currency;
  return Object.keys(wrong).find((name) => wrong[name]);
}

export const ReverseTransfer = z.strictObject({ reason: Text }).meta({
  id: "ReverseCashDeskTransfer",
});

const CashTransfer = z.strictObject({
  id: Id,
  kind: Kind,
  from_owner_type: OwnerType.nullable().describe("Null for what came to a desk from outside"),
  from_user: Person.nullable().describe("Null for the tenant's own till, too"),
  to_owner_type: z.enum(["staff", "tenant"]).nullable().describe(
    "The desk that cash from outside came to",
  ),
  to_user: Person.nullable().describe(
    "Whose desk it came to; null for the till and for what left the desks",
  ),
  wallet: z.strictObject({
    id: Id,
    owner_type: z.string(),
    owner: Person.nullable().describe("Null for the company's own"),
  }).nullable().describe("The wallet that was paid in or out"),
  refund_id: Id.nullable().describe("The amount due, of a refund"),
  amount: z.number(),
  currency: z.string(),
  reference: z.string().nullable(),
  notes: z.string().nullable(),
  entered_by: Person,
  created_at: Timestamp,
  reversed_at: Timestamp.nullable().describe("Null unless it was reversed"),
  reversed_by: Person.nullable(),
  reversal_reason: z.string().nullable(),
}).meta({ id: "CashTransfer" });

export const TransferResponse = z.object({ data: CashTransfer });
export const TransfersResponse = z.object({
  data: z.array(CashTransfer),
  pagination: Pagination,
  summary: z.array(
    z.strictObject({
      kind: Kind,
      currency: z.string(),
      amount: z.number(),
      transfers: z.int().describe("How many they are"),
    }),
  ).describe("Over the same filters, without what was reversed"),
});

export const transfers = defineList({
  view: "money.cash_transfers_list",
  search: ["reference", "notes"],
  sort: [
    "created_at",
    "amount",
    "reversed_at",
    "from_user_name",
    "to_user_name",
    "wallet_owner_name",
  ],
  params: {
    from_user_id: id("from_user_id"),
    to_user_id: id("to_user_id"),
    from_owner_type: oneOf("from_owner_type", words(OwnerType)),
    wallet_id: id("wallet_id"),
    kind: someOf("kind", words(Kind)),
    currency: { ...equal("currency"), schema: Currency },
    date_from: sinceDay("created_at"),
    date_to: untilDay("created_at"),
  },
  columns: {
    kind: someOf("kind", words(Kind)),
    currency: equal("currency"),
    amount: number("amount"),
    reference: contains("reference"),
    notes: contains("notes"),
    from_user_name: contains("from_user_name"),
    to_user_name: contains("to_user_name"),
    wallet_owner_name: contains("wallet_owner_name"),
    created_at: days("created_at"),
    reversed_at: days("reversed_at"),
  },
  hidden: [
    "from_user_id",
    "to_user_id",
    "from_user_name",
    "to_user_name",
    "wallet_id",
    "wallet_owner_name",
  ],
  summary: {
    sql: (rows) =>
      `(select coalesce(jsonb_agg(jsonb_build_object('kind', p.kind, 'currency', p.currency, 'amount', p.amount,
          'transfers', p.transfers) order by p.currency, p.kind), '[]')
        from (select r.kind, r.currency, sum(r.amount) as amount, count(*) as transfers
          from ${rows} and r.reversed_at is null group by r.kind, r.currency) p)`,
  },
  limit: { default: 20, max: 100 },
});
