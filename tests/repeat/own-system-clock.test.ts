/** A process under another time of day: what it shows is moved, what it measures is not. */
import { execFileSync } from "node:child_process";
import postgres from "postgres";
import { expect, test } from "vitest";
import { startPostgres } from "../../supabase/local/postgres.ts";
import { newFolderForPostgres } from "../../supabase/local/postgres-files.ts";
import { rmSync } from "node:fs";
import { templateCluster } from "../support/template.ts";
import { clockAhead, clockLibrary } from "./clock.ts";

const library = clockLibrary();
const days = 86_400_000;
/** The machine's time of day, where this process is shown another one as well. */
const machine = () => Date.now() - Number(process.env.BARID_CLOCK_SECONDS ?? 0) * 1000;

test.skipIf(!library).each([3, -3])(
  "%i days off, a program's date is moved and its wait is as long as it was",
  (by) => {
    const program = `
    const began = performance.now();
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
    console.log(JSON.stringify({ at: Date.now(), waited: performance.now() - began }));`;
    const printed = execFileSync(process.execPath, ["-e", program], {
      env: { ...process.env, ...clockAhead(library!, by * 86_400) },
    });
    const { at, waited } = JSON.parse(String(printed));
    expect(Math.round((at - machine()) / days)).toBe(by);
    expect(waited).toBeGreaterThanOrEqual(199);
  },
);

test.skipIf(!library)("Postgres takes its time-outs while it waits", async () => {
  const dir = newFolderForPostgres("barid-clock-");
  const server = await startPostgres({
    dataDir: `${dir}/postgres`,
    port: 0,
    durable: false,
    template: await templateCluster(),
    env: clockAhead(library!, 3 * 86_400),
  });
  const sql = postgres(server.url, { max: 1, onnotice: () => {} });
  try {
    const [{ now }] = await sql`select extract(epoch from clock_timestamp())::float8 * 1000 as now`;
    expect(Math.round((now - machine()) / days)).toBe(3);
    await sql`set statement_timeout = '100ms'`;
    await expect(sql`select pg_sleep(60)`).rejects.toMatchObject({ code: "57014" });
  } finally {
    await sql.end();
    await server.stop();
    rmSync(dir, { recursive: true });
  }
});
