/** An import without a second project: other imports, steps that take long, ids of any form. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { exportTenant } from "../../supabase/tenant/export.ts";
import { readManifest } from "../../supabase/tenant/folder.ts";
import { importTenant } from "../../supabase/tenant/import.ts";
import { openPlace, type Place, sessionSettings } from "../../supabase/tenant/place.ts";
import { stepsSaidBy } from "../../supabase/tenant/progress.ts";
import { sql, stack } from "../support/db.ts";
import { newTenant } from "../support/people.ts";

let folder: string;
let place: Place;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "barid-import-"));
  // No file moves, so nobody asks Storage.
  place = openPlace({ databaseUrl: stack.dbUrl, url: "http://127.0.0.1:9", secretKey: "none" });
  const { id } = await newTenant();
  const [{ slug }] = await sql`select slug from tenancy.tenants where id = ${id}`;
  await sql`delete from app.jobs where tenant_id = ${id}`;
  const to = join(folder, "export");
  await exportTenant(place, { slug, to, dryRun: false, whileActive: true }, () => {});
});
afterAll(async () => {
  await place.close();
  rmSync(folder, { recursive: true, force: true });
});

test("waits for no other import, and says which one runs and how it is ended", async () => {
  const imported = () =>
    importTenant(place, { from: join(folder, "export"), dryRun: true }, () => {});
  await sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(hashtextextended('import a tenant', 0))`;
    const [{ pid }] = await tx`select pg_backend_pid() as pid`;
    await expect(imported()).rejects.toThrow(`select pg_terminate_backend(${pid});`);
  });
  await expect(imported()).rejects.toThrow("This project has the company");
});

test("a command that was stopped is missed by its database", async () => {
  const interval = await place.sql.begin(async (tx) => {
    await tx.unsafe(sessionSettings);
    const [{ interval }] =
      await tx`select current_setting('client_connection_check_interval') as interval`;
    return interval;
  });
  expect(interval).toBe("10s");
});

test("steps that take long are named while they run, others are not", async () => {
  const lines: string[] = [];
  const step = stepsSaidBy((line) => lines.push(line), 20);
  expect(await step("Quick", () => Promise.resolve(1))).toBe(1);
  await step("Slow", () => new Promise((resolve) => setTimeout(resolve, 200)));
  await expect(step("Failing", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(lines).toEqual(["Slow …"]);
});

test("an id may be any that PostgreSQL takes, as the demo's are", async () => {
  const file = join(folder, "export", "manifest.json");
  const manifest = JSON.parse(readFileSync(file, "utf8"));
  manifest.tenant.id = "a733d00a-007a-3ba6-d29a-0123456789ab";
  writeFileSync(file, JSON.stringify(manifest));
  expect((await readManifest(join(folder, "export"))).tenant.id).toBe(manifest.tenant.id);
});
