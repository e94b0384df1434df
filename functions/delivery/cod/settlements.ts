import { z } from "zod";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import {
  contains,
  days,
  defineList,
  equal,
  id,
  isSet,
  number,
  oneOf,
  sinceDay,
  untilDay,
  words,
} from "../../../shared/api/list.ts";
import {
  Currency,
  Id,
  ids,
  Pagination,
  Person,
  Text,
  Timestamp,
} from "../../../shared/schemas/schemas.ts";
import { cashReaders, office } from "./access.ts";
import { Method, ReceiptStatus, Settled, Shortage } from "./schemas.ts";

const Settlement = z.strictObject({
  settlement_payment_id: Id,
  method: Method,
  scope: z.enum(["selected", "all"]),
  driver: Person,
  receiver: Person.nullable().describe(
    "The receiver of the cash; null when it was settled from the driver's wallet",
  ),
  entered_by: Person,
  currency: z.string(),
  total: z.number(),
  cod: z.number(),
  delivery_fee: z.number(),
  counted: z.number().describe(
    "The amount that reached the receiver's desk or left the wallet: the total less the shortage",
  ),
  shortage: Shortage,
  collections: z.int().describe("How many collections it settled"),
  reference: z.string().nullable(),
  notes: z.string().nullable(),
  receipt_status: ReceiptStatus,
  settled_at: Timestamp,
  reversed_at: Timestamp.nullable().describe("Null unless it was reversed"),
  reversed_by: Person.nullable(),
  reversal_reason: z.string().nullable(),
}).meta({ id: "CashSettlement" });

const SettlementResponse = z.object({
  data: Settlement.extend({
    items: z.array(Settled.extend({
      delivery_id: Id,
      customer_name: z.string(),
      collected_at: Timestamp,
    })).describe("In the order the cash was taken; also after the settlement was reversed"),
  }),
});

const SettlementsResponse = z.object({
  data: z.array(Settlement),
  pagination: Pagination,
  summary: z.object({
    settled: z.array(z.strictObject({
      currency: z.string(),
      method: Method,
      amount: z.number(),
      settlements: z.int(),
    })),
  }).describe("Over the same filters, without reversed ones"),
});

const settlements = defineList({
  view: "money.cod_settlements_list",
  search: ["driver_name", "receiver_name", "reference", "notes"],
  sort: ["settled_at", "total", "collections", "driver_name", "receiver_name", "reversed_at"],
  params: {
    driver_id: id("driver_id"),
    receiver_id: id("receiver_id"),
    method: oneOf("method", words(Method)),
    currency: { ...equal("currency"), schema: Currency },
    reversed: isSet("reversed_at", "set"),
    date_from: sinceDay("settled_at"),
    date_to: untilDay("settled_at"),
  },
  columns: {
    method: oneOf("method", words(Method)),
    driver_name: contains("driver_name"),
    receiver_name: contains("receiver_name"),
    reference: contains("reference"),
    notes: contains("notes"),
    currency: equal("currency"),
    total: number("total"),
    collections: number("collections"),
    settled_at: days("settled_at"),
    reversed_at: days("reversed_at"),
  },
  hidden: ["id", "driver_id", "receiver_id", "driver_name", "receiver_name"],
  readBy: "settled_at",
  limit: { default: 20, max: 100 },
  summary: {
    sql: (rows) =>
      `(select jsonb_build_object('settled', coalesce(jsonb_agg(jsonb_build_object('currency', s.currency,
        'method', s.method, 'amount', s.amount, 'settlements', s.settlements) order by s.currency, s.method), '[]')) from (
        select r.currency, r.method, sum(r.total) as amount, count(*) as settlements from ${rows} and r.reversed_at is null
          group by r.currency, r.method) s)`,
  },
});

/** Settlements: lists, details, and the reversal of wrong ones. */
export const codSettlements: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/cod-settlements",
    summary: "List settlements; drivers find their own",
    access: cashReaders,
    query: settlements.query,
    response: SettlementsResponse,
    run: ({ db, query }) => settlements.answer(db, query),
  }),
  endpoint({
    method: "get",
    path: "/cod-settlements/:settlement_payment_id",
    summary: "Read a settlement with what it settled",
    access: cashReaders,
    params: ids("settlement_payment_id"),
    response: SettlementResponse,
    errors: ["settlement_not_found"],
    run: async ({ db, params }) => ({ data: await db.call("money.cod_settlement_get", params) }),
  }),
  endpoint({
    method: "post",
    path: "/cod-settlements/:settlement_payment_id/reverse",
    person: true,
    summary: "Reverse a settlement that was entered wrongly; the driver holds its cash again",
    access: office,
    params: ids("settlement_payment_id"),
    body: z.object({ reason: Text }),
    response: SettlementResponse,
    errors: [
      "settlement_not_found",
      "settlement_already_reversed",
      "settlement_not_reversible",
      "insufficient_desk_cash",
      "insufficient_wallet_balance",
    ],
    run: async ({ db, params, body }) => ({
      data: await db.call("money.cod_settlement_reverse", { ...body, ...params }),
    }),
  }),
];
