/** The journal of a desk: every movement that the ledger has of it, whatever made it. */
import { z } from "zod";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import {
  days,
  defineList,
  equal,
  type Filter,
  foundBy,
  id,
  number,
  oneOf,
  sinceDay,
  someWords,
  untilDay,
  words,
} from "../../../shared/api/list.ts";
import { Currency, Id, Pagination, Person, Timestamp } from "../../../shared/schemas/schemas.ts";
import { deskReaders } from "../cod/access.ts";
import { Kind as TransferKind, OwnerType } from "./schemas.ts";

const Kind = z.enum([
  "remittance",
  "carrier_remittance",
  "shortage",
  "driver_payout",
  "merchant_payout",
  ...TransferKind.options,
]);

const Movement = z.strictObject({
  id: z.int(),
  desk: z.strictObject({
    id: Id,
    owner_type: OwnerType,
    user: Person.nullable().describe("Null for the tenant's own till"),
  }),
  kind: Kind.describe(
    "`shortage`: what a second count found; negative: booked up to 1.6.0. The others are those of settlements, carriers' payments, payouts " +
      "and transfers. A reversal has the kind of what it reverses",
  ),
  amount: z.number().describe("Positive: it came to the desk"),
  currency: z.string(),
  balance_after: z.number().describe("What the desk held after it"),
  counterparty: Person.nullable().describe(
    "The person at the other side: the driver, the merchant, the owner of the wallet, the colleague",
  ),
  carrier_code: z.string().nullable().describe("Of a carrier's payment"),
  entered_by: Person.nullable(),
  reference_type: z.enum([
    "cod_settlement",
    "carrier_remittance",
    "cash_handover",
    "cash_transfer",
    "driver_payout",
    "merchant_payout",
  ]),
  reference_id: Id.describe("The settlement, payment, handover, transfer or payout"),
  statement_id: Id.nullable().describe("Of a merchant's payout"),
  refund_id: Id.nullable().describe("The fee that was due back, of a refund"),
  reference: z.string().nullable().describe("The number on the slip or receipt"),
  notes: z.string().nullable(),
  description: z.string().nullable().describe("What the ledger says; of a reversal, why"),
  reverses: z.int().nullable().describe("Of a reversal, the id of the movement it reverses"),
  reversed_at: Timestamp.nullable().describe("Null unless it was reversed"),
  created_at: Timestamp,
}).meta({ id: "CashDeskMovement" });

const sums = {
  in: z.number().describe("The sum of the movements that came to the desks"),
  out: z.number().describe("The sum of those that left them; positive"),
};

const MovementsResponse = z.object({
  data: z.array(Movement),
  pagination: Pagination,
  summary: z.array(z.strictObject({
    currency: z.string(),
    opening_balance: z.number().describe("Before `date_from`; 0 without it"),
    ...sums,
    closing_balance: z.number().describe(
      "At the end of `date_to`: opening_balance + in - out; now, without it",
    ),
    kinds: z.array(
      z.strictObject({
        kind: Kind,
        ...sums,
        movements: z.int().describe("How many they are, with their reversals"),
      }),
    ).nullable().describe("Null without `date_from`"),
  })).describe(
    "By currency, over the desks and days that are asked for, whatever else narrows the rows",
  ),
});

const inRange = `coalesce(r.created_at >= (
    select app.day_start(app.day_of($1 #>> '{param,date_from}'))), true)
  and coalesce(r.created_at < (select app.day_end(app.day_of($1 #>> '{param,date_to}'))), true)`;
const before = `r.created_at < (select app.day_start(app.day_of($1 #>> '{param,date_from}')))`;

const came = "coalesce(sum(r.amount) filter (where r.amount > 0";
const left = "coalesce(-sum(r.amount) filter (where r.amount < 0";

/**
 * Movements of a kind, or of several: found from the kind, once for page and total. `is true` keeps the set a filter of the rows of the desks: joined,
 * it would be looked up row by row for each desk.
 */
const ofKind: Filter = {
  schema: someWords(words(Kind)),
  condition: (value, once) => {
    const [desk, user] = ["desk_id", "user_id"].map((name) => `($1 #>> '{param,${name}}')::uuid`);
    const found = once(`money.desk_movements_of(${value}, ${desk}, ${user})`);
    return `(r.id in (select s.id from ${found} s)) is true`;
  },
};

const movements = defineList({
  view: "money.cash_desk_movements_list",
  sort: ["created_at", "amount"],
  // As they were booked: a transaction that began earlier may have waited for the desk and been booked later.
  sortColumns: { created_at: "id" },
  params: {
    search: foundBy("money.desk_movements_found", "reference_id"),
    desk_id: id("desk_id"),
    user_id: id("user_id"),
    owner_type: oneOf("owner_type", words(OwnerType)),
    kind: ofKind,
    reference_id: id("reference_id"),
    currency: { ...equal("currency"), schema: Currency },
    date_from: sinceDay("created_at"),
    date_to: untilDay("created_at"),
  },
  columns: {
    kind: ofKind,
    currency: equal("currency"),
    amount: number("amount"),
    created_at: days("created_at"),
  },
  hidden: ["desk_id", "owner_type", "user_id"],
  made: "all",
  idType: "bigint",
  readBy: "id",
  // Of the entries of each desk an index has the order, of those of all desks none.
  sortedFirst: true,
  summary: {
    // The days are asked here, since the balance before them counts, too.
    ignores: ["date_from", "date_to", "created_at", "kind", "amount", "reference_id", "search"],
    sql: (rows) =>
      `(select coalesce(jsonb_agg(jsonb_build_object('currency', b.currency, 'opening_balance', b.opening, 'in', b.came, 'out', b.gone,
          'closing_balance', b.opening + b.came - b.gone, 'kinds', case when $1 #>> '{param,date_from}' is not null then (
            select coalesce(jsonb_agg(jsonb_build_object('kind', k.kind, 'in', k.came, 'out', k.gone, 'movements', k.movements) order by k.kind), '[]')
            from (select r.kind, ${came}), 0) as came, ${left}), 0) as gone, count(*) as movements
              from ${rows} and r.currency = b.currency and ${inRange} group by r.kind) k) end) order by b.currency), '[]')
        from (select r.currency, coalesce(sum(r.amount) filter (where ${before}), 0) as opening, ${came} and ${inRange}), 0) as came,
            ${left} and ${inRange}), 0) as gone
          from ${rows} group by r.currency) b)`,
  },
  limit: { default: 20, max: 100 },
});

export const cashDeskMovements: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/cash-desks/movements",
    summary:
      "List every movement of the desks, the newest first; operations managers find those of their own",
    access: deskReaders,
    query: movements.query,
    response: MovementsResponse,
    async run({ db, query }) {
      const { data, ...page } = await movements.answer(db, query);
      return {
        data: data.map(({ details, ...movement }) => ({ ...movement, ...details as object })),
        ...page,
      };
    },
  }),
];
