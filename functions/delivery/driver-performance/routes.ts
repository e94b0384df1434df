import { permission } from "../../../shared/api/access.ts";
import { csvTable } from "../../../shared/api/csv/export.ts";
import type { Database } from "../../../shared/db/db.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import {
  DetailResponse,
  GetPerformance,
  ListPerformance,
  PerformanceResponse,
  Rebuild,
  Rebuilt,
  Row,
} from "./schemas.ts";

const operations = permission("manage:operations:tenant");

/** Driver performance: figures that are brought up to date every quarter of an hour. */
export const driverPerformance: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/driver-performance",
    summary: "Report on drivers, of one month or of all time",
    access: operations,
    query: ListPerformance,
    response: PerformanceResponse,
    errors: ["driver_not_found", "invalid_column_filters", "month_and_year_together"],
    run: ({ db, query: { format, times: _, ...query } }) =>
      format === "csv" ? file(db, query) : db.call("delivery.performance_list", query),
  }),
  endpoint({
    method: "get",
    path: "/driver-performance/detail",
    summary: "Compare a driver's month with the one before and the last six",
    access: operations,
    query: GetPerformance,
    response: DetailResponse,
    errors: ["driver_not_found"],
    run: ({ db, query }) => db.call("delivery.performance_detail", query),
  }),
  endpoint({
    method: "post",
    path: "/driver-performance/rebuild",
    summary:
      "Calculate the figures anew; all months of a big tenant are queued and done within minutes",
    access: operations,
    body: Rebuild,
    response: Rebuilt,
    status: 202,
    errors: ["month_and_year_together"],
    run: ({ db, body }) => db.call("delivery.performance_rebuild", body),
  }),
];

/** More drivers than a tenant has; only the query of the list limits a page. */
const everyDriver = 1_000_000;

/** The report as a file: one row a driver, so it is read in one page. */
async function file(db: Database, query: object) {
  const { data } = await db.call<{ data: Record<string, unknown>[] }>("delivery.performance_list", {
    ...query,
    page: 1,
    page_size: everyDriver,
  });
  return csvTable("driver-performance.csv", Object.keys(Row.shape), data);
}
