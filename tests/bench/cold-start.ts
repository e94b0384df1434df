/**
 * From starting the runtime to the first answer: each function as it is deployed, against a hello-world Hono function that
 * is bundled alike. The first request of a browser is its preflight; a first real one loads its feature. The least CPU of many
 * starts is compared: other work on the machine changes it less than the time.
 */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { pathToFileURL } from "node:url";
import {
  type Bundle,
  bundle,
  bundleAll,
  writeBundles,
} from "../../supabase/deploy/bundle/index.ts";
import { defaultDataDir, denoBinary } from "../../supabase/local/paths.ts";
import { median } from "./load.ts";
import type { Report } from "./report.ts";

const rounds = 11;
/** A first real request: without a token, the feature is loaded and the answer is 401. */
const firstReal: Record<string, string> = {
  delivery: "/transfer-processing-points",
  tenants: "/me",
  system: "/settings",
  webhooks: "/subscriptions",
};

export async function benchColdStart(report: Report): Promise<void> {
  mkdirSync(defaultDataDir, { recursive: true });
  // Inside the project, where the import of Hono resolves as it does for the functions.
  const source = mkdtempSync(join(defaultDataDir, "bench-"));
  const folder = mkdtempSync(join(tmpdir(), "barid-cold-start-"));
  try {
    writeFileSync(join(source, "hello.ts"), helloWorld);
    const hello = await bundle("hello", join(source, "hello.ts"));
    const bundles = await bundleAll();
    writeBundles(folder, [hello, ...bundles]);
    const theirs = starter(folder, hello);
    for (const made of bundles) {
      const { slug, size, compressed, files } = made;
      const start = await compare(starter(folder, made), theirs);
      report.note(
        `${slug}: ${start.words}; ${files.size} files, ${Math.ceil(size / 1000)} kB, ` +
          `${Math.ceil(compressed / 1000)} kB compressed`,
      );
      report.ratio({
        what: `Cold start of ${slug} against a hello-world Hono function`,
        value: start.ratio,
        atMost: 1.3,
      });
      const path = firstReal[slug];
      if (!path) continue;
      const real = await compare(starter(folder, made, path, "GET"), theirs);
      report.note(`${slug}, first real request (GET ${path}): ${real.words}`);
      report.ratio({
        what: `First real request of ${slug} against a hello-world Hono function`,
        value: real.ratio,
        atMost: 2,
      });
    }
  } finally {
    rmSync(source, { recursive: true, force: true });
    rmSync(folder, { recursive: true, force: true });
  }
}

const helloWorld = `import { Hono } from "hono";
const app = new Hono().basePath("/hello");
app.options("*", () => new Response(null, { status: 204 }));
app.get("/health", (c) => c.json({ success: true }));
export default { fetch: app.fetch };
`;

/** Starts the two by turns. */
async function compare(ours: string, theirs: string) {
  await start(ours);
  await start(theirs);
  const took = { ours: [] as Started[], theirs: [] as Started[] };
  for (let round = 0; round < rounds; round++) {
    took.theirs.push(await start(theirs));
    took.ours.push(await start(ours));
  }
  const least = (runs: Started[]) => Math.min(...runs.map(({ cpu }) => cpu));
  const time = (runs: Started[]) => median(runs.map(({ ms }) => ms)).toFixed(0);
  const words = `${least(took.ours).toFixed(0)} ms of CPU, ` +
    `hello world ${least(took.theirs).toFixed(0)} ms ` +
    `(median times ${time(took.ours)} and ${time(took.theirs)} ms)`;
  return { ratio: least(took.ours) / least(took.theirs), words };
}

/** A program that answers one request, and ends. */
function starter(folder: string, { slug, entry }: Bundle, path = "", method = "OPTIONS"): string {
  const file = join(folder, `${slug}-${method}.js`);
  writeFileSync(
    file,
    `import handler from "${pathToFileURL(join(folder, entry)).href}";
const answer = await handler.fetch(new Request("http://localhost/${slug}${path}", { method: "${method}" }));
await answer.text();
Deno.exit(${method === "GET"} && answer.status !== 401 ? 1 : 0);
`,
  );
  return file;
}

interface Started {
  /** Milliseconds until it ended. */
  ms: number;
  /** Milliseconds of CPU, all its threads together. */
  cpu: number;
}

function start(file: string): Promise<Started> {
  return new Promise((resolve, reject) => {
    const begun = performance.now();
    const child = spawn("bash", [
      ...["-c", 'TIMEFORMAT="%U %S"; time "$@"', "bash"],
      ...[denoBinary(), "run", "--no-config", "--no-check"],
      ...["--allow-env", "--allow-net", "--allow-read", "--allow-sys=hostname"],
      file,
    ], {
      env: {
        PATH: process.env.PATH,
        DENO_DIR: join(defaultDataDir, "deno"),
        DENO_NO_UPDATE_CHECK: "1",
        BARID_LOG_LEVEL: "error",
        SUPABASE_JWKS: '{"keys":[]}',
        LC_ALL: "C",
      },
    });
    let printed = "";
    child.stderr.on("data", (bytes) => (printed += bytes));
    child.on("close", (code) => {
      const [, user, system] = /([\d.]+) ([\d.]+)\s*$/.exec(printed) ?? [];
      if (code !== 0 || !system) return reject(new Error(printed));
      const cpu = (Number(user) + Number(system)) * 1000;
      resolve({ ms: performance.now() - begun, cpu });
    });
  });
}
