/** `npm run tenant` into a reader that wants no more lines. */
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { root } from "../../../supabase/local/paths.ts";

test("a reader that closes the pipe, as `head` does, does not end the command", () => {
  const { status, stderr } = spawnSync("bash", [
    "-c",
    "set -o pipefail; node supabase/local/bootstrap.mjs tenant --help | true",
  ], { cwd: root, encoding: "utf8" });
  expect(stderr).not.toContain("EPIPE");
  expect(status).toBe(0);
});
