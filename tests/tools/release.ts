/**
 * `npm run release -- <version>`: checks that the version can be released, writes it where it stands, freezes the migrations
 * and leaves what the tests of upgrades need. The commit and the tag are for a person to make; it says which.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { gzipSync } from "node:zlib";
import { Failure } from "../../supabase/local/failure.ts";
import { root } from "../../supabase/local/paths.ts";
import { describeSchema } from "../support/schema.ts";
import { dumpRows } from "../support/rows.ts";
import { releaseNotes, writeHeading } from "./migrations/changelog.ts";
import { migrationFindings } from "./migrations/compare.ts";
import { withDayOfWork } from "./migrations/day.ts";
import {
  compareVersions,
  hashOf,
  migrationFiles,
  type Release,
  releaseFile,
  releases,
} from "./migrations/releases.ts";
import { schemaVersion, writeVersion } from "./migrations/versions.ts";

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Failure ? error.message : error);
  process.exitCode = 1;
}

async function main([version, ...rest]: string[]): Promise<number> {
  if (!version || rest.length > 0 || !/^\d+\.\d+\.\d+$/.test(version)) {
    console.error("npm run release -- <major>.<minor>.<patch>");
    return 2;
  }
  const last = releases().at(-1);
  if (last && compareVersions(version, last.version) <= 0) {
    throw new Failure(`${last.version} is released: ${version} is not after it.`);
  }
  if (git("status", "--porcelain")) {
    throw new Failure("Commit first: a release is made of a commit.");
  }
  if (!releaseNotes("Unreleased")) {
    throw new Failure("CHANGELOG.md says nothing under Unreleased: what is released?");
  }
  const findings = await migrationFindings();
  if (findings.length > 0) throw new Failure(findings.join("\n"));

  const release: Release = {
    version,
    date: new Date().toISOString().slice(0, 10),
    commit: git("rev-parse", "HEAD"),
    schema: schemaVersion(),
    migrations: Object.fromEntries(migrationFiles().map((file) => [file, hashOf(file)])),
  };
  console.log("A day of work for the tests of upgrades ...");
  await withDayOfWork(async (sql) => {
    keep(
      version,
      "catalogue.txt.gz",
      gzipSync((await describeSchema(sql)).join("\n") + "\n", { level: 9 }),
    );
    keep(version, "rows.txt.gz", gzipSync(await dumpRows(sql), { level: 9 }));
  });
  keep(version, "release.json", `${JSON.stringify(release, null, 2)}\n`);
  writeVersion(version);
  writeHeading(version, release.date);
  console.log(
    `Barid ${version} is ready: ${
      Object.keys(release.migrations).length
    } migrations are frozen. Now, and after npm test:

  git add -A && git commit -m 'Release ${version}'
  git tag -a v${version} -m 'Barid ${version}'
  git push --follow-tags`,
  );
  return 0;
}

function keep(version: string, name: string, content: string | Uint8Array): void {
  const file = releaseFile(version, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}

function git(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync("git", args, { cwd: root, encoding: "utf8" });
  if (status !== 0) throw new Failure(`git ${args.join(" ")}: ${stderr.trim()}`);
  return stdout.trim();
}
