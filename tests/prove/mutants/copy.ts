/** A copy of the repository that may be changed: its tests run there, on a database and functions of their own. */
import { spawn } from "node:child_process";
import { cpSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { defaultDataDir, root } from "../../../supabase/local/paths.ts";
import { newFolderForPostgres } from "../../../supabase/local/postgres-files.ts";
import { type Mutant, patternOf } from "./mutant.ts";

const parts = [
  "functions",
  "shared",
  "sql",
  "supabase",
  "tests",
  "deno.json",
  "package.json",
  "tsconfig.json",
  "vitest.config.ts",
];
const longestMs = 180_000;

/** Tests by full name, each passed or not; undefined when there is no report: nothing could be run. */
export type Outcome = { name: string; passed: boolean }[] | undefined;

export class Copy {
  readonly dir = newFolderForPostgres("barid-mutant-");

  constructor() {
    for (const part of parts) cpSync(join(root, part), join(this.dir, part), { recursive: true });
    symlinkSync(join(root, "node_modules"), join(this.dir, "node_modules"));
    // As before the first release: one baseline, made of sql/ with its mutant.
    rmSync(join(this.dir, "tests", "upgrade"), { recursive: true, force: true });
  }

  private async buildMigrations(): Promise<void> {
    const migrations = join(this.dir, "supabase", "migrations");
    for (const file of readdirSync(migrations)) rmSync(join(migrations, file));
    await this.node("node_modules/tsx/dist/cli.mjs", "tests/tools/db-build.ts");
  }

  remove(): void {
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** Runs the mutant's test with the change made, and takes the change back. */
  async runWith({ file, from, to, test }: Mutant): Promise<Outcome> {
    const path = join(this.dir, file);
    const text = readFileSync(path, "utf8");
    // A function: `$` in the replacement means itself.
    writeFileSync(path, text.replace(from, () => to));
    try {
      if (file.startsWith("sql/")) await this.buildMigrations();
      return await this.run(test[0], [test[1]]);
    } finally {
      writeFileSync(path, text);
      if (file.startsWith("sql/")) await this.buildMigrations();
    }
  }

  /** Runs the tests of a file whose names hold one of these. */
  async run(file: string, names: readonly string[]): Promise<Outcome> {
    const report = join(this.dir, "report.json");
    rmSync(report, { force: true });
    const pattern = names.map(patternOf).join("|");
    await this.node(
      "node_modules/vitest/vitest.mjs",
      ...["run", file, "-t", `(${pattern})`, "--reporter=json", `--outputFile=${report}`],
    );
    let told: {
      testResults: { assertionResults: { fullName: string; status: string }[] }[];
    };
    try {
      told = JSON.parse(readFileSync(report, "utf8"));
    } catch {
      return undefined;
    }
    return told.testResults.flatMap(({ assertionResults }) =>
      assertionResults.filter(({ status }) => status === "passed" || status === "failed")
        .map(({ fullName, status }) => ({
          name: fullName,
          passed: status === "passed",
        }))
    );
  }

  private node(...args: string[]): Promise<void> {
    return new Promise((resolve, reject) => {
      const child = spawn(process.execPath, args, {
        cwd: this.dir,
        stdio: "ignore",
        env: {
          PATH: process.env.PATH,
          HOME: process.env.HOME,
          NO_COLOR: "1",
          // Races as often as npm run test:full has them: a few rounds may miss what a mutant breaks.
          BARID_PROVE: "test",
          // Deno need not compile everything anew for each copy.
          DENO_DIR: process.env.DENO_DIR ?? join(defaultDataDir, "deno"),
        },
      });
      const late = setTimeout(() => child.kill(), longestMs);
      child.once("error", reject);
      child.once("close", () => {
        clearTimeout(late);
        resolve();
      });
    });
  }
}
