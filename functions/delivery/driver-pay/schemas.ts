/** Pay that drivers earn with deliveries, and its payouts. */
import { z } from "zod";
import {
  defineList,
  equal,
  id,
  isSet,
  oneOf,
  sinceDay,
  someOf,
  untilDay,
  words,
} from "../../../shared/api/list.ts";
import {
  Currency,
  DayOrInstant,
  Id,
  LongText,
  Pagination,
  Person,
  Text,
  Timestamp,
  withoutEmpty,
} from "../../../shared/schemas/schemas.ts";
import { driverFilter, withDriverIdFilter } from "../driver-id-filter.ts";

const Status = z.enum(["accrued", "paid", "reversed"]);
const Mode = z.enum(["percentage", "per_delivery"]);
const Method = z.enum(["wallet", "cash"]);

const DriverPay = z.strictObject({
  id: Id,
  driver: Person,
  delivery: z.strictObject({ id: Id, delivery_code: z.int() }).describe(
    "The delivery, or the leg of a staged one",
  ),
  rule: z.strictObject({
    mode: Mode,
    percentage: z.number().nullable().describe("Percent of the delivery fee; null per delivery"),
    base_amount: z.number().nullable(),
    delivery_fee: z.number(),
  }).describe("The setting `general.driver` and the parcel's fee when it was delivered"),
  amount: z.number().describe(
    "In `currency`, rounded to its decimals. Each of two legs has half of what the parcel earns",
  ),
  currency: z.string(),
  status: Status,
  accrued_at: Timestamp,
  paid_at: Timestamp.nullable(),
  payout_id: Id.nullable().describe("The payout that paid it; null until then"),
}).meta({ id: "DriverPay" });

export const DriverPayResponse = z.object({
  data: z.array(DriverPay),
  pagination: Pagination,
  summary: z.object({
    accrued: z.number().describe("Earned and not paid out yet"),
    paid: z.number().describe("Earned and paid out"),
  }).describe(
    "Over the same filters but `status`, in the currency asked for; the tenant's own unless said",
  ),
});

export const driverPay = withDriverIdFilter(
  defineList({
    view: "money.driver_pay_list",
    sort: ["accrued_at", "amount", "paid_at"],
    params: {
      driver_id: driverFilter("delivery.driver_filter"),
      status: someOf("status", words(Status)),
      currency: { ...equal("currency"), schema: Currency },
      payout_id: id("payout_id"),
      date_from: sinceDay("accrued_at"),
      date_to: untilDay("accrued_at"),
    },
    hidden: ["driver_id"],
    readBy: "accrued_at",
    limit: { default: 20, max: 100 },
    tally: { name: "driver_pay", filters: ["status", "driver_id", "currency"] },
    summary: {
      // Each sum has a status of its own, so the filter by status narrows none of them.
      ignores: ["status"],
      sql: (rows, { wanted }) => {
        const counted = `(select jsonb_build_object(
          'accrued', coalesce(sum(r.amount) filter (where r.status = 'accrued'), 0),
          'paid', coalesce(sum(r.amount) filter (where r.status = 'paid'), 0)) from ${rows}
            and r.currency = coalesce($1 #>> '{param,currency}', (select (app.currency()).code)))`;
        return wanted === null
          ? counted
          : `case when (select app.sees_tenant()) then money.driver_pay_sums(${wanted}) else ${counted} end`;
      },
    },
  }),
  "delivery.require_driver_id",
);

export const PayOut = z.strictObject({
  driver_id: Id,
  method: Method.describe(
    "`wallet`: credits the driver's wallet, for administrators alone; `cash`: leaves the caller's desk",
  ),
  currency: Currency.nullish().describe("The tenant's unless said"),
  date_to: DayOrInstant.nullish().describe(
    "Pays what accrued until then: a day (to its end, in the tenant's time zone) or an instant; all unless said",
  ),
  reference: Text.nullish(),
  notes: LongText.nullish(),
}).transform(withoutEmpty).meta({ id: "PayOutDriver" });

export const ReversePayout = z.strictObject({ reason: Text }).meta({ id: "ReverseDriverPayout" });

const Payout = z.strictObject({
  id: Id,
  driver: Person,
  amount: z.number(),
  currency: z.string(),
  method: Method.describe("`wallet`: credited to the driver's wallet; `cash`: left a desk"),
  count: z.int().describe("How many deliveries and legs it paid for"),
  reference: z.string().nullable(),
  notes: z.string().nullable(),
  paid_by: Person.describe("Who entered it; cash left this person's desk"),
  paid_at: Timestamp,
  reversed_at: Timestamp.nullable().describe("Null unless it was reversed"),
  reversed_by: Person.nullable(),
  reversal_reason: z.string().nullable(),
}).meta({ id: "DriverPayout" });

export const PayoutResponse = z.object({ data: z.object({ payout: Payout }) });
export const PayoutsResponse = z.object({ data: z.array(Payout), pagination: Pagination });

export const payouts = withDriverIdFilter(
  defineList({
    view: "money.driver_payouts_list",
    search: ["driver_name", "reference", "notes"],
    sort: ["paid_at", "amount"],
    params: {
      driver_id: driverFilter("delivery.driver_filter"),
      method: oneOf("method", words(Method)),
      currency: { ...equal("currency"), schema: Currency },
      reversed: isSet("reversed_at", "set"),
      date_from: sinceDay("paid_at"),
      date_to: untilDay("paid_at"),
    },
    hidden: ["driver_id", "driver_name"],
    readBy: "paid_at",
    limit: { default: 20, max: 100 },
  }),
  "delivery.require_driver_id",
);
