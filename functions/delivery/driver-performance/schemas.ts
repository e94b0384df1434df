import { z } from "zod";
import { asciiDigits } from "../../../shared/schemas/digits.ts";
import {
  clamp,
  contains,
  fileParameters,
  number,
  readColumnFilters,
} from "../../../shared/api/list.ts";
import { Id, Timestamp } from "../../../shared/schemas/schemas.ts";

const numbers = [
  "period_month",
  "period_year",
  "total_deliveries",
  "successful_deliveries",
  "failed_deliveries",
  "on_time_deliveries",
  "late_deliveries",
  "success_rate",
  "on_time_rate",
  "average_delivery_time_minutes",
  "total_distance_km",
  "km_per_delivery",
  "total_delivery_value",
  "handled_legs",
] as const;

const whole = (min: number, max: number) =>
  z.string().overwrite(asciiDigits).regex(/^\d{1,9}$/).meta({ type: "integer", pattern: undefined })
    .transform(Number)
    .pipe(z.int().min(min).max(max));
const Month = z.int().min(1).max(12);
const Year = z.int().min(2020).max(2100);

const columns = {
  driver_name: contains("driver_name"),
  ...Object.fromEntries(numbers.map((name) => [name, number(name)])),
};

const together = {
  check: ({ month, year }: { month?: unknown; year?: unknown }) =>
    (month === undefined) === (year === undefined),
  refusal: { error: "month_and_year_together", path: ["month"] },
};

export const ListPerformance = z.object({
  month: whole(1, 12).optional(),
  year: whole(2020, 2100).optional(),
  page: z.string().optional().meta({ type: "integer" }),
  page_size: z.string().optional().meta({ type: "integer" }),
  search: z.string().max(200).optional(),
  sort_by: z.enum([
    "total_deliveries",
    "driver_id",
    "driver_name",
    ...numbers.slice(0, 2),
    ...numbers.slice(3),
  ])
    .optional(),
  sort_order: z.enum(["asc", "desc"]).optional(),
  column_filters: z.string().max(8_000).optional().meta({
    description: `JSON object with any of: driver_name, ${numbers.join(", ")}`,
  }),
  driver_id: Id.optional(),
  ...fileParameters("`csv`: the rows of all pages as a file, in the order asked for"),
}).refine(together.check, together.refusal).transform((query) => ({
  ...query,
  page: clamp(query.page, 1, Number.MAX_SAFE_INTEGER, 1),
  page_size: clamp(query.page_size, 1, 100, 20),
  search: query.search?.trim() || undefined,
  sort_by: query.sort_by ?? "total_deliveries",
  sort_order: query.sort_order ?? "desc",
  column_filters: readColumnFilters(query.column_filters, columns),
}));

const count = z.int();
const rate = z.number().nullable();
/** A driver's figures, in the list and in the report of a month. */
const Figures = {
  total_deliveries: count,
  successful_deliveries: count,
  failed_deliveries: count,
  on_time_deliveries: count,
  late_deliveries: count,
  success_rate: rate,
  on_time_rate: rate,
  average_delivery_time_minutes: rate,
  total_delivery_value: z.number(),
  handled_legs: count.describe(
    "Legs of staged parcels that the driver carried; a parcel counts as a delivery for who carries its last leg",
  ),
};
export const Row = z.object({
  driver_id: Id,
  driver_name: z.string(),
  period_month: z.int().nullable(),
  period_year: z.int().nullable(),
  ...Figures,
  total_distance_km: z.number(),
  km_per_delivery: rate,
}).meta({ id: "DriverPerformance" });

export const PerformanceResponse = z.object({
  month: z.int().nullable(),
  year: z.int().nullable(),
  pagination: z.object({ page: count, page_size: count, total_records: count, total_pages: count }),
  available_months: z.array(z.object({ year: z.int(), month: z.int() })),
  summary: z.object({
    total_deliveries: count,
    successful_deliveries: count,
    failed_deliveries: count,
    success_rate: rate,
    on_time_rate: rate,
    avg_delivery_time_minutes: rate,
    total_delivery_value: z.number(),
    active_drivers: count.describe("Drivers with a delivery that counts"),
    handled_legs: count,
    top_drivers: z.array(
      z.object({
        driver_id: Id,
        driver_name: z.string(),
        total_deliveries: count,
        success_rate: rate,
      }),
    ),
  }),
  data: z.array(Row),
  computed_at: Timestamp.nullable(),
});

export const GetPerformance = z.object({ driver_id: Id });
const MonthOf = z.object({
  year: z.int(),
  month: z.int(),
  ...Figures,
  total_distance_traveled: z.number(),
  kilometers_per_delivery: rate,
});
export const DetailResponse = z.object({
  driver: z.object({ driver_id: Id, driver_name: z.string(), avatar_url: z.string().nullable() }),
  current_month: MonthOf,
  previous_month: MonthOf,
  changes: z.object({
    total_deliveries: rate,
    success_rate: rate,
    on_time_rate: rate,
    avg_delivery_time: rate,
    total_delivery_value: rate,
  }),
  history: z.array(MonthOf),
  computed_at: Timestamp.nullable(),
});

export const Rebuild = z.object({ month: Month.optional(), year: Year.optional() })
  .refine(together.check, together.refusal).meta({ id: "RebuildPerformance" });
export const Rebuilt = z.object({
  status: z.enum(["done", "queued"]),
  computed_at: Timestamp.nullable(),
});
