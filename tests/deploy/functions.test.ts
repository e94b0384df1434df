/** The real CLI deploys all functions to a stand-in of the management API, which looks at what arrives. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { slugs } from "../../supabase/local/paths.ts";
import { reachedFrom } from "../support/imports.ts";
import { supabase } from "./cli.ts";
import { type Hosted, startHosted } from "./hosted.ts";

const project = "abcdefghijklmnopqrst";
/** The files that the platform accepts from a deployment without Docker. */
const maxBundleBytes = 5_000_000;

let hosted: Hosted;
let deployed: { code: number; output: string };
beforeAll(async () => {
  hosted = await startHosted(project);
  deployed = await supabase(
    ["--yes", "functions", "deploy", "--use-api", `--remote=${project}`],
    // Of the right shape; the stand-in takes any.
    { ...hosted.env, SUPABASE_ACCESS_TOKEN: `sbp_${"0".repeat(40)}` },
  );
});
afterAll(() => hosted.close());
const uploads = () => hosted.api.project(project).uploads;

test("the deployment ends well and warns of nothing", () => {
  expect(deployed).toMatchObject({ code: 0 });
  // A file that is missing is only a warning to the CLI.
  expect(deployed.output.split("\n").filter((line) => /WARN|failed/i.test(line))).toEqual([]);
});

test("every function is deployed once", () => {
  expect(uploads().map(({ slug }) => slug).sort()).toEqual([...slugs].sort());
});

describe.each(slugs)("%s", (slug) => {
  const upload = () => uploads().find((candidate) => candidate.slug === slug)!;

  test("has its entry, the one list of imports, and verifies tokens itself", () => {
    expect(upload().metadata).toMatchObject({
      entrypoint_path: `functions/${slug}/index.ts`,
      import_map_path: "deno.json",
      verify_jwt: false,
    });
  });

  test("uploads what it reaches by import and nothing else", () => {
    const files = [...upload().files.keys()].sort();
    expect(files).toEqual(["deno.json", ...reachedFrom(`functions/${slug}/index.ts`)].sort());
    expect(files.filter((file) => /(^|\/)\./.test(file))).toEqual([]);
  });

  test("is small enough to be bundled by the platform", () => {
    const bytes = [...upload().files.values()].reduce((sum, size) => sum + size, 0);
    console.log(`${slug}: ${upload().files.size} files, ${Math.ceil(bytes / 1000)} kB`);
    expect(bytes).toBeLessThan(maxBundleBytes);
  });
});
