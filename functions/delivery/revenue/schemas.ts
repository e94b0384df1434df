/** The fees that a company earned with deliveries, and their direct costs. */
import { z } from "zod";
import { AppError } from "../../../shared/errors/errors.ts";
import { fileParameters } from "../../../shared/api/list.ts";
import { Currency, Day, Person } from "../../../shared/schemas/schemas.ts";

/** The most days of a report, so that it stays one answer: of days as rows a year and a little, else ten years. */
const mostDays = (by: string | undefined) => by === "day" ? 400 : 3_660;

const RevenueParameters = z.object({
  date_from: Day.optional().meta({
    description:
      "The first day, in the company's time zone; unless said the first of the month of date_to. At most 3,660 days, by day 400",
  }),
  date_to: Day.optional().meta({ description: "The last day; today unless said" }),
  group_by: z.enum(["day", "month", "merchant"]).optional().meta({
    description: "The rows; without it there are only the totals",
  }),
  currency: Currency.optional(),
  ...fileParameters("`csv`: the rows as a file, without `group_by` the totals"),
});

/** Fails: validation_failed, for more days than a report has. */
export const RevenueQuery = RevenueParameters.transform((query) => {
  const { date_from, date_to, group_by } = query;
  if (!date_from) return query;
  const most = mostDays(group_by);
  // Today is at most a day ahead of UTC somewhere; the core knows where the company is.
  const last = date_to ? Date.parse(date_to) : Date.now();
  if ((last - Date.parse(date_from)) / 86_400_000 >= most) {
    throw new AppError("validation_failed", {
      field: "date_from",
      reason_key: "reason_range_days",
      most,
    });
  }
  return query;
});

const sums = {
  currency: z.string(),
  delivery_fees: z.number().describe(
    "Charged to wallets, with their changes, and taken in cash beside the COD",
  ),
  refunds: z.number().describe("Fees given back to wallets or paid back at a desk"),
  driver_pay: z.number().describe("Earned by drivers, paid out or not"),
  carrier_charges: z.number().describe("Kept by carriers for their work, of what they took"),
  write_offs: z.number().describe("Taken by carriers, which will not pay it"),
  shortages: z.number().describe("Cash that was short and written off"),
  net: z.number().describe(
    "delivery_fees - refunds - driver_pay - carrier_charges - write_offs - shortages",
  ),
};

const Row = z.strictObject({
  period: z.string().nullable().describe("`2026-11-29` or `2026-11`, by `group_by`"),
  merchant: Person.nullable().describe(
    "Whose deliveries they are; null of a store's, of carriers' charges, write-offs and shortages, and unless they are grouped by it",
  ),
  ...sums,
}).meta({ id: "RevenueRow" });

const Totals = z.strictObject(sums).meta({ id: "RevenueTotals" });

export const RevenueResponse = z.object({
  date_from: Day.describe("The first day of the report"),
  date_to: Day.describe("Its last day"),
  timezone: z.string(),
  rows: z.array(Row),
  totals: z.array(Totals).describe("By currency"),
});

/** An answer of the core. */
export type Revenue = z.infer<typeof RevenueResponse>;
