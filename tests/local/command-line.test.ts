/** Every command of package.json: a wrong argument is refused before anything is done, in words that say what to do. */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../../supabase/local/paths.ts";

const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
/** Takes what `deno fmt` does, which says what it does not know. */
const passedOn = ["format"];
const commands = Object.keys(scripts).filter((name) => !passedOn.includes(name));

const run = (...args: string[]) =>
  new Promise<{ code: unknown; told: string }>((resolve) =>
    execFile(process.execPath, ["supabase/local/bootstrap.mjs", ...args], { cwd: root }, (
      error,
      stdout,
      stderr,
    ) => resolve({ code: error?.code ?? 0, told: stdout + stderr }))
  );

test.for(commands)("%s --nonsense", async (command) => {
  const { code, told } = await run(command, "--nonsense");
  expect(code, told).toBe(2);
  expect(told.split("\n").filter((line) => /^\s+at .*:\d+/.test(line))).toEqual([]);
  expect(told).toMatch(/npm|--/);
});

test.each([
  ["--document", "openapi"],
  ["--collection", "info"],
])("api %s writes the file", async (option, field) => {
  const folder = mkdtempSync(join(tmpdir(), "barid-api-"));
  const file = join(folder, "written.json");
  expect((await run("api", option, file)).code).toBe(0);
  expect(JSON.parse(readFileSync(file, "utf8"))).toHaveProperty(field);
  rmSync(folder, { recursive: true });
}, 60_000);
