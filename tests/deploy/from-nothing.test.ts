/** The commands of docs/operations.md, in its order, bring a project from nothing to where the page says. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readConfig } from "../../supabase/local/config.ts";
import { slugs } from "../../supabase/local/paths.ts";
import { remote, supabase } from "./cli.ts";
import { type Hosted, startHosted } from "./hosted.ts";
import { commandsUnder, wordsOf } from "./operations-page.ts";

const ref = "abcdefghijklmnopqrst";
const old = "zyxwvutsrqponmlkjihg";
const values = {
  ref,
  "old ref": old,
  password: "p4ssword",
  "pooler host": "pooler.supabase.test",
  key: randomBytes(32).toString("base64"),
};

let hosted: Hosted;
const project = () => hosted.api.project(ref);
const database = () => hosted.databases.get(ref)!;
beforeAll(async () => {
  hosted = await startHosted(ref, old);
});
afterAll(() => hosted?.close());

const cli = (...args: string[]) =>
  supabase(args, { ...hosted.env, SUPABASE_YES: "1" }, hosted.checkout);

/** Runs a command of the page, with what a person would do besides: hand over a token, say yes. */
async function typed(command: string) {
  const [npx, program, ...args] = wordsOf(command, values);
  expect([npx, program]).toEqual(["npx", "supabase"]);
  if (args[0] === "login") args.push("--token", `sbp_${"0".repeat(40)}`);
  // The CLI takes no other port than the platform's for the database of a project.
  if (args[0] === "db") args[args.indexOf("--remote")] = remote(database().url);
  const { code, output } = await cli(...args);
  expect(code, output).toBe(0);
  // A file that is missing is only a warning to the CLI.
  expect(output.split("\n").filter((line) => /WARN|failed/i.test(line))).toEqual([]);
}

describe("the page's commands", () => {
  test.each(["Deploy from nothing", "Secrets", "Update"].flatMap(commandsUnder))("%s", typed);
});

describe("afterwards", () => {
  test("every request of them was one that the platform answers", () => {
    expect(hosted.api.unanswered).toEqual([]);
  });

  test("the settings are what config.toml says: nothing is left to push", async () => {
    const { output } = await cli("config", "diff");
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

  test("every function was deployed, and again by the update", () => {
    const deployed = project().uploads.map(({ slug }) => slug).sort();
    expect(deployed).toEqual([...slugs, ...slugs].sort());
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

describe("db push", () => {
  test("--remote asks for the linked project's database", async () => {
    const before = project().logins;
    await cli("db", "push", "--remote");
    expect(project().logins).toBe(before + 1);
  });

  test("without --remote means one's own machine, which the page warns of", async () => {
    const before = project().logins;
    const { output } = await cli("db", "push", "--dry-run");
    expect(output).toContain("Target: local stack");
    expect(project().logins).toBe(before);
  });
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
