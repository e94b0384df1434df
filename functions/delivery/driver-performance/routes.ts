import { can } from "../../../shared/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/endpoint.ts";
import {
  DetailResponse,
  GetPerformance,
  ListPerformance,
  PerformanceResponse,
  Rebuild,
  Rebuilt,
} from "./schemas.ts";

const readers = can("view:tenant", "manage:operations:tenant");

/** What drivers achieved: figures that are brought up to date every quarter of an hour. */
export const driverPerformance: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/driver-performance",
    summary: "Report on drivers, of one month or of all time",
    access: readers,
    query: ListPerformance,
    response: PerformanceResponse,
    errors: ["driver_not_found", "invalid_column_filters", "month_and_year_together"],
    run: ({ db, query }) => db.call("delivery.performance_list", query),
  }),
  endpoint({
    method: "get",
    path: "/driver-performance/detail",
    summary: "A driver's month beside the one before, and his last six",
    access: readers,
    query: GetPerformance,
    response: DetailResponse,
    errors: ["driver_not_found"],
    run: ({ db, query }) => db.call("delivery.performance_detail", query),
  }),
  endpoint({
    method: "post",
    path: "/driver-performance/rebuild",
    summary: "Make the figures anew; all of a big tenant within the next minutes",
    access: can("manage:operations:tenant"),
    body: Rebuild,
    response: Rebuilt,
    status: 202,
    errors: ["month_and_year_together"],
    run: ({ db, body }) => db.call("delivery.performance_rebuild", body),
  }),
];
