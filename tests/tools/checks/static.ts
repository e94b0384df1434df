/** The static checks: types, style, house rules, generated files. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../../supabase/local/paths.ts";
import { filesIn } from "./files.ts";
import { brokenHouseRules } from "./house-rules.ts";
import { brokenLockFile, differingDenoLock } from "./lock-file.ts";
import { migrationFindings } from "../migrations/compare.ts";
import {
  findings,
  type ProgramResult,
  runDeno,
  runPackage,
  runTypeScript,
  verdict,
} from "./programs.ts";
import type { Step } from "./steps.ts";
import { wordsThatCameBack } from "./words.ts";

export const staticSteps: Step[] = [
  {
    name: "Types of tests and local stack (tsc)",
    run: async () =>
      verdict(
        await runTypeScript([
          "--project",
          ".",
          "--incremental",
          "--tsBuildInfoFile",
          ".barid/types.json",
        ]),
      ),
  },
  {
    name: "Types of the functions (deno check)",
    run: async () => verdict(await runDeno(["check", "--quiet", ...filesForDeno()])),
  },
  { name: "Lint (deno lint)", run: async () => verdict(await runDeno(["lint", "--quiet"])) },
  {
    name: "Format (deno fmt --check)",
    run: async () => verdict(await runDeno(["fmt", "--check", "--quiet"])),
  },
  {
    name: "Words that do not come back",
    run: () => Promise.resolve(findings(wordsThatCameBack())),
  },
  { name: "House rules", run: () => Promise.resolve(findings(brokenHouseRules())) },
  {
    name: "Lock files are complete and say the same",
    run: () => Promise.resolve(findings([...brokenLockFile(), ...differingDenoLock()])),
  },
  {
    name: "Client types are what endpoints declare",
    run: async () =>
      verdict(
        await runPackage("tsx/dist/cli.mjs", ["tests/tools/api.ts", "--check"]),
      ),
  },
  { name: "Migrations are what sql/ says", run: async () => findings(await migrationFindings()) },
  {
    name: "Migrations are safe to apply (squawk)",
    run: async () => verdict(await lintMigrations(["supabase/migrations/*.sql"])),
  },
];

/** squawk on files of migrations: what would hold up or break those who use the database meanwhile. */
export function lintMigrations(files: string[]): Promise<ProgramResult> {
  return runPackage("squawk-cli/js/bin/squawk", ["--config", "supabase/squawk.toml", ...files]);
}

/** The files that Deno runs: the functions, their shared code, and the few files that tsc leaves to Deno. */
function filesForDeno(): string[] {
  const { exclude } = JSON.parse(readFileSync(join(root, "tsconfig.json"), "utf8"));
  const functions = filesIn("functions").filter((file) =>
    /^functions\/[^/]+\/index\.ts$/.test(file)
  );
  const shared = filesIn("shared").filter((file) => file.endsWith(".ts"));
  const onDeno = (exclude as string[]).filter((file) => file.endsWith(".ts"));
  return [...functions, ...shared, ...onDeno];
}
