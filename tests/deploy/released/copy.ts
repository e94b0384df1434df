/** A copy of the repository in which version 1.0.0 is released, to change its schema and release again. */
import { spawnSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { State } from "../../../supabase/local/lock.ts";
import { root } from "../../../supabase/local/paths.ts";
import { newFolderForPostgres } from "../../../supabase/local/postgres-files.ts";
import { startStackIn } from "../../support/stack-in.ts";
import { runProgram } from "../../tools/checks/programs.ts";

/** The copy: its folder, its commands, and ways to change it. */
export class ReleasedCopy {
  readonly dir = newFolderForPostgres("barid-released-");

  /** Everything that git knows or would take; as before the first release, whatever is released here. */
  constructor() {
    const files = spawnSync("git", ["ls-files", "-z", "-co", "--exclude-standard"], {
      cwd: root,
      encoding: "utf8",
      maxBuffer: 1e8,
    }).stdout.split("\0").filter(Boolean);
    for (const file of files) {
      const source = join(root, file);
      mkdirSync(dirname(join(this.dir, file)), { recursive: true });
      cpSync(source, join(this.dir, file), { force: true });
    }
    symlinkSync(join(root, "node_modules"), join(this.dir, "node_modules"));
    rmSync(join(this.dir, "tests", "upgrade"), { recursive: true, force: true });
    for (const file of readdirSync(this.migrations)) rmSync(join(this.migrations, file));
    this.change("sql/base/engine/version.sql", /return '\d+'/, "return '00000000000001'");
    this.change(
      "shared/runtime/version.ts",
      /neededSchema = "\d+"/,
      'neededSchema = "00000000000001"',
    );
    this.change("CHANGELOG.md", /^## Unreleased$/m, "## Unreleased\n\n- Zones.");
  }

  get migrations(): string {
    return join(this.dir, "supabase", "migrations");
  }

  /** Runs `tests/tools/<name>.ts` there, as `npm run` does after it has seen to the packages. */
  run(name: string, ...args: string[]) {
    return runProgram(process.execPath, ["--import", "tsx", `tests/tools/${name}.ts`, ...args], {
      cwd: this.dir,
    });
  }

  /** Runs the local stack there until it is ready and stops it; answers what it printed and its state. */
  async startOnce(): Promise<{ lines: readonly string[]; state: State }> {
    const { lines, state, stop } = await startStackIn(this.dir);
    await stop();
    return { lines, state };
  }

  /** Commits everything. */
  commit(message: string): void {
    for (
      const args of [
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=Test", "-c", "user.email=test@barid.test", "commit", "-q", "-m", message],
      ]
    ) {
      const { status, stderr } = spawnSync("git", args, { cwd: this.dir, encoding: "utf8" });
      if (status !== 0) throw new Error(`git ${args[0]}: ${stderr}`);
    }
  }

  /** Replaces a piece of a file, which must be there. */
  change(file: string, from: string | RegExp, to: string): void {
    const before = this.read(file);
    if (typeof from === "string" ? !before.includes(from) : !from.test(before)) {
      throw new Error(`${file} has nothing like ${from}`);
    }
    const after = before.replace(from, () => to);
    writeFileSync(join(this.dir, file), after);
  }

  read(file: string): string {
    return readFileSync(join(this.dir, file), "utf8");
  }

  remove(): void {
    rmSync(this.dir, { recursive: true, force: true });
  }
}
