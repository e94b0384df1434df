/** Column filters of the report on drivers read numbers as every list does. */
import { beforeAll, expect, test } from "vitest";
import { newDriver } from "../../support/assignments.ts";
import { sql } from "../../support/db.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let names: Map<string, string>;

beforeAll(async () => {
  tenant = await newTenant();
  names = new Map();
  for (const [name, total] of [["one", 1], ["two", 2], ["three", 3]] as const) {
    const { id } = await newDriver(tenant);
    names.set(id, name);
    await sql`insert into delivery.driver_performance (tenant_id, driver_id, period_year, period_month,
        total_deliveries, successful_deliveries, failed_deliveries, on_time_deliveries, late_deliveries,
        timed_deliveries, total_minutes, measured_deliveries, total_distance_km, total_delivery_value)
      values (${tenant.id}, ${id}, 2026, 3, ${total}, ${total}, 0, 0, 0, 0, 0, 0, 0, 0)`;
  }
});

const found = async (column_filters: object) => {
  const answer = await tenant.ops.get("/delivery/driver-performance", {
    query: { column_filters, sort_by: "total_deliveries", sort_order: "asc" },
  });
  expect(answer).toSucceed(200);
  return answer.body.data.map((row: { driver_id: string }) => names.get(row.driver_id));
};

test.each(
  [
    [{ total_deliveries: 2.5 }, []],
    [{ total_deliveries: "2.0" }, ["two"]],
    [{ total_deliveries: { min: 1.5 } }, ["two", "three"]],
    [{ total_deliveries: { min: "0.5", max: "2.5" } }, ["one", "two"]],
    [{ success_rate: { min: 99.5 }, failed_deliveries: { max: 0.5 } }, ["one", "two", "three"]],
  ],
)("a fraction of a count: %j", async (column_filters, expected) => {
  expect(await found(column_filters)).toEqual(expected);
});

test.each([null, ""])("a column with %j is no filter", async (nothing) => {
  expect(await found({ total_deliveries: nothing, success_rate: nothing, driver_name: nothing }))
    .toEqual(["one", "two", "three"]);
});

test("an empty end of a range is open", async () => {
  expect(await found({ total_deliveries: { min: "", max: 2 } })).toEqual(["one", "two"]);
  expect(await found({ total_deliveries: { min: 2, max: "" }, success_rate: {} })).toEqual([
    "two",
    "three",
  ]);
  expect(await found({ total_deliveries: { min: "", max: null } })).toEqual([
    "one",
    "two",
    "three",
  ]);
});

test("the rows of all pages come as a file, filtered and sorted as asked", async () => {
  const answer = await tenant.ops.get("/delivery/driver-performance", {
    query: {
      format: "csv",
      page: "2",
      page_size: "1",
      sort_by: "total_deliveries",
      sort_order: "asc",
      column_filters: { total_deliveries: { min: 2 } },
    },
  });
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toBe("text/csv; charset=utf-8");
  expect(answer.headers.get("content-disposition"))
    .toBe('attachment; filename="driver-performance.csv"');
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(answer.body as Uint8Array);
  const [heading, ...lines] = text.slice(1).trimEnd().split("\r\n");
  expect(text[0]).toBe("\ufeff");
  expect(heading).toBe(
    "driver_id,driver_name,period_month,period_year,total_deliveries,successful_deliveries,failed_deliveries," +
      "on_time_deliveries,late_deliveries,success_rate,on_time_rate,average_delivery_time_minutes," +
      "total_delivery_value,handled_legs,total_distance_km,km_per_delivery",
  );
  expect(lines.map((line) => names.get(line.split(",")[0]))).toEqual(["two", "three"]);
  expect(await tenant.ops.get("/delivery/driver-performance", { query: { format: "xml" } }))
    .toFailWith(400, "validation_failed");
  expect(await tenant.driver.get("/delivery/driver-performance", { query: { format: "csv" } }))
    .toFailWith(403, "forbidden");
});

test("a page far behind the last is empty, however far", async () => {
  for (const page of ["5000000000", "999999999999999"]) {
    const { body } = await tenant.ops.get("/delivery/driver-performance", { query: { page } });
    expect(body).toMatchObject({
      data: [],
      pagination: { page: Number(page), total_records: 3 },
    });
  }
});
