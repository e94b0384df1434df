import { z } from "zod";
import { words } from "../../../shared/api/filters.ts";
import { AppError } from "../../../shared/errors/errors.ts";
import {
  Id,
  LongText,
  Money,
  PersonRef,
  Timestamp,
  withoutEmpty,
} from "../../../shared/schemas/schemas.ts";
import { maxText } from "../../../shared/schemas/sizes.ts";
import { DriverIdFilter } from "../driver-id-filter.ts";

const Allocations = z.object({ cod: z.number(), delivery_fee: z.number() }).meta({
  id: "CashAllocations",
});
const Status = z.enum(["collected", "remitted", "settled_by_wallet"]);
export const statuses = words(Status);

export const Collection = z.object({
  id: Id,
  delivery_id: Id,
  driver_id: Id,
  amount: z.number().describe("Cash the driver took, in `currency`"),
  currency: z.string(),
  allocations: Allocations,
  cod_amount: z.number(),
  delivery_fee_amount: z.number(),
  collection_stage: z.enum(["pickup", "dropoff"]).nullable(),
  status: Status,
  collected_at: Timestamp,
  remitted_at: Timestamp.nullable(),
  settled_at: Timestamp.nullable(),
  delivery_code: z.number(),
  leg_codes: z.array(z.number()).describe(
    "Of a staged parcel the numbers of its legs, which its drivers know it by",
  ),
  receiver_name: z.string(),
  delivery_details: z.object({
    delivery_number: z.string(),
    customer_name: z.string(),
    delivery_address: z.string(),
    receiver_name: z.string(),
  }),
  driver_info: z.object({
    full_name: z.string().nullable(),
    email: z.string().nullable(),
    avatar: z.string().nullable(),
  }),
  remitted_to_user_id: Id.nullable(),
  settlement_payment_id: Id.nullable(),
  external_reference_id: z.string().nullable(),
  reversed_at: Timestamp.optional().describe(
    "Only of a reversed row: when the outcome that it was taken with was undone",
  ),
  held: z.boolean().nullable().describe(
    "Its COD is a part of the owner's `held_balance`; null for drivers, who see no wallet but their own",
  ),
  released_at: Timestamp.nullable().describe(
    "Since when its owner can spend its COD; null while it is held, without COD, and for drivers",
  ),
}).meta({ id: "CodCollection" });

export const CollectionsResponse = z.object({
  cod: z.object({
    collections: z.array(Collection),
    pagination: z.object({ page: z.int(), limit: z.int(), total: z.int() }),
    summary: z.object({
      total_collected: z.number(),
      total_remitted: z.number(),
      total_settled_by_wallet: z.number(),
      total_pending: z.number(),
      total_cod_collections: z.int(),
    }),
  }),
});

export const SummaryQuery = z.object({ driver_id: DriverIdFilter.optional() });
export const SummaryResponse = z.object({
  summary: z.object({
    total_unremitted: z.number(),
    pending_collections_count: z.int(),
    oldest_unremitted_date: Timestamp.nullable(),
    currency: z.string(),
    cash_ceiling: z.number().nullable().describe(
      "The most a driver may hold; null: no limit is set",
    ),
    over_ceiling: z.array(
      z.object({ driver_id: Id, full_name: z.string().nullable(), amount: z.number() }),
    ).describe("Drivers who hold more than that"),
  }),
});

/**
 * The selection to settle, normalised whatever the client wrote: nulls are left out and
 * ids stand in order, since a repeated Idempotency-Key is compared with it.
 */
export const Settle = z.object({
  scope: z.enum(["selected", "all"]),
  cod_collection_ids: z.array(Id).max(2_000).nullish(),
  driver_id: DriverIdFilter.nullish(),
  remitted_to_user_id: Id.nullish().meta({
    description:
      "Who took the cash, unless it is the caller. Settling by wallet, nobody does: one that could not take it is refused, any other kept nowhere",
  }),
  notes: LongText.nullish(),
  // Empty is none, as it is of notes.
  reference: maxText(500).nullish(),
}).transform(({ cod_collection_ids, ...rest }) => {
  if (cod_collection_ids && new Set(cod_collection_ids).size < cod_collection_ids.length) {
    const twice = cod_collection_ids.find((id, place) => cod_collection_ids.indexOf(id) < place);
    throw new AppError("validation_failed", {
      field: "cod_collection_ids",
      reason_key: "reason_twice",
      value: twice,
    });
  }
  if (rest.scope === "all" && cod_collection_ids?.length) {
    throw new AppError("conflicting_selection", { field: "cod_collection_ids" });
  }
  const ids = rest.scope === "selected" ? [...cod_collection_ids ?? []].sort() : undefined;
  return withoutEmpty({ ...rest, cod_collection_ids: ids });
}).meta({ id: "SettleCash" });

export const ReceiptStatus = z.enum(["pending", "in_process", "success", "failure"]);
export const Settled = z.object({
  cod_collection_id: Id,
  amount: z.number(),
  allocations: Allocations,
  delivery_code: z.number(),
  delivery_number: z.string(),
}).meta({ id: "CashSettled" });
/** The shortage found when the cash was counted, and the handover that records it; null: none. */
export const Shortage = z.object({ amount: z.number(), discrepancy_id: Id }).nullable();
const settlement = {
  scope: z.enum(["selected", "all"]),
  failed_count: z.int(),
  settlement_payment_id: Id,
  receipt_status: ReceiptStatus,
  currency: z.string(),
};

export const RemitResponse = z.object({
  data: z.object({
    ...settlement,
    remitted_collections: z.array(Settled),
    total_remitted: z.number(),
    total_cash_remitted: z.number(),
    total_cod_remitted: z.number(),
    total_delivery_fee_remitted: z.number(),
    remitted_count: z.int(),
    remitted_at: Timestamp,
    counted: z.number().describe(
      "The amount that reached the receiver's desk: the total less the shortage",
    ),
    shortage: Shortage,
  }),
});

export const SettleResponse = z.object({
  data: z.object({
    ...settlement,
    settled_collections: z.array(Settled),
    total_settled: z.number(),
    total_cash_settled: z.number(),
    total_cod_settled: z.number(),
    total_delivery_fee_settled: z.number(),
    settled_count: z.int(),
    settled_at: Timestamp,
    wallet_balance_after: z.number().nullable(),
  }),
});

/** Null or left out: what is printed stays, and what failed is printed in the language of the request. */
export const PrintReceipt = z.object({ language: z.enum(["en", "ar", "ku"]).nullish() }).meta({
  id: "PrintCashReceipt",
});

export const ReceiptResponse = z.object({
  settlement_payment_id: Id,
  receipt_status: ReceiptStatus,
  url: z.string().optional(),
  expires_at: Timestamp.optional(),
});

/** How collected cash is settled: handed in, or paid from the driver's wallet. */
export const Method = z.enum(["remit", "wallet"]);

export const VerifyQuery = z.object({ hash: z.string().regex(/^[0-9a-fA-F]{32}$/) });
export const VerifyResponse = z.object({
  valid: z.boolean(),
  printed: z.boolean().describe("The hash is the one that was printed"),
  unchanged: z.boolean().describe("The rows still give the hash that was printed"),
  settlement: z.object({
    settlement_payment_id: Id,
    method: Method,
    driver: PersonRef.nullable(),
    receiver: PersonRef.nullable(),
    currency: z.string(),
    total: z.number(),
    cod: z.number(),
    delivery_fee: z.number(),
    collections: z.int(),
    settled_at: Timestamp,
    reversed_at: Timestamp.nullable().describe(
      "Null unless it was reversed, and then the receipt is not valid",
    ),
    reversal_reason: z.string().nullable(),
  }),
});

export const Handover = z.object({
  id: Id,
  driver: PersonRef.nullable(),
  currency: z.string(),
  status: z.enum(["declared", "counted", "discrepancy", "resolved", "cancelled"]),
  declared_amount: z.number(),
  counted_amount: z.number().nullable(),
  difference: z.number().nullable().describe("Counted less declared"),
  resolution: z.enum(["recounted", "driver_owes", "written_off", "returned"]).nullable(),
  notes: z.string().nullable(),
  counted_by: PersonRef.nullable(),
  counted_at: Timestamp.nullable(),
  resolved_by: PersonRef.nullable(),
  resolved_at: Timestamp.nullable(),
  settlement_payment_id: Id.nullable(),
  created_at: Timestamp,
}).meta({ id: "CashHandover" });

const Cash = Money.refine((amount) => amount > 0, { error: "more than nothing" });

export const DeclareHandover = z.object({
  driver_id: DriverIdFilter.nullish(),
  amount: Cash,
  counted_amount: Money.nullish(),
  notes: LongText.nullish(),
}).meta({ id: "DeclareCashHandover" });
export const CountHandover = z.object({ counted_amount: Money, notes: LongText.nullish() }).meta({
  id: "CountCashHandover",
});
export const ResolveHandover = z.object({
  resolution: z.enum(["recounted", "driver_owes", "written_off", "returned"]),
  counted_amount: Money.nullish(),
  notes: LongText.nullish(),
}).meta({ id: "ResolveCashHandover" });
export const CancelHandover = z.object({ notes: LongText.nullish() }).meta({
  id: "CancelCashHandover",
});
export const HandoverResponse = z.object({ data: Handover });
