/**
 * From starting the runtime to the first answer, each function against a hello-world Hono function. The
 * first request of a browser is its preflight; what a function loads for its first real one is noted.
 */
import { spawn } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { denoBinary, root } from "../../supabase/local/paths.ts";
import { median } from "./load.ts";
import type { Report } from "./report.ts";

const functions = [
  "delivery",
  "warehousing",
  "storefront",
  "tenants",
  "system",
  "carriers",
  "webhooks",
  "payment",
];
const rounds = 15;

export async function benchColdStart(report: Report): Promise<void> {
  // Inside the project, where the imports resolve as they do for the functions.
  const folder = join(root, ".barid", "bench");
  mkdirSync(folder, { recursive: true });
  try {
    const hello = join(folder, "hello.ts");
    writeFileSync(
      hello,
      starter(
        "hello",
        `import { Hono } from "hono";
const app = new Hono().basePath("/hello");
app.options("*", () => new Response(null, { status: 204 }));
app.get("/health", (c) => c.json({ success: true }));
const handler = { fetch: app.fetch };`,
      ),
    );
    for (const name of functions) {
      writeFileSync(
        join(folder, `${name}.ts`),
        starter(name, `import handler from "../../functions/${name}/index.ts";`),
      );
    }
    await start(hello);
    for (const name of functions) {
      await start(join(folder, `${name}.ts`));
      const ours: number[] = [];
      const theirs: number[] = [];
      for (let round = 0; round < rounds; round++) {
        theirs.push(await start(hello));
        ours.push(await start(join(folder, `${name}.ts`)));
      }
      report.note(
        `${name}: ${median(ours).toFixed(0)} ms, hello world ${median(theirs).toFixed(0)} ms` +
          await firstReal(folder, name, median(theirs)),
      );
      report.ratio({
        what: `Cold start of ${name} against a hello-world Hono function`,
        value: median(ours) / median(theirs),
        atMost: 1.5,
      });
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The cost of a function's first real request: loading its feature and, without a token, 401. */
async function firstReal(folder: string, name: string, hello: number): Promise<string> {
  const path = { delivery: "/transfer-processing-points", tenants: "/me" }[name];
  if (!path) return "";
  const file = join(folder, `${name}-first.ts`);
  writeFileSync(
    file,
    starter(name, `import handler from "../../functions/${name}/index.ts";`, path, "GET"),
  );
  const took: number[] = [];
  for (let round = 0; round < rounds; round++) took.push(await start(file));
  const ms = median(took);
  return `; with the feature of a first real request ${ms.toFixed(0)} ms, ${
    (ms / hello).toFixed(2)
  } times`;
}

/** A process that answers one request, and ends. */
function starter(name: string, handler: string, path = "", method = "OPTIONS"): string {
  return `${handler}
const answer = await handler.fetch(new Request("http://localhost/${name}${path}", { method: "${method}" }));
await answer.text();
Deno.exit(0);
`;
}

function start(file: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const begun = performance.now();
    const child = spawn(denoBinary(), [
      "run",
      "--allow-env",
      "--allow-net",
      "--allow-read",
      "--allow-sys=hostname",
      "--no-check",
      file,
    ], {
      cwd: root,
      env: {
        ...process.env,
        DENO_NO_UPDATE_CHECK: "1",
        BARID_LOG_LEVEL: "error",
        SUPABASE_JWKS: '{"keys":[]}',
      },
    });
    let printed = "";
    child.stderr.on("data", (bytes) => (printed += bytes));
    child.on(
      "close",
      (code) => code === 0 ? resolve(performance.now() - begun) : reject(new Error(printed)),
    );
  });
}
