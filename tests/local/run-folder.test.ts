/** The folder of a run of tests: its own, gone with it, and what killed runs left goes with the next one. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { hostname, tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { useRunFolder } from "../support/run-folder.ts";

const before = process.env.TMPDIR;
let base: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "barid-base-"));
  process.env.TMPDIR = base;
});
afterEach(() => {
  process.env.TMPDIR = before;
  rmSync(base, { recursive: true });
});

const runOf = (pid: number, host = hostname(), user = userInfo().uid) =>
  `barid-run-${host}-${user}-${pid}`;

test("is where temporary files go until the run ends", () => {
  const folder = useRunFolder();
  const inside = mkdtempSync(join(tmpdir(), "file-"));
  expect(inside.startsWith(join(base, runOf(process.pid)))).toBe(true);
  folder.remove();
  expect(existsSync(inside)).toBe(false);
  expect(process.env.TMPDIR).toBe(base);
});

test("takes the place of those of runs that were killed, and of nobody else's", () => {
  // Numbers of processes end below this one.
  const killed = runOf(2 ** 30);
  const others = [
    runOf(process.ppid),
    runOf(2 ** 30, "another-host"),
    runOf(2 ** 30, hostname(), userInfo().uid + 1),
    "barid-run",
    "notes-1073741824",
  ];
  for (const name of [killed, ...others]) mkdirSync(join(base, name));
  const folder = useRunFolder();
  expect(readdirSync(base).sort()).toEqual([...others, runOf(process.pid)].sort());
  folder.remove();
});
