/** Months of a subscription are those of the company's calendar. */
import { expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newTenant } from "../../support/people.ts";

test.each([
  ["Pacific/Auckland", "MONTHLY", "2026-07-01T00:30:00+12:00", "2026-08-01T00:30:00+12:00"],
  ["Pacific/Auckland", "ANNUAL", "2026-03-01T09:00:00+13:00", "2027-03-01T09:00:00+13:00"],
  ["America/New_York", "MONTHLY", "2026-02-28T20:00:00-05:00", "2026-03-28T20:00:00-04:00"],
  ["America/Santiago", "MONTHLY", "2026-08-06T00:00:00-04:00", "2026-09-06T01:00:00-03:00"],
  ["UTC", "MONTHLY", "2026-01-31T10:00:00Z", "2026-02-28T10:00:00Z"],
])("in %s a %s term from %s ends at %s", async (name, type, begins, ends) => {
  const { id } = await newTenant({ settings: { "general.timezone": { name } } });
  const [{ at }] = await sql.begin(async (tx) => {
    await tx`select set_config('app.tenant_id', ${id}, true)`;
    return await tx`select tenancy.subscription_ends_at(${begins}::timestamptz, ${type}) as at`;
  });
  expect(new Date(at).toISOString()).toBe(new Date(ends).toISOString());
});
