/** The counts of a process, as they are handed to the database. */
import { beforeEach, expect, test, vi } from "vitest";
import type * as Metrics from "../../shared/runtime/metrics.ts";

let metrics: typeof Metrics;
beforeEach(async () => {
  // Counts belong to a process: each test begins with none.
  vi.resetModules();
  metrics = await import("../../shared/runtime/metrics.ts");
});

const labels = { function: "delivery" };
const bucket = (le: string) =>
  `barid_http_request_duration_seconds_bucket{function="delivery",le="${le}"}`;

test("counters add up by their labels, and begin at nothing when they were taken", () => {
  const { count, takeCounts } = metrics;
  const request = { function: "delivery", operation: "GET /delivery/a", code: "200" };
  count("barid_http_requests_total", request);
  count("barid_http_requests_total", request);
  count("barid_http_requests_total", { ...request, code: "404" });
  const series = (code: string) =>
    `barid_http_requests_total{function="delivery",operation="GET /delivery/a",code="${code}"}`;
  expect(takeCounts()).toEqual({ [series("200")]: 2, [series("404")]: 1 });
  expect(takeCounts()).toEqual({});
});

test("each bucket of a histogram has what took at most its bound", () => {
  for (const seconds of [0.01, 0.011, 0.3, 11]) {
    metrics.observe("barid_http_request_duration_seconds", labels, seconds);
  }
  const counts = metrics.takeCounts();
  expect(counts[bucket("0.01")]).toBe(1);
  expect(counts[bucket("0.025")]).toBe(2);
  expect(counts[bucket("0.25")]).toBe(2);
  expect(counts[bucket("0.5")]).toBe(3);
  expect(counts[bucket("10.0")]).toBe(3);
  expect(counts[bucket("+Inf")]).toBe(4);
  expect(counts['barid_http_request_duration_seconds_count{function="delivery"}']).toBe(4);
  expect(counts['barid_http_request_duration_seconds_sum{function="delivery"}']).toBeCloseTo(
    11.321,
  );
});

test("what could not be saved is counted with what comes after it", () => {
  metrics.count("barid_database_pool_timeouts_total", {});
  metrics.observe("barid_http_request_duration_seconds", labels, 1);
  metrics.putCountsBack(metrics.takeCounts());
  metrics.count("barid_database_pool_timeouts_total", {});
  metrics.observe("barid_http_request_duration_seconds", labels, 3);
  const counts = metrics.takeCounts();
  expect(counts["barid_database_pool_timeouts_total"]).toBe(2);
  expect(counts[bucket("1.0")]).toBe(1);
  expect(counts[bucket("5.0")]).toBe(2);
});

test("labels are escaped as OpenMetrics wants them", () => {
  expect(metrics.seriesOf("a", { b: 'x"y\\z\n' })).toBe('a{b="x\\"y\\\\z\\n"}');
  expect(metrics.seriesOf("a", {})).toBe("a");
});
