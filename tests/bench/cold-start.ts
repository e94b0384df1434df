/**
 * From starting the runtime to the first answer: each function as it is deployed, against a hello-world Hono function that
 * is bundled alike. The first request of a browser is its preflight; a first real one loads its feature. They are started by
 * turns, and the median of the ratios of their CPU counts: other work changes it less than the time, and both alike.
 */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { performance } from "node:perf_hooks";
import { pathToFileURL } from "node:url";
import { type Bundle, bundle, bundleAll } from "../../supabase/deploy/bundle/index.ts";
import { defaultDataDir, denoBinary } from "../../supabase/local/paths.ts";
import { median } from "./load.ts";
import type { Report } from "./report.ts";

const rounds = 25;
/** A first real request: without a token, the feature is loaded and the answer is 401. */
const firstReal: Record<string, string> = {
  delivery: "/deliveries",
  warehousing: "/inventory",
  storefront: "/orders",
  tenants: "/me",
  system: "/settings",
  carriers: "/tenant",
  webhooks: "/subscriptions",
  payment: "/gateways",
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
    const theirs = await starter(folder, hello);
    for (const made of bundles) {
      const { slug, size, compressed, files } = made;
      const start = await compare(await starter(folder, made), theirs);
      report.note(
        `${slug}: ${start.words}; ${files.size} files, ${Math.ceil(size / 1000)} kB, ` +
          `${Math.ceil(compressed / 1000)} kB compressed`,
      );
      report.ratio({
        what: `Cold start of ${slug} against a hello-world Hono function`,
        value: start.ratio,
        atMost: 1.3,
      });
      const path = firstReal[slug]!;
      const real = await compare(await starter(folder, made, path, "GET"), theirs);
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
  const middle = (runs: Started[], what: keyof Started) =>
    median(runs.map((run) => run[what])).toFixed(0);
  const words = `${middle(took.ours, "cpu")} ms of CPU, ` +
    `hello world ${middle(took.theirs, "cpu")} ms ` +
    `(${middle(took.ours, "ms")} and ${middle(took.theirs, "ms")} ms by the clock)`;
  const ratios = took.ours.map(({ cpu }, round) => cpu / took.theirs[round]!.cpu);
  return { ratio: median(ratios), words };
}

/** A program that answers one request, and ends; beside it the files that it loads. */
async function starter(
  folder: string,
  { slug, entry, files }: Bundle,
  path = "",
  method = "OPTIONS",
): Promise<string> {
  const file = join(folder, `${slug}-${method}.js`);
  writeFileSync(
    file,
    `import handler from "${pathToFileURL(join(folder, entry)).href}";
const answer = await handler.fetch(new Request("http://localhost/${slug}${path}", { method: "${method}" }));
await answer.text();
Deno.exit(${method === "GET"} && answer.status !== 401 ? 1 : 0);
`,
  );
  await writeLoaded(folder, files, entry, file);
  return file;
}

/**
 * Writes those of a bundle's files that a program loads, which is found out by starting it. The platform's runtime has all of
 * them in one archive, and reads one when it is imported; Deno's command line reads each one that could ever be, before it starts.
 */
async function writeLoaded(
  folder: string,
  files: Bundle["files"],
  entry: string,
  program: string,
): Promise<void> {
  const written = new Set<string>();
  const write = (name: string): void => {
    if (written.has(name)) return;
    written.add(name);
    const text = files.get(name)!;
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
    for (const [, other] of text.matchAll(/^import .*?"\.\/(.+?)";$/gm)) {
      write(join(dirname(name), other!));
    }
  };
  for (let missing: string | undefined = entry; missing;) {
    write(missing);
    missing = await start(program).then(() => undefined, (error: Error) => {
      const name = /Module not found \\"file:.+?\/(functions\/.+?)\\"/.exec(error.message)?.[1];
      if (name === undefined || written.has(name)) throw error;
      return name;
    });
  }
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
