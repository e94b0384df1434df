/** `npm run tenant -- compare` says what was written to a company after it had been exported. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { compareTenant } from "../../supabase/tenant/compare.ts";
import { exportTenant } from "../../supabase/tenant/export.ts";
import { openPlace, type Place } from "../../supabase/tenant/place.ts";
import { bookedCash, newSide, report, type Side } from "../support/carriers.ts";
import { sql, stack } from "../support/db.ts";
import { newStore } from "../support/storefront.ts";

let folder: string;
let place: Place;
let side: Side;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "barid-compare-"));
  // No file moves, so nobody asks Storage.
  place = openPlace({ databaseUrl: stack.dbUrl, url: "http://127.0.0.1:9", secretKey: "none" });
  side = await newSide();
});
afterAll(async () => {
  await place.close();
  rmSync(folder, { recursive: true, force: true });
});

const compared = async (path: string) => {
  const lines: string[] = [];
  await compareTenant(place, { with: path }, (line) => lines.push(line));
  return lines.join("\n");
};

test("nothing, until a carrier reports on a suspended company; then each table and sum that is another", async () => {
  const { tenant, ground } = side;
  const { tracking_number } = await bookedCash(ground);
  const store = await newStore(tenant);
  await sql`insert into storefront.custom_domains (tenant_id, market_id, custom_domain, status, dns_records, dns_verified_at)
    values (${tenant.id}, ${store.id}, ${`${tenant.id}.test`}, 'active', '[]', now())`;
  await sql`delete from app.jobs where tenant_id = ${tenant.id}`;
  await sql`update tenancy.tenants set status = 'suspended' where id = ${tenant.id}`;
  const to = join(folder, "export");
  const [{ slug }] = await sql`select slug from tenancy.tenants where id = ${tenant.id}`;
  await exportTenant(place, { slug, to, dryRun: false, whileActive: false }, () => {});
  await sql`update storefront.custom_domains set dns_checked_at = now() where tenant_id = ${tenant.id}`;
  expect(await compared(to)).toContain(`${slug} is as it was exported`);
  const taken = await report(tenant, side.secret, {
    tracking_number,
    status: "delivered",
    event_id: "after-the-export",
  });
  expect(taken.body).toMatchObject({ outcome: "applied" });
  const failure = await compared(to).catch((error: Error) => error.message);
  for (
    const name of ["delivery.deliveries: ", "money.carrier_collections: ", "carrier_cash IQD: "]
  ) {
    expect(failure).toContain(name);
  }
  expect(failure).not.toContain("integration.webhook_events");
});

test("a folder without an export is refused", async () => {
  await expect(compared(folder)).rejects.toThrow("manifest.json is missing");
});
