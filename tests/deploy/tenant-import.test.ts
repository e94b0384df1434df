/** An import without a second project: other imports, steps that take long, ids of any form. */
import { randomUUID } from "node:crypto";
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
import { deleted, placeAt } from "../support/deletion.ts";
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

const filesOf = async (id: string) =>
  (await sql`select name from storage.objects where name like ${`${id}/%`}`).length;

test("stopped while it stores files, it leaves neither files nor rows", async () => {
  const there = placeAt(stack);
  const tenant = await newTenant();
  const to = join(folder, "with-files");
  try {
    for (let number = 0; number < 20; number++) {
      const { error } = await there.storage.from("proofs")
        .upload(`${tenant.id}/deliveries/${number}.png`, new Uint8Array([137, number]), {
          contentType: "image/png",
        });
      expect(error).toBeNull();
    }
    await sql`delete from app.jobs where tenant_id = ${tenant.id}`;
    const exported = { slug: `t-${tenant.id}`, to, dryRun: false, whileActive: true };
    await exportTenant(there, exported, () => {});
    await sql`update tenancy.tenants set status = 'archived' where id = ${tenant.id}`;
    const gone = await deleted(there, tenant, {
      ...{ confirm: `t-${tenant.id}`, withOpenItems: true },
    });
    expect(gone.failure, gone.text).toBeUndefined();
    const stop = new AbortController();
    let stored = 0;
    // Storage itself, which notes how many files it has got.
    const storage = new Proxy(there.storage, {
      get: (target, name) =>
        name !== "from" ? Reflect.get(target, name) : (bucket: string) => {
          const files = target.from(bucket);
          const { upload } = files;
          files.upload = (...file) => {
            if (++stored === 3) stop.abort();
            return upload.apply(files, file);
          };
          return files;
        },
    });
    const importing = importTenant(
      { ...there, storage },
      { from: to, dryRun: false },
      () => {},
      stop.signal,
    );
    await expect(importing).rejects.toThrow("Stopped. Nothing was kept.");
    expect(stored).toBeLessThan(20);
    expect(await filesOf(tenant.id)).toBe(0);
    expect(await sql`select from tenancy.tenants where id = ${tenant.id}`).toEqual([]);
    await importTenant(there, { from: to, dryRun: false }, () => {});
    expect(await filesOf(tenant.id)).toBe(20);
  } finally {
    await there.close();
  }
}, 60_000);

test("files that a killed import left under an id without a company are removed by the id", async () => {
  const there = placeAt(stack);
  const id = randomUUID();
  try {
    const { error } = await there.storage.from("proofs")
      .upload(`${id}/deliveries/1.png`, new Uint8Array([137]), { contentType: "image/png" });
    expect(error).toBeNull();
    const remove = (confirm?: string) =>
      deleted(there, { id } as never, { slug: undefined, id, confirm });
    expect((await remove()).text).toContain(`--confirm ${id} removes them for good`);
    expect((await remove("other")).failure).toContain("Nothing was removed");
    expect(await filesOf(id)).toBe(1);
    expect((await remove(id)).text).toContain("Files removed: 1");
    expect(await filesOf(id)).toBe(0);
    expect((await remove(id)).failure).toContain("has no company");
  } finally {
    await there.close();
  }
});
