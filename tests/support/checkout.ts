/** The code of an earlier commit, beside this one, ready to run. */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../supabase/local/paths.ts";
import { newFolderForPostgres } from "../../supabase/local/postgres-files.ts";

/** True where git has the commit: not in a download, nor in a clone without its history. */
export function hasCommit(commit: string): boolean {
  return spawnSync("git", ["cat-file", "-e", `${commit}^{commit}`], { cwd: root }).status === 0;
}

/** The files of the commit in a folder of their own, with its packages; `remove` takes the folder away. */
export function checkOut(commit: string): { dir: string; remove(): void } {
  const dir = newFolderForPostgres("barid-checkout-");
  const archive = run("git", ["archive", "--format=tar", commit], root);
  run("tar", ["-x", "-C", dir], root, archive);
  const locked = (folder: string) => readFileSync(join(folder, "deno.lock"), "utf8");
  // The lock file of Deno names every package with its version.
  if (locked(dir) === locked(root)) {
    symlinkSync(join(root, "node_modules"), join(dir, "node_modules"));
  } else run("npm", ["ci", "--no-audit", "--no-fund"], dir);
  return { dir, remove: () => rmSync(dir, { recursive: true, force: true }) };
}

/** Puts the files of this checkout, as they are now, in place of those in `dir`; its data in `.barid` stays, as after a pull. */
export function pullInto(dir: string): void {
  for (const name of readdirSync(dir)) {
    if (name !== ".barid") rmSync(join(dir, name), { recursive: true });
  }
  const files = run("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], root);
  run("tar", ["-x", "-C", dir], root, run("tar", ["-c", "--null", "-T", "-"], root, files));
  symlinkSync(join(root, "node_modules"), join(dir, "node_modules"));
}

function run(command: string, args: string[], cwd: string, input?: Uint8Array): Uint8Array {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, input, maxBuffer: 1e9 });
  if (status !== 0) throw new Error(`${command} ${args[0]}: ${stderr}`);
  return stdout;
}
