/**
 * `npm run db:build`: writes the baseline migration from `sql/`. Once a version is released the baseline is frozen; this then
 * says whether the migrations make what `sql/` says, and fails where they do not.
 */
import { writeFileSync } from "node:fs";
import { relative } from "node:path";
import { baseline, sourceFiles } from "../../sql/build.ts";
import { migrationFindings } from "./migrations/compare.ts";
import { baselineFile, releases } from "./migrations/releases.ts";

const [first] = releases();
if (first) {
  const findings = await migrationFindings();
  console.log(
    findings.length === 0 ? "The migrations make what sql/ says." : [
      `The baseline is frozen since ${first.version}: npm run db:migration -- <name> writes what follows.`,
      ...findings,
    ]
      .join("\n"),
  );
  process.exitCode = findings.length === 0 ? 0 : 1;
} else {
  writeFileSync(baselineFile, baseline());
  console.log(`${relative(process.cwd(), baselineFile)}: ${sourceFiles().length} files`);
}
