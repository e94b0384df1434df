// The entry of every npm script. Plain JavaScript without a dependency, because it must run before anything is
// installed: it checks Node, installs the packages when they are missing or out of date, then loads the command.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const commands = {
  start: "supabase/local/commands/start.ts",
  status: "supabase/local/commands/status.ts",
  test: "tests/tools/test.ts",
  "test:full": "tests/tools/test-full.ts",
  "test:repeat": "tests/tools/test-repeat.ts",
  "test:debian": "tests/tools/test-debian.ts",
  bench: "tests/tools/bench.ts",
  prove: "tests/tools/prove.ts",
  demo: "tests/demo/index.ts",
  check: "tests/tools/check.ts",
  format: "tests/tools/format.ts",
  where: "tests/tools/where.ts",
  api: "tests/tools/api.ts",
  client: "tests/tools/client.ts",
  docs: "tests/tools/docs.ts",
  "db:build": "tests/tools/db-build.ts",
  "db:migration": "tests/tools/db-migration.ts",
  release: "tests/tools/release.ts",
  deploy: "supabase/deploy/index.ts",
  tenant: "supabase/tenant/index.ts",
};
/** Commands that are always done whole: an argument would only seem to say something. */
const whole = ["test:full", "test:debian", "check", "docs", "db:build"];

requireNode(20, 19);
const [name, ...rest] = process.argv.slice(2);
const command = Object.hasOwn(commands, name ?? "") ? join(root, commands[name]) : undefined;
if (!command) {
  fail(`Unknown command "${name ?? ""}". Known: ${Object.keys(commands).join(", ")}.`, 2);
}
if (!existsSync(command)) fail(`"${name}" is not available: ${commands[name]} does not exist.`, 2);
if (whole.includes(name) && rest.length > 0) {
  fail(`npm run ${name} takes no arguments, but "${rest[0]}" is one.`, 2);
}
installPackages();

// The command runs in this process, not in a child: signals, the terminal and the exit code are then its own, and
// there is no parent that could be killed and leave it behind.
const { register } = await import("tsx/esm/api");
register();
process.argv = [process.argv[0], command, ...rest];
await import(pathToFileURL(command).href);

function requireNode(major, minor) {
  const [haveMajor, haveMinor] = process.versions.node.split(".").map(Number);
  if (haveMajor > major || (haveMajor === major && haveMinor >= minor)) return;
  fail(`Node ${major}.${minor} or newer is needed; this is ${process.versions.node}.`, 1);
}

function installPackages() {
  const stamp = join(root, "node_modules", ".barid-installed");
  const wanted = manifestHash();
  if (existsSync(stamp) ? readFileSync(stamp, "utf8") === wanted : installIsNewer()) return;
  console.error("Installing packages (npm install) ...");
  // stdout goes to stderr, so that the output of a command such as `status --json` stays clean.
  const install = spawnSync("npm", ["install", "--no-audit", "--no-fund"], {
    cwd: root,
    stdio: ["inherit", 2, 2],
    shell: process.platform === "win32",
  });
  if (install.error) fail(`npm could not be started: ${install.error.message}.`, 1);
  if (install.signal) process.kill(process.pid, install.signal);
  if (install.status !== 0) fail("npm install failed; its message is above.", install.status ?? 1);
  writeFileSync(stamp, manifestHash());
}

/** By content, not by date: switching branches back and forth touches the files without changing what is needed. */
function manifestHash() {
  const hash = createHash("sha256");
  for (const file of ["package.json", "package-lock.json"]) {
    if (existsSync(join(root, file))) hash.update(readFileSync(join(root, file)));
  }
  return hash.digest("hex");
}

/** True after an `npm install` made by hand: npm writes its hidden lockfile last. */
function installIsNewer() {
  const hidden = join(root, "node_modules", ".package-lock.json");
  if (!existsSync(hidden)) return false;
  const installed = statSync(hidden).mtimeMs;
  return ["package.json", "package-lock.json"].every((file) =>
    !existsSync(join(root, file)) || statSync(join(root, file)).mtimeMs <= installed
  );
}

function fail(message, code) {
  console.error(message);
  process.exit(code);
}
