import { spawnSync } from "node:child_process";
import { createServer } from "node:net";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { listen } from "../../supabase/local/gateway.ts";
import { parseStartOptions } from "../../supabase/local/options.ts";
import { migrate, seed } from "../../supabase/local/migrate.ts";
import {
  newFolderForPostgres,
  openToPostgres,
  reachable,
} from "../../supabase/local/postgres-files.ts";
import { startPostgres } from "../../supabase/local/postgres.ts";
import { isAlive, processesIn } from "../../supabase/local/processes.ts";
import { startStack } from "../../supabase/local/stack.ts";
import { client, temporaryStack, until } from "./support.ts";

let rig: Awaited<ReturnType<typeof temporaryStack>>;
// From nothing, as `npm start` does it the first time: other tests copy a database that is ready.
beforeAll(async () => rig = await temporaryStack({ workers: 2, template: undefined }));
afterAll(() => rig.close());

test("a function answers through the gateway and to the client", async () => {
  const answer = await fetch(`${rig.stack.url}/functions/v1/delivery/health`);
  expect(answer.status).toBe(200);
  expect((await client(rig.stack).functions.invoke("delivery/health", { method: "GET" })).error)
    .toBeNull();
});

test("an unknown function is 404 in the platform's shape", async () => {
  const answer = await fetch(`${rig.stack.url}/functions/v1/nothing/here`);
  expect(answer.status).toBe(404);
  expect(await answer.json()).toEqual({
    code: "NOT_FOUND",
    message: "Requested function was not found",
  });
  const { error } = await client(rig.stack).functions.invoke("nothing");
  expect(error?.context.status).toBe(404);
});

test("a refusal arrives although the body is far too long for the function", async () => {
  const long = JSON.stringify({ metadata: "x".repeat(8_000_000) });
  const statuses = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const answer = await fetch(`${rig.stack.url}/functions/v1/tenants`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: long,
      });
      return [answer.status, (await answer.json()).code];
    }),
  );
  expect(statuses).toEqual(Array(8).fill([401, "unauthorized"]));
});

test("a killed worker is replaced, and the other one serves meanwhile", async () => {
  const { workers } = rig.stack;
  const before = workers.pids;
  rig.stack.killWorker(0);
  await until(() => workers.pids.length === 1 || !isAlive(before[0]!));
  for (let i = 0; i < 20; i++) {
    expect((await fetch(`${rig.stack.url}/functions/v1/system/health`)).status).toBe(200);
  }
  await until(() => workers.pids.length === 2);
  expect(workers.pids).not.toEqual(before);
  expect(rig.lines.join("\n")).toContain(`worker ${before[0]} ended unexpectedly`);
});

test("a reload changes the workers without a failed request", async () => {
  const before = rig.stack.workers.pids;
  let done = false;
  const statuses: number[] = [];
  const asking = (async () => {
    while (!done) {
      statuses.push((await fetch(`${rig.stack.url}/functions/v1/system/health`)).status);
    }
  })();
  expect(await rig.stack.restartWorkers()).toBe(true);
  done = true;
  await asking;
  expect(new Set(statuses)).toEqual(new Set([200]));
  expect(rig.stack.workers.pids.some((pid) => before.includes(pid))).toBe(false);
  await until(() => !before.some(isAlive), 10_000);
});

test("without a worker the gateway says when to come again", async () => {
  rig.stack.killWorker(0);
  rig.stack.killWorker(1);
  const answer = await until(async () => {
    const attempt = await fetch(`${rig.stack.url}/functions/v1/system/health`);
    return attempt.status === 503 && attempt;
  });
  expect(answer.headers.get("retry-after")).toBe("1");
  await until(() => rig.stack.workers.pids.length === 2, 10_000);
});

test("browsers may call Auth and Storage", async () => {
  for (const path of ["/auth/v1/token", "/storage/v1/object/labels/a.pdf"]) {
    const answer = await fetch(`${rig.stack.url}${path}`, {
      method: "OPTIONS",
      headers: { origin: "http://localhost:3000", "access-control-request-method": "POST" },
    });
    expect(answer.headers.get("access-control-allow-origin")).toBe("*");
    expect(answer.headers.get("access-control-allow-headers")).toContain("apikey");
  }
});

test("the documentation page asks no other host for anything", async () => {
  const page = await (await fetch(`${rig.stack.url}/docs`)).text();
  expect(page).not.toMatch(/https?:\/\//);
  for (const [, path] of page.matchAll(/(?:src|href)="(\/[^"]+)"/g)) {
    expect((await fetch(`${rig.stack.url}${path}`)).status).toBe(200);
  }
  const document = await (await fetch(`${rig.stack.url}/docs/reference.json`)).json();
  const { "x-codeSamples": [sample] } =
    document.paths["/delivery/transfer-manifests/{manifest_id}/items/{item_id}"].delete;
  expect(sample.source).toContain(
    'barid.DELETE("/delivery/transfer-manifests/{manifest_id}/items/{item_id}", {\n  params: { path: { manifest_id: manifestId, item_id: itemId }',
  );
});

test("a migration runs once; one that changed afterwards is refused, unless it names the text it had", async () => {
  const dir = mkdtempSync(join(tmpdir(), "barid-migrations-"));
  const { sql } = rig.stack;
  try {
    writeFileSync(join(dir, "0001_one.sql"), "create table public.one (id integer)");
    expect(await migrate(sql, dir)).toEqual(["0001_one.sql"]);
    expect(await migrate(sql, dir)).toEqual([]);
    writeFileSync(
      join(dir, "0002_two.sql"),
      "create table public.two (id integer);\nselect nonsense",
    );
    await expect(migrate(sql, dir)).rejects.toThrow("0002_two.sql line 2 failed");
    expect(await sql`select to_regclass('public.two') as two`).toEqual([{ two: null }]);
    const [{ sha256 }] = await sql`select sha256 from local.applied where version = '0001'`;
    const rewritten = "create table public.one (id int)";
    writeFileSync(join(dir, "0001_one.sql"), rewritten);
    await expect(migrate(sql, dir)).rejects.toThrow("npm start -- --reset");
    writeFileSync(join(dir, "0001_one.sql"), `-- Before: ${sha256}\n${rewritten}`);
    await expect(migrate(sql, dir)).rejects.toThrow("0002_two.sql line 2 failed");
  } finally {
    rmSync(dir, { recursive: true });
  }
});

test("a migration that builds an index concurrently runs outside a transaction, and again after a failure", async () => {
  const dir = mkdtempSync(join(tmpdir(), "barid-migrations-"));
  const { sql } = rig.stack;
  const index =
    "set lock_timeout = '1min';\n\ndrop index concurrently if exists public.three_id;\n\n" +
    "create index concurrently three_id on public.three (id);\n";
  try {
    writeFileSync(
      join(dir, "0003_three.sql"),
      "set lock_timeout = '1s';\ncreate table public.three (id integer)",
    );
    writeFileSync(join(dir, "0004_index.sql"), `${index}select nonsense;\n`);
    await expect(migrate(sql, dir)).rejects.toThrow("It runs again from its beginning");
    writeFileSync(join(dir, "0004_index.sql"), index);
    expect(await migrate(sql, dir)).toEqual(["0004_index.sql"]);
    expect(
      await sql`select indisvalid from pg_index where indexrelid = 'public.three_id'::regclass`,
    )
      .toEqual([{ indisvalid: true }]);
    const timeouts = await Promise.all(Array.from({ length: 8 }, () => sql`show lock_timeout`));
    expect(new Set(timeouts.map(([row]) => row!.lock_timeout))).toEqual(new Set(["0"]));
  } finally {
    rmSync(dir, { recursive: true });
  }
});

test("interrupted demo data continues where it stopped", async () => {
  const dir = mkdtempSync(join(tmpdir(), "barid-seeds-"));
  const { sql } = rig.stack;
  try {
    writeFileSync(join(dir, "10_people.sql"), "create table public.people (id integer)");
    writeFileSync(join(dir, "20_places.sql"), "select nonsense");
    await expect(seed(sql, dir)).rejects.toThrow("20_places.sql");
    writeFileSync(join(dir, "20_places.sql"), "create table public.places (id integer)");
    expect(await seed(sql, dir)).toEqual(["20_places.sql"]);
    expect(await seed(sql, dir)).toEqual([]);
  } finally {
    rmSync(dir, { recursive: true });
  }
});

test("a killed PostgreSQL restarts with everything that was committed, and the stack continues", async () => {
  const { sql, postgres } = rig.stack;
  await sql`create table public.kept (id integer)`;
  await sql`insert into public.kept select generate_series(1, 1000)`;
  await postgres.kill();
  expect(processesIn(postgres.dataDir!)).toEqual([]);
  await postgres.restart();
  expect(await sql`select count(*)::int as n from public.kept`).toEqual([{ n: 1000 }]);
  expect((await fetch(`${rig.stack.url}/auth/v1/.well-known/jwks.json`)).status).toBe(200);
});

test("a Postgres left behind by a crash is stopped before the next one starts", async () => {
  const dir = newFolderForPostgres("barid-left-");
  const first = await startPostgres({ dataDir: join(dir, "postgres"), port: 0, durable: false });
  const second = await startPostgres({ dataDir: join(dir, "postgres"), port: 0, durable: false });
  // It is gone; we hear of it a moment later.
  await until(() => first.pid === undefined);
  expect(isAlive(second.pid!)).toBe(true);
  await second.stop();
  rmSync(dir, { recursive: true });
});

test("a Postgres that is stopped or left alone while it starts does not run on", async () => {
  const dir = newFolderForPostgres("barid-starting-");
  const dataDir = join(dir, "postgres");
  const postgres = await startPostgres({ dataDir, port: 0, durable: false });
  await postgres.kill();
  const again = postgres.restart();
  await postgres.stop();
  await expect(again).rejects.toThrow("stopped");
  expect(processesIn(dataDir)).toEqual([]);
  // Its first line is long before it accepts connections.
  const program = `import { startPostgres } from "./supabase/local/postgres.ts";
    await startPostgres({ dataDir: ${
    JSON.stringify(dataDir)
  }, port: 0, log: () => process.exit(7) });`;
  expect(spawnSync("node", ["--import", "tsx", "--input-type=module", "-e", program]).status)
    .toBe(7);
  await until(() => processesIn(dataDir).length === 0);
  rmSync(dir, { recursive: true });
});

test("a second stack on the same folder is refused with one line", async () => {
  await expect(startStack({ dataDir: rig.dataDir, port: 0, dbPort: 0 })).rejects.toThrow(
    /already running \(process \d+\)/,
  );
});

test("a taken port is one line that says what to do", async () => {
  const taken = createServer().listen(0, "127.0.0.1");
  const port = await until(() => {
    const address = taken.address();
    return typeof address === "object" && address ? address.port : undefined;
  });
  await expect(listen(port)).rejects.toThrow(`Port ${port} is taken`);
  const dir = newFolderForPostgres("barid-port-");
  await expect(startPostgres({ dataDir: join(dir, "postgres"), port })).rejects.toThrow(
    "--db-port",
  );
  rmSync(dir, { recursive: true });
  taken.close();
});

test("options are read, and an unknown one is a line and exit code 2", () => {
  expect(parseStartOptions(["--port", "1234", "--workers=3", "--reset"]))
    .toMatchObject({ port: 1234, workers: 3, reset: true, quiet: false });
  for (const args of [["--prot", "1"], ["--port"], ["--port", "x"], ["--workers", "0"]]) {
    expect(() => parseStartOptions(args)).toThrow();
  }
  const run = spawnSync("node", [
    "--import",
    "tsx",
    "supabase/local/commands/start.ts",
    "--nonsense",
  ]);
  expect(run.status).toBe(2);
  expect(run.stderr.toString().trim().split("\n")).toHaveLength(1);
});

test("the files of Postgres lie in a folder of ours when that is open to its user, and go with it", () => {
  const closed = mkdtempSync(join(tmpdir(), "barid-closed-"));
  const elsewhere = reachable(join(closed, "postgres"));
  expect(elsewhere.startsWith("/var/tmp/barid-")).toBe(process.getuid?.() === 0);
  const inside = join(openToPostgres(closed), "postgres");
  expect(reachable(inside)).toBe(inside);
  rmSync(closed, { recursive: true });
});
