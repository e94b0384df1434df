/** From starting the runtime to the first answer, each function against a hello-world Hono function. */
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
app.get("/nothing", (c) => c.json({ success: false }, 401));
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
        `${name}: ${median(ours).toFixed(0)} ms, hello world ${median(theirs).toFixed(0)} ms`,
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

/** A process that answers one request without a token, and ends. */
function starter(name: string, handler: string): string {
  return `${handler}
const answer = await handler.fetch(new Request("http://localhost/${name}/nothing"));
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
