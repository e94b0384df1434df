/** Filters by day: the bounds are the tenant's, and are worked out once, not for every row. */
import { beforeAll, expect, test } from "vitest";
import { period } from "../../shared/api/filters.ts";
import { sql } from "../support/db.ts";
import { newManifest } from "../support/manifests.ts";
import { newTenant, saveSettings, type Tenant } from "../support/people.ts";

const path = "/delivery/transfer-manifests";
const many = 1_500;
let tenant: Tenant;

beforeAll(async () => {
  tenant = await newTenant({ settings: { "general.timezone": { name: "Asia/Baghdad" } } });
  const { id } = await newManifest(tenant, { items: 0 });
  // One on each side of midnight in Baghdad, all others on the day after.
  await sql`insert into delivery.transfer_manifests select (jsonb_populate_record(m, jsonb_build_object(
      'id', gen_random_uuid(), 'manifest_number', 'N-' || n, 'created_at',
      case n when 1 then '2026-03-09T20:59:59Z' when 2 then '2026-03-09T21:00:00Z' else '2026-03-11T12:00:00Z' end))).*
    from delivery.transfer_manifests m, generate_series(1, ${many}) n where m.id = ${id}`;
});

const totalOf = async (query: Record<string, string>) => {
  const answer = await tenant.admin.get(path, { query: { limit: 1, ...query } });
  expect(answer).toSucceed(200);
  return answer.body.pagination.total;
};

test("a day begins and ends at midnight of the tenant", async () => {
  expect(await totalOf({ date_from: "2026-03-10", date_to: "2026-03-10" })).toBe(1);
  expect(await totalOf({ date_from: "2026-03-09", date_to: "2026-03-09" })).toBe(1);
  expect(await totalOf({ date_from: "2026-03-09", date_to: "2026-03-10" })).toBe(2);
});

test("an instant is itself, to the microsecond", async () => {
  expect(await totalOf({ date_from: "2026-03-09T21:00:00Z", date_to: "2026-03-09T21:00:00Z" }))
    .toBe(1);
  expect(await totalOf({ date_to: "2026-03-09T23:59:59+03:00" })).toBe(1);
  // To the minute, as clocks show it.
  expect(await totalOf({ date_from: "2026-03-09T21:00Z", date_to: "2026-03-09T21:00Z" })).toBe(1);
  expect(await totalOf({ date_to: "2026-03-09T23:59+03:00" })).toBe(0);
});

test("an instant without an offset is on the tenant's clock", async () => {
  expect(await totalOf({ date_from: "2026-03-10T00:00:00", date_to: "2026-03-10T00:00:00" }))
    .toBe(1);
  expect(await totalOf({ date_to: "2026-03-09T23:59:59.000" })).toBe(1);
  expect(await totalOf({ date_from: "2026-03-10T00:00", date_to: "2026-03-10T00:00" })).toBe(1);
});

test.each([
  // The hour after midnight comes twice: first at 04:00Z.
  ["America/Havana", "2026-11-01", "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"],
  // It does not come at all: the day has 23 hours, from 01:00.
  ["Africa/Cairo", "2026-04-24", "2026-04-23T22:00:00Z", "2026-04-24T21:00:00Z"],
  // The last hour of the day before comes twice.
  ["Africa/Cairo", "2026-10-30", "2026-10-29T22:00:00Z", "2026-10-30T22:00:00Z"],
  // To PostgreSQL these names are abbreviations, whose clocks would never go forward.
  ["EET", "2026-07-10", "2026-07-09T21:00:00Z", "2026-07-10T21:00:00Z"],
  ["CET", "2026-03-29", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"],
  // The day has no 00:00: it begins at 01:00, as the one on which clocks go back has 25 hours and one midnight.
  ["America/Santiago", "2026-09-06", "2026-09-06T04:00:00Z", "2026-09-07T03:00:00Z"],
  ["America/Santiago", "2027-04-03", "2027-04-03T03:00:00Z", "2027-04-04T04:00:00Z"],
  ["Asia/Kathmandu", "2028-02-29", "2028-02-28T18:15:00Z", "2028-02-29T18:15:00Z"],
  ["Pacific/Kiritimati", "2027-01-01", "2026-12-31T10:00:00Z", "2027-01-01T10:00:00Z"],
])("in %s the day %s is what its clock shows as that day", async (name, day, from, to) => {
  const own = await newTenant({ settings: { "general.timezone": { name } } });
  await sql.begin(async (tx) => {
    await tx`select set_config('app.tenant_id', ${own.id}, true)`;
    const [found] = await tx`select app.day_start(${day}) as "from", app.day_end(${day}) as "to",
      app.day_end((${day}::date - 1)::text) as before,
      app.day_of(to_json(app.day_start(${day})) #>> '{}') as first,
      app.day_of(to_json(app.day_end(${day}) - interval '1 microsecond') #>> '{}') as last`;
    expect(found).toEqual({
      from: new Date(from),
      to: new Date(to),
      before: new Date(from),
      first: day,
      last: day,
    });
  });
});

test("a time zone that nobody knows is UTC", async () => {
  await saveSettings(tenant.id, "general.timezone", { name: "Mars/Olympus" });
  expect(await totalOf({ date_from: "2026-03-10", date_to: "2026-03-10" })).toBe(0);
  await saveSettings(tenant.id, "general.timezone", { name: "Asia/Baghdad" });
});

test("the bounds of a period are worked out once, not for each row", async () => {
  const condition = period("created_at").condition("$1::text::jsonb", () => "");
  const days = JSON.stringify({ from: "2026-01-01", to: "9999-01-01" });
  await sql.begin(async (tx) => {
    await tx`select set_config('app.tenant_id', ${tenant.id}, true)`;
    await tx`set local track_functions = 'pl'`;
    const calls = async () => {
      const [counted] = await tx`select coalesce(sum(calls), 0)::integer as calls
        from pg_stat_xact_user_functions where schemaname = 'app' and funcname in ('day_start', 'day_end')`;
      return counted!.calls;
    };
    const before = await calls();
    const found = await tx.unsafe(
      // No index serves these days, so that each row is checked.
      `select from (select * from delivery.transfer_manifests where tenant_id = '${tenant.id}' offset 0) r
        where ${condition}`,
      [days],
    );
    expect(found.length).toBeGreaterThan(many);
    expect(await calls() - before).toBe(2);
  });
});
