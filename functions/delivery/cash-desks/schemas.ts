/** Cash at the desks of the office, and withdrawals from them. */
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
  untilDay,
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

const OwnerType = z.enum(["staff", "driver", "tenant"]);
const Kind = z.enum(["bank_deposit", "handover", "refund"]);
const words = (of: { options: readonly string[] }) => of.options as [string, ...string[]];

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
 * A withdrawal from a desk, normalised: missing fields are left out, since a repeated
 * Idempotency-Key is compared with it.
 */
export const Transfer = z.object({
  kind: z.enum(["bank_deposit", "handover"]),
  from_user_id: Id.nullish().meta({
    description: "The person whose desk gives; only administrators may name somebody else",
  }),
  from_owner_type: OwnerType.nullish().meta({
    description:
      "Default `staff`; `driver`: what a driver remitted to their own desk; `tenant`: its own till, without `from_user_id`",
  }),
  to_user_id: Id.nullish().meta({ description: "Who gets it; of a handover only" }),
  amount: Money.refine((amount) => amount > 0, { error: "more than nothing" }),
  currency: Currency.nullish().meta({ description: "The tenant's unless said" }),
  reference: Text.nullish().meta({ description: "The number on the bank's slip" }),
  notes: LongText.nullish(),
}).transform((transfer) => {
  if (transfer.kind === "handover" && !transfer.to_user_id) {
    throw new AppError("receiver_required", { field: "to_user_id" });
  }
  if (transfer.kind === "bank_deposit" && transfer.to_user_id) {
    throw new AppError("validation_failed", { field: "to_user_id" });
  }
  if (transfer.from_owner_type === "tenant" && transfer.from_user_id) {
    throw new AppError("validation_failed", { field: "from_user_id" });
  }
  return withoutEmpty(transfer);
}).meta({ id: "CashDeskTransfer" });

export const ReverseTransfer = z.strictObject({ reason: Text }).meta({
  id: "ReverseCashDeskTransfer",
});

const CashTransfer = z.strictObject({
  id: Id,
  kind: Kind,
  from_owner_type: OwnerType,
  from_user: Person.nullable().describe("Null for the tenant's own till"),
  to_user: Person.nullable().describe("Null for the bank and for refunds"),
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
export const TransfersResponse = z.object({ data: z.array(CashTransfer), pagination: Pagination });

export const transfers = defineList({
  view: "money.cash_transfers_list",
  search: ["reference", "notes"],
  sort: ["created_at", "amount", "reversed_at", "from_user_name", "to_user_name"],
  params: {
    from_user_id: id("from_user_id"),
    to_user_id: id("to_user_id"),
    from_owner_type: oneOf("from_owner_type", words(OwnerType)),
    kind: oneOf("kind", words(Kind)),
    currency: { ...equal("currency"), schema: Currency },
    date_from: sinceDay("created_at"),
    date_to: untilDay("created_at"),
  },
  columns: {
    kind: oneOf("kind", words(Kind)),
    currency: equal("currency"),
    amount: number("amount"),
    reference: contains("reference"),
    notes: contains("notes"),
    from_user_name: contains("from_user_name"),
    to_user_name: contains("to_user_name"),
    created_at: days("created_at"),
    reversed_at: days("reversed_at"),
  },
  hidden: ["from_user_id", "to_user_id", "from_user_name", "to_user_name"],
  limit: { default: 20, max: 100 },
});
