/** The deployed files run: the bundles serve the local stack, and every walkthrough of the documents ends well on them. */
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type Bundle,
  bundle,
  bundleAll,
  writeBundles,
} from "../../supabase/deploy/bundle/index.ts";
import { slugs } from "../../supabase/local/paths.ts";
import type { Stack } from "../../supabase/local/stack.ts";
import { startOwnStack } from "../support/own-stack.ts";

const walkthroughs = readdirSync("tests/walkthrough").filter((file) => file !== "barid.mjs");

let folder: string;
let bundles: Bundle[];
let stack: Stack;
const logged: string[] = [];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "barid-bundles-"));
  bundles = await bundleAll();
  writeBundles(folder, bundles);
  const entries = bundles.map(({ slug, entry }) => [slug, pathToFileURL(join(folder, entry)).href]);
  stack = await startOwnStack({
    schedules: true,
    seed: true,
    env: {
      BARID_LOG_LEVEL: "error",
      FUNCTION_ENTRIES: JSON.stringify(Object.fromEntries(entries)),
    },
    log: (line) => logged.push(line),
  });
});
afterAll(async () => {
  await stack?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe.each(slugs)("%s", (slug) => {
  const files = () => bundles.find((made) => made.slug === slug)!.files;

  test("keeps the licences of the packages in it", () => {
    const { entry } = bundles.find((made) => made.slug === slug)!;
    expect(files().get(entry)).toContain("hono 4.");
    expect(files().get(entry)).toContain("Permission is hereby granted, free of charge");
  });

  test("loads every feature", async () => {
    const answer = await fetch(`${stack.url}/functions/v1/${slug}/openapi.json`);
    expect(answer.status).toBe(200);
    expect(Object.keys((await answer.json()).paths).length).toBeGreaterThan(0);
  });
});

test("what is not found is refused, and not left for the platform to look for", async () => {
  writeFileSync(join(folder, "lost.ts"), 'export { lost } from "a-package-that-is-missing";\n');
  await expect(bundle("lost", join(folder, "lost.ts"))).rejects.toThrow(
    "lost cannot be bundled: a-package-that-is-missing was not found.",
  );
});

test("the same sources make the same files", async () => {
  const again = await bundle("system");
  const made = bundles.find(({ slug }) => slug === "system")!;
  expect([...again.files]).toEqual([...made.files]);
});

test.each(walkthroughs)("%s", async (walkthrough) => {
  const { code, said } = await run(walkthrough);
  expect(code, said).toBe(0);
});

test("no process of a function failed meanwhile", () => {
  expect(logged.filter((line) => /"request_failed"|Uncaught|failed to start/.test(line))).toEqual(
    [],
  );
});

function run(walkthrough: string): Promise<{ code: number; said: string }> {
  return new Promise((done) => {
    const child = execFile(process.execPath, [resolve("tests/walkthrough", walkthrough)], {
      cwd: folder,
      env: {
        ...process.env,
        TMPDIR: folder,
        BARID_URL: stack.url,
        BARID_KEY: stack.publishableKey,
      },
    }, (_error, out, err) => done({ code: child.exitCode ?? -1, said: out + err }));
  });
}
