/** The list of what carriers collected, and what they pay of it. */
import { z } from "zod";
import type { Database } from "../../../shared/db/db.ts";
import { AppError } from "../../../shared/errors/errors.ts";
import {
  contains,
  days,
  defineList,
  equal,
  id,
  isSet,
  type List,
  type ListAnswer,
  type ListDeclaration,
  type ListQuery,
  number,
  oneOf,
  sinceDay,
  someOf,
  untilDay,
} from "../../../shared/api/list.ts";
import {
  CarrierCode,
  Currency,
  Id,
  listResponse,
  LongText,
  Money,
  Person,
  Text,
  Timestamp,
} from "../../../shared/schemas/schemas.ts";

const statuses = ["owed", "remitted", "written_off"] as const;
const kinds = ["payment", "write_off"] as const;

export const CarrierCollection = z.strictObject({
  id: Id,
  carrier_code: z.string(),
  delivery_id: Id.describe("The parcel"),
  delivery_code: z.number(),
  tracking_number: z.string().nullable(),
  external_reference_id: z.string().nullable(),
  customer_name: z.string(),
  delivery_address: z.string(),
  amount: z.number().describe("Cash the carrier took at the door, in `currency`"),
  cod_amount: z.number(),
  delivery_fee_amount: z.number(),
  currency: z.string(),
  status: z.enum([...statuses, "reversed"]).describe("reversed: it was not taken after all"),
  collected_at: Timestamp,
  remitted_at: Timestamp.nullable().describe("When it was paid or written off"),
  remittance_id: Id.nullable(),
  remittance_reference: z.string().nullable(),
  reversed_at: Timestamp.nullable().describe("When the outcome that it was taken with was undone"),
}).meta({ id: "CarrierCollection" });

export const CollectionsResponse = listResponse(CarrierCollection).extend({
  summary: z.object({
    owed: z.array(
      z.strictObject({ currency: z.string(), amount: z.number(), collections: z.int() }),
    ),
  }).describe("Over the same filters but the status"),
});

const owed =
  `select jsonb_build_object('owed', coalesce(jsonb_agg(jsonb_build_object('currency', o.currency,
  'amount', o.amount, 'collections', o.collections) order by o.currency), '[]')) from (
  select r.currency, sum(r.amount) as amount, count(*) as collections from`;

const declared = {
  view: "money.carrier_collections_list",
  sort: ["collected_at", "amount", "delivery_code", "remitted_at"],
  params: {
    status: someOf("status", statuses),
    currency: { ...equal("currency"), schema: Currency },
    delivery_id: id("delivery_id"),
    remittance_id: id("remittance_id"),
    from_date: sinceDay("collected_at"),
    to_date: untilDay("collected_at"),
    reversed: {
      ...isSet("reversed_at", "set"),
      unasked: {
        condition: "r.reversed_at is null",
        kept: `'{"reversed_at": null}'::jsonb`,
      },
    },
  },
  columns: {
    status: someOf("status", statuses),
    currency: { ...equal("currency"), schema: Currency },
    customer_name: contains("customer_name"),
    delivery_address: contains("delivery_address"),
    tracking_number: contains("tracking_number"),
    external_reference_id: contains("external_reference_id"),
    remittance_reference: contains("remittance_reference"),
    delivery_code: number("delivery_code"),
    amount: number("amount"),
    cod_amount: number("cod_amount"),
    delivery_fee_amount: number("delivery_fee_amount"),
    collected_at: days("collected_at"),
    remitted_at: days("remitted_at"),
  },
  readBy: "collected_at",
  limit: { default: 20, max: 100 },
  tally: { name: "carrier_collections", filters: ["carrier_code", "status", "currency"] },
  summary: {
    ignores: ["status"],
    sql: (from, { wanted }) => {
      const counted = `(${owed} ${from} and r.status = 'owed' group by r.currency) o)`;
      return wanted === null ? counted : `case when (select app.sees_tenant())
        then jsonb_build_object('owed', money.carrier_owed_from_tallies(${wanted})) else ${counted} end`;
    },
  },
} satisfies ListDeclaration;

/** A list of what is one carrier's: a client filters by all but the carrier, which is of the path. */
function ofCarrier(declared: ListDeclaration): {
  query: List["query"];
  answer(db: Database, carrier: string, query: ListQuery): Promise<ListAnswer>;
} {
  const asked = defineList(declared);
  const params = { ...declared.params, carrier_code: equal("carrier_code") };
  const list = defineList({ ...declared, params });
  return {
    query: asked.query,
    answer: (db, carrier_code, query) =>
      list.answer(db, { ...query, filters: { ...query.filters, carrier_code } }),
  };
}

/** The collections of one carrier, the newest first. */
export const collectionsOf = ofCarrier(declared);

/**
 * A carrier's payment or a write-off, normalised: ids are sorted and missing fields left out, since
 * a repeated Idempotency-Key is compared with it.
 */
export const Remit = z.strictObject({
  kind: z.enum(kinds).default("payment").meta({
    description: "write_off: the carrier does not pay it; it names what, and `notes` say why",
  }),
  amount: Money.refine((amount) => amount > 0, { error: "more than nothing" }).meta({
    description: "What of its debt is settled with it: the sum of whole collections",
  }),
  charges: Money.nullish().meta({
    description:
      "What of `amount` the carrier kept for its work, at most all of it; the till gets the rest. Nothing unless said, and of a write_off",
  }),
  currency: Currency,
  reference: Text.meta({
    description:
      "The carrier's number of the payment, yours of a write-off; entered once, unless it was reversed",
  }),
  notes: LongText.nullish(),
  carrier_collection_ids: z.array(Id).min(1).max(2_000).nullish().meta({
    description: "What it pays; without this and `delivery_ids`, the oldest that are owed",
  }),
  delivery_ids: z.array(Id).min(1).max(2_000).nullish().meta({
    description: "The same by parcels, instead of `carrier_collection_ids`",
  }),
}).transform(({ carrier_collection_ids, charges, delivery_ids, kind, notes, ...rest }) => {
  if (carrier_collection_ids && delivery_ids) {
    throw new AppError("validation_failed", { field: "delivery_ids" });
  }
  if (kind === "write_off") {
    const missing = !notes
      ? "notes"
      : !carrier_collection_ids && !delivery_ids
      ? "carrier_collection_ids"
      : charges
      ? "charges"
      : null;
    if (missing) throw new AppError("validation_failed", { field: missing });
  }
  return {
    ...rest,
    ...(kind === "payment" ? {} : { kind }),
    ...(notes ? { notes } : {}),
    ...(charges ? { charges } : {}),
    ...ordered("carrier_collection_ids", carrier_collection_ids),
    ...ordered("delivery_ids", delivery_ids),
  };
}).meta({ id: "RemitCarrierCash" });

function ordered(field: string, ids: string[] | null | undefined): Record<string, string[]> {
  if (!ids) return {};
  const distinct = [...new Set(ids.map((one) => one.toLowerCase()))].sort();
  if (distinct.length < ids.length) throw new AppError("validation_failed", { field });
  return { [field]: distinct };
}

/** The reason for reversing a payment. */
export const Reverse = z.strictObject({ reason: Text }).meta({ id: "ReverseCarrierRemittance" });

export const Remittance = z.strictObject({
  id: Id,
  carrier_code: CarrierCode,
  amount: z.number().describe(
    "What of its debt was paid, charges included, or written off, in `currency`",
  ),
  cod_amount: z.number(),
  delivery_fee_amount: z.number(),
  currency: z.string(),
  reference: z.string().describe(
    "The carrier's number of the payment, the company's of a write-off",
  ),
  notes: z.string().nullable(),
  remitted_at: Timestamp,
  remitted_count: z.int().describe("How many collections it paid"),
  entered_by: Person.nullable().describe("Null: a program, with an API key"),
  reversed_at: Timestamp.nullable().describe("Null unless it was reversed"),
  reversed_by: Person.nullable(),
  reversal_reason: z.string().nullable(),
  kind: z.enum(kinds),
  charges: z.number().describe("What of `amount` the carrier kept for its work"),
  received: z.number().describe("What of `amount` reached the till; of a write-off nothing"),
}).meta({ id: "CarrierRemittance" });

const WithCollections = Remittance.extend({
  remitted_collections: z.array(z.strictObject({
    carrier_collection_id: Id,
    delivery_id: Id,
    delivery_code: z.number(),
    amount: z.number(),
    cod_amount: z.number(),
    delivery_fee_amount: z.number(),
  })),
});

export const RemittanceResponse = z.object({ remittance: WithCollections });

export const RemittedResponse = z.object({
  remittance: WithCollections.extend({
    still_owed: z.number().describe("The carrier's debt after it, in this currency"),
  }),
});

/** The payments of one carrier and what was written off of it, the newest first, reversed ones included. */
export const remittancesOf = ofCarrier({
  view: "money.remittances_with_charges",
  search: ["reference"],
  sort: ["remitted_at", "amount"],
  params: {
    kind: oneOf("kind", kinds),
    currency: { ...equal("currency"), schema: Currency },
    reversed: isSet("reversed_at", "set"),
    from_date: sinceDay("remitted_at"),
    to_date: untilDay("remitted_at"),
  },
  columns: {
    reference: contains("reference"),
    notes: contains("notes"),
    currency: equal("currency"),
    amount: number("amount"),
    cod_amount: number("cod_amount"),
    delivery_fee_amount: number("delivery_fee_amount"),
    charges: number("charges"),
    received: number("received"),
    remitted_count: number("remitted_count"),
    remitted_at: days("remitted_at"),
    reversed_at: days("reversed_at"),
  },
  readBy: "remitted_at",
  limit: { default: 20, max: 100 },
  summary: {
    sql: (rows) =>
      `(select jsonb_build_object(
        'remitted', coalesce(jsonb_agg(p.sums order by p.currency) filter (where p.kind = 'payment'), '[]'),
        'written_off', coalesce(jsonb_agg(p.sums order by p.currency) filter (where p.kind = 'write_off'), '[]'),
        'charges', coalesce(jsonb_agg(p.kept order by p.currency) filter (where p.charged > 0), '[]')) from (
        select r.kind, r.currency, jsonb_build_object('currency', r.currency, 'amount', sum(r.amount), 'remittances', count(*)) as sums,
          sum(r.charges) as charged, jsonb_build_object('currency', r.currency, 'amount', sum(r.charges),
            'remittances', count(*) filter (where r.charges > 0)) as kept
        from ${rows} and r.reversed_at is null group by r.kind, r.currency) p)`,
  },
});

const Sums = z.array(
  z.strictObject({ currency: z.string(), amount: z.number(), remittances: z.int() }),
);

export const RemittancesResponse = listResponse(Remittance).extend({
  summary: z.object({
    remitted: Sums.describe("What was paid, charges included"),
    written_off: Sums,
    charges: Sums.describe("What of `remitted` carriers kept; `remittances` counts those with any"),
  })
    .describe("Over the same filters, without reversed ones"),
});
