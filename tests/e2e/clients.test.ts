/**
 * Clients that published generators make of the API document compile, and ten calls of each work: hey-api and orval in the
 * newest versions that run on Node 20. They are installed into a folder of their own, by the lock file in tests/e2e/clients.
 */
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeAll } from "../../shared/http/openapi.ts";
import { everyFunction } from "../../supabase/local/endpoints.ts";
import { root } from "../../supabase/local/paths.ts";
import { stack } from "../support/db.ts";
import { type Everything, newEverything } from "../support/everything.ts";

const folder = mkdtempSync(join(tmpdir(), "barid-clients-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let all: Everything;
let env: NodeJS.ProcessEnv;
beforeAll(async () => {
  all = await newEverything("received");
  const claims = { sub: all.tenant.admin.id, app_metadata: { tenant_id: all.tenant.id } };
  const token = await stack.jwtSign(claims);
  env = { ...process.env, BARID_URL: stack.functionsUrl, BARID_TOKEN: token };
  cpSync(join(root, "tests/e2e/clients"), folder, { recursive: true });
  const document = describeAll(await everyFunction());
  writeFileSync(join(folder, "openapi.json"), JSON.stringify(document));
  await run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund");
  await run("node", "generate.mjs");
}, 600_000);

async function run(program: string, ...args: string[]): Promise<string> {
  const done = promisify(execFile)(program, args, { cwd: folder, env, maxBuffer: 32 * 1_048_576 });
  return (await done.catch((error) => {
    throw new Error(`${program} ${args.join(" ")}: ${error.stdout}${error.stderr}`);
  })).stdout;
}

test("both compile, with the calls that use them", async () => {
  expect(await run("npx", "tsc", "-p", ".")).toBe("");
}, 300_000);

test.each(["hey-api", "orval"])("ten calls through %s answer as they are typed", async (name) => {
  const printed = await run("node", join(root, "node_modules/tsx/dist/cli.mjs"), `${name}.ts`);
  const { statuses, user, first, code } = JSON.parse(printed.trim().split("\n").at(-1)!);
  expect(statuses).toEqual([200, 200, 201, 400, 200, 200, 200, 200, 200, 200]);
  expect(user).toBe(all.tenant.admin.id);
  expect(first).toBe("number");
  expect(code).toBe("cod_collection_ids_required");
}, 120_000);
