/** The report of drivers' performance: its form, filters and access. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { equip, newDriver } from "../../support/assignments.ts";
import { sql } from "../../support/db.ts";
import {
  newEnded,
  refreshPerformance,
  reportOf,
  type ReportQuery,
} from "../../support/driver-performance.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded } from "../../support/promises.ts";

const path = "/delivery/driver-performance";
let tenant: Tenant;
let other: Tenant;

const ended = (driver: string, columns = {}, assignment?: string) =>
  newEnded(tenant, driver, columns, assignment);
const refresh = () => refreshPerformance(tenant);
const report = (query: ReportQuery = {}) => reportOf(tenant, query);

beforeAll(async () => {
  tenant = await newTenant({ settings: { "general.timezone": { name: "Asia/Baghdad" } } });
  other = await newTenant();
  await equip(other, other.driver.id);
});

describe("the report", () => {
  let drivers: string[];
  beforeAll(async () => {
    tenant = await newTenant();
    drivers = [];
    for (let index = 0; index < 5; index++) {
      const { id } = await newDriver(tenant);
      await sql`update tenancy.profiles set full_name = ${`Driver ${
        "ABCDE"[index]
      }_%`} where id = ${id}`;
      drivers.push(id);
      for (let i = 0; i <= index; i++) await ended(id, i ? {} : { status: "failed" });
    }
    await ended(drivers[0], { created_at: "2025-12-10T10:00:00Z" });
    await refresh();
  });
  const names = (body: { data: { driver_name: string }[] }) =>
    body.data.map((row) => row.driver_name[7]).join("");

  test("has the documented form", async () => {
    const body = await report({ year: 2026, month: 3 });
    expect(body).toEqual({
      success: true,
      message: expect.any(String),
      month: 3,
      year: 2026,
      pagination: { page: 1, page_size: 20, total_records: 5, total_pages: 1 },
      available_months: [{ year: 2026, month: 3 }, { year: 2025, month: 12 }],
      summary: {
        total_deliveries: 15,
        successful_deliveries: 10,
        failed_deliveries: 5,
        success_rate: 66.67,
        on_time_rate: null,
        avg_delivery_time_minutes: 30,
        total_delivery_value: 15_000,
        handled_legs: 0,
        active_drivers: 5,
        top_drivers: expect.any(Array),
      },
      data: expect.any(Array),
      computed_at: expect.any(String),
    });
    expect(names(body)).toBe("EDCBA");
    expect(body.summary.top_drivers).toHaveLength(5);
    expect(body.summary.top_drivers[0])
      .toEqual({
        driver_id: drivers[4],
        driver_name: "Driver E_%",
        total_deliveries: 5,
        success_rate: 80,
      });
    expect(await report()).toMatchObject({
      month: null,
      year: null,
      summary: { total_deliveries: 16 },
    });
  });

  test("is sorted, searched, filtered and paged, and the summary follows the filters", async () => {
    const march = { year: 2026, month: 3 };
    expect(names(await report({ ...march, sort_by: "driver_name", sort_order: "asc" }))).toBe(
      "ABCDE",
    );
    expect(names(await report({ ...march, sort_by: "success_rate", sort_order: "asc" }))).toBe(
      "ABCDE",
    );
    const found = await report({ ...march, search: "r c_%" });
    expect(names(found)).toBe("C");
    expect(found.summary).toMatchObject({ total_deliveries: 3, active_drivers: 1 });
    expect(names(await report({ ...march, search: "%%" }))).toBe("");
    const by = async (column_filters: object) => names(await report({ ...march, column_filters }));
    expect(await by({ total_deliveries: { min: 2, max: 3 } })).toBe("CB");
    expect(await by({ success_rate: { min: "50" }, driver_name: "driver d" })).toBe("D");
    expect(await by({ failed_deliveries: 1, total_deliveries: { max: 1 } })).toBe("A");
    expect(await by({ unknown: 1 })).toBe("EDCBA");
    const page = await report({ ...march, page: 2, page_size: 2 });
    expect(names(page)).toBe("CB");
    expect(page.pagination).toEqual({ page: 2, page_size: 2, total_records: 5, total_pages: 3 });
    expect(page.summary.total_deliveries).toBe(15);
    expect((await report({ page_size: 1000 })).pagination.page_size).toBe(100);
  });

  test("refuses what makes no sense", async () => {
    for (
      const [query, field, code] of [
        [{ month: 3 }, "month", "month_and_year_together"],
        [{ year: 2026 }, "month", "month_and_year_together"],
        [{ year: 2019, month: 1 }, "year", "validation_failed"],
        [{ year: 2026, month: 13 }, "month", "validation_failed"],
        [{ sort_by: "tenant_id" }, "sort_by", "validation_failed"],
        [{ column_filters: "[" }, "column_filters", "invalid_column_filters"],
        [
          { column_filters: { success_rate: "high" } },
          "column_filters.success_rate",
          "invalid_column_filters",
        ],
        [{ driver_id: "x" }, "driver_id", "invalid_uuid"],
      ] as const
    ) {
      const answer = await tenant.ops.get(path, { query });
      expect(answer, JSON.stringify(query)).toFailWith(400, code);
      expect(answer.body.field).toBe(field);
    }
    for (const driver_id of [randomUUID(), other.driver.id]) {
      for (const report of [path, `${path}/detail`]) {
        expect(await tenant.ops.get(report, { query: { driver_id } })).toFailWith(
          404,
          "driver_not_found",
        );
      }
    }
    expect((await tenant.ops.in("ar").get(path, { query: { month: 3 } })).body.message)
      .toMatch(/[\u0600-\u06ff]/);
  });

  test("is for those who manage", async () => {
    const denied = [tenant.driver, tenant.customer, tenant.institution];
    for (const report of [path, `${path}/detail`]) {
      await expectGuarded({ method: "GET", path: report }, { denied });
    }
    await expectGuarded({ method: "POST", path: `${path}/rebuild` }, {
      denied: [...denied, tenant.warehouse],
    });
    expect((await other.ops.get(path)).body).toMatchObject({ data: [], available_months: [] });
  });

  test("of one driver sets this month beside the last, and shows six", async () => {
    const { id } = await newDriver(tenant);
    const now = new Date();
    const back = (months: number) =>
      new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months, 1, 12)).toISOString();
    for (let i = 0; i < 3; i++) await ended(id, { created_at: back(0) });
    await ended(id, { created_at: back(1), status: "failed" });
    await ended(id, { created_at: back(1) });
    await ended(id, { created_at: back(5) });
    await ended(id, { created_at: back(6) });
    await refresh();
    const answer = await tenant.ops.get(`${path}/detail`, { query: { driver_id: id } });
    expect(answer).toSucceed(200);
    const { driver, current_month, previous_month, changes, history, computed_at } = answer.body;
    expect(driver).toEqual({ driver_id: id, driver_name: expect.any(String), avatar_url: null });
    expect(current_month).toMatchObject({
      year: now.getUTCFullYear(),
      month: now.getUTCMonth() + 1,
      total_deliveries: 3,
      success_rate: 100,
      total_distance_traveled: 12,
      kilometers_per_delivery: 4,
      total_delivery_value: 4500,
    });
    expect(previous_month).toMatchObject({ total_deliveries: 2, success_rate: 50 });
    expect(changes).toEqual({
      total_deliveries: 50,
      success_rate: 100,
      on_time_rate: null,
      avg_delivery_time: 0,
      total_delivery_value: 200,
    });
    expect(history.map((row: { total_deliveries: number }) => row.total_deliveries))
      .toEqual([1, 0, 0, 0, 2, 3]);
    expect(computed_at).toEqual(expect.any(String));
    const fresh = await newDriver(tenant);
    const none = await tenant.ops.get(`${path}/detail`, { query: { driver_id: fresh.id } });
    expect(none.body.changes).toEqual(
      Object.fromEntries(Object.keys(changes).map((name) => [name, null])),
    );
    expect(none.body.current_month).toMatchObject({ total_deliveries: 0, success_rate: null });
    expect(await tenant.ops.get(`${path}/detail`)).toFailWith(400, "validation_failed");
  });
});
