/** The commands of docs/operations.md, in its order, bring a project from nothing to where the page says. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type Bundle, bundleAll } from "../../supabase/deploy/bundle/index.ts";
import { readConfig } from "../../supabase/local/config.ts";
import { slugs } from "../../supabase/local/paths.ts";
import { stack } from "../support/db.ts";
import { remote, supabase } from "./cli.ts";
import { type Hosted, startHosted } from "./hosted.ts";
import { commandsUnder, fileUnder, wordsOf } from "./operations-page.ts";

// Each command of a deployment starts the CLI a dozen times.
vi.setConfig({ testTimeout: 300_000 });

const ref = "abcdefghijklmnopqrst";
const old = "zyxwvutsrqponmlkjihg";
const values = {
  ref,
  "old ref": old,
  // The role is one for all databases of the tests' server, so it keeps its password.
  password: "barid-local",
  "pooler host": "pooler.supabase.test",
  key: randomBytes(32).toString("base64"),
};

let hosted: Hosted;
let files: string;
let bundles: Promise<Bundle[]>;
const project = () => hosted.api.project(ref);
const database = () => hosted.databases.get(ref)!;
beforeAll(async () => {
  bundles = bundleAll();
  hosted = await startHosted(ref, old);
  files = mkdtempSync(join(tmpdir(), "barid-files-"));
  const lines = [
    fileUnder("Deploy from nothing", values),
    // The CLI takes no other port than the platform's for the database of a project.
    `DEPLOY_DATABASE_URL='${remote(database().url).replace("--remote=", "")}'`,
    `DEPLOY_URL=${stack.url}`,
  ];
  for (const name of ["production", "staging"]) {
    writeFileSync(join(files, `.env.${name}`), lines.join("\n"));
  }
});
afterAll(async () => {
  await hosted?.close();
  rmSync(files, { recursive: true, force: true });
});

const cli = (...args: string[]) =>
  supabase(args, { ...hosted.env, SUPABASE_YES: "1" }, hosted.checkout);

/** Runs a command of the page, with what a person would do besides: hand over a token, say yes. */
async function typed(command: string) {
  const [program, ...args] = wordsOf(command, values);
  if (program === "npm") return await deployed(args);
  expect([program, args.shift()]).toEqual(["npx", "supabase"]);
  if (args[0] === "login") args.push("--token", `sbp_${"0".repeat(40)}`);
  const { code, output } = await cli(...args);
  expect(code, output).toBe(0);
  // A file that is missing is only a warning to the CLI.
  expect(output.split("\n").filter((line) => /WARN|failed/i.test(line))).toEqual([]);
}

async function deployed([run, name, dashes, ...args]: string[]) {
  expect([run, name, dashes]).toEqual(["run", "deploy", "--"]);
  await hosted.deploy([...args, "--yes"], {
    ...{ folder: join(files, "deployed"), files, bundle: () => bundles, print: () => {} },
    shell: { ...process.env, ...hosted.env },
    patience: { times: 1, waitMs: 0 },
  });
}

describe("the page's commands", () => {
  test.each(["Deploy from nothing", "Staging", "Update", "Go back"].flatMap(commandsUnder))(
    "%s",
    typed,
  );
});

describe("afterwards", () => {
  test("every request of them was one that the platform answers", () => {
    expect(hosted.api.unanswered).toEqual([]);
  });

  test("the settings are what config.toml says: nothing is left to push", async () => {
    const { output } = await cli("config", "diff", `--remote=${ref}`);
    // Settings that only the project has are absent from config.toml.
    expect(output).toMatch(/\(0 update, \d+ remote-only, 0 local-only\)/);
  });

  test("tokens get their tenant from the hook", () => {
    expect(project().settings.auth).toMatchObject({
      hook_custom_access_token_enabled: true,
      hook_custom_access_token_uri: "pg-functions://postgres/public/custom_access_token_hook",
    });
  });

  test("what is the owner's was not touched", () => {
    expect(project().settings.auth).toMatchObject({
      site_url: "http://localhost:3000",
      uri_allow_list: null,
      smtp_host: null,
    });
  });

  test("the secrets are what was typed, to the letter", () => {
    expect(Object.fromEntries(project().secrets)).toEqual({
      BARID_DB_URL: `postgresql://barid_api.${ref}:${values.password}@${
        values["pooler host"]
      }:6543/postgres`,
      BARID_SECRETS_KEY: values.key,
    });
  });

  test("every function was deployed once: the commands after the first found it running", () => {
    expect(project().uploads.map(({ slug }) => slug).sort()).toEqual([...slugs].sort());
  });

  test("the buckets take what config.toml allows", async () => {
    const buckets = await database()
      .sql`select name, public, file_size_limit::int as "fileSizeLimit",
      allowed_mime_types as "allowedMimeTypes" from storage.buckets order by name`;
    expect([...buckets]).toEqual(readConfig().buckets.sort((a, b) => a.name < b.name ? -1 : 1));
  });

  test("the database has the migrations", async () => {
    const [{ count }] = await database().sql`
      select count(*)::int from supabase_migrations.schema_migrations`;
    expect(count).toBeGreaterThan(0);
  });
});

test("db push --remote asks for the login of the project's database", async () => {
  const before = project().logins;
  await cli("db", "push", `--remote=${ref}`);
  expect(project().logins).toBe(before + 1);
});

describe("files of an old project", () => {
  const copies = commandsUnder("From a dump").filter((command) => command.includes(" storage "));
  const signature = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
  // The CLI tells the kind of a file by its first bytes.
  const proof = Buffer.from([...signature, ...Array.from({ length: 70_000 }, (_, n) => n % 251)]);
  const path = "proofs/11111111-1111-4111-8111-111111111111/manifests/photo one.png";

  test("are copied into the new one, byte for byte", async () => {
    expect(copies).toHaveLength(2);
    await cli("seed", "buckets", `--remote=${old}`);
    const sent = await hosted.storage(
      old,
      new Request(`https://x/storage/v1/object/${encodeURI(path)}`, {
        method: "POST",
        headers: { "content-type": "image/png" },
        body: proof,
      }),
    );
    expect(sent.status).toBe(200);
    for (const command of copies) await typed(command);
    const got = await hosted.storage(
      ref,
      new Request(`https://x/storage/v1/object/${encodeURI(path)}`),
    );
    expect(got.status).toBe(200);
    expect(got.headers.get("content-type")).toBe("image/png");
    expect(Buffer.from(await got.arrayBuffer()).equals(proof)).toBe(true);
  });
});
