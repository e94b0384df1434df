/** The real CLI deploys the bundles to a stand-in of the management API, which looks at what arrives. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Bundle, bundleAll } from "../../supabase/deploy/bundle/index.ts";
import { writeFolder } from "../../supabase/deploy/folder.ts";
import { limits } from "../../supabase/deploy/limits.ts";
import { slugs } from "../../supabase/local/paths.ts";
import { supabase } from "./cli.ts";
import { type Hosted, startHosted } from "./hosted.ts";

const project = "abcdefghijklmnopqrst";

let hosted: Hosted;
let folder: string;
let bundles: Bundle[];
let deployed: { code: number; output: string };
beforeAll(async () => {
  hosted = await startHosted(project);
  folder = mkdtempSync(join(tmpdir(), "barid-deployed-"));
  bundles = await bundleAll();
  writeFolder(folder, bundles);
  deployed = await supabase(
    ["--yes", "functions", "deploy", "--use-api", `--remote=${project}`, "--workdir", folder],
    // Of the right shape; the stand-in takes any.
    { ...hosted.env, SUPABASE_ACCESS_TOKEN: `sbp_${"0".repeat(40)}` },
  );
});
afterAll(async () => {
  await hosted?.close();
  rmSync(folder, { recursive: true, force: true });
});
const uploads = () => hosted.api.project(project).uploads;

test("the deployment ends well and warns of nothing", () => {
  expect(deployed, deployed.output).toMatchObject({ code: 0 });
  // A file that is missing is only a warning to the CLI.
  expect(deployed.output.split("\n").filter((line) => /WARN|failed/i.test(line))).toEqual([]);
});

test("every function is deployed once", () => {
  expect(uploads().map(({ slug }) => slug).sort()).toEqual([...slugs].sort());
});

describe.each(slugs)("%s", (slug) => {
  const upload = () => uploads().find((candidate) => candidate.slug === slug)!;
  const bundle = () => bundles.find((candidate) => candidate.slug === slug)!;

  test("has its entry and no list of imports, and verifies tokens itself", () => {
    expect(upload().metadata).toMatchObject({
      entrypoint_path: bundle().entry,
      import_map_path: "",
      verify_jwt: false,
    });
  });

  test("uploads its bundle, each file whole, and nothing else", () => {
    const files = [...bundle().files].map(([file, text]) => [file, Buffer.byteLength(text)]);
    expect([...upload().files].sort()).toEqual(files.sort());
  });

  test("is small enough, compressed and as it is uploaded", () => {
    const { files, size, compressed } = bundle();
    console.log(
      `${slug}: ${files.size} files, ${Math.ceil(size / 1000)} kB, ` +
        `${Math.ceil(compressed / 1000)} kB compressed`,
    );
    expect(compressed).toBeLessThan(limits.bundleBytes);
    expect(size).toBeLessThan(limits.bundleBytes);
  });
});
