/** `npm run deploy` with the real CLI, against the stand-in of the management API: what it shows, does and refuses. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { type Bundle, bundleAll } from "../../supabase/deploy/bundle/index.ts";
import { secretsKey } from "../../supabase/local/keys.ts";
import { root, slugs } from "../../supabase/local/paths.ts";
import { signUp } from "../support/auth.ts";
import { stack } from "../support/db.ts";
import { runProgram } from "../tools/checks/programs.ts";
import { type Hosted, startHosted } from "./hosted.ts";

// Each run starts the CLI a dozen times.
vi.setConfig({ testTimeout: 300_000 });

const ref = "abcdefghijklmnopqrst";
const account = { email: "smoke@deploy.test", password: "only to look" };

let hosted: Hosted;
let files: string;
let bundles: Promise<Bundle[]>;
const project = () => hosted.api.project(ref);
beforeAll(async () => {
  hosted = await startHosted(ref);
  bundles = bundleAll();
  files = mkdtempSync(join(tmpdir(), "barid-deploy-test-"));
  await signUp(account.email, account.password);
});
afterAll(async () => {
  await hosted?.close();
  rmSync(files, { recursive: true, force: true });
});

const settings = () => ({
  SUPABASE_PROJECT_REF: ref,
  SUPABASE_ACCESS_TOKEN: `sbp_${"0".repeat(40)}`,
  // The role is one for all databases of the tests' server, so it keeps its password.
  BARID_DB_URL: `postgresql://barid_api.${ref}:barid-local@pooler.supabase.test:6543/postgres`,
  BARID_SECRETS_KEY: secretsKey,
  // The CLI reaches no other database; what answers is the stack that all tests share.
  DEPLOY_DATABASE_URL: `${hosted.databases.get(ref)!.url}?sslmode=disable`,
  DEPLOY_URL: stack.url,
  DEPLOY_EMAIL: account.email,
  DEPLOY_PASSWORD: account.password,
});

function writeEnvironment(name: string, values: Record<string, string>) {
  const lines = Object.entries(values).map(([key, value]) => `${key}='${value}'\n`);
  writeFileSync(join(files, `.env.${name}`), lines.join(""));
}

/** Runs the command; the lines it printed, and the words of its failure. */
async function run(...args: string[]): Promise<{ lines: string[]; failure?: string }> {
  const lines: string[] = [];
  try {
    await hosted.deploy(args, {
      folder: join(files, "deployed"),
      files,
      shell: { ...process.env, SUPABASE_ACCESS_TOKEN: "", ...hosted.env },
      bundle: () => bundles,
      print: (line) => lines.push(line),
      patience: { times: 1, waitMs: 0 },
    });
    return { lines };
  } catch (error) {
    return { lines, failure: (error as Error).message };
  }
}

beforeEach(() => writeEnvironment("staging", settings()));

/** The parts of the project that a deployment may change. */
async function state() {
  const { sql } = hosted.databases.get(ref)!;
  const [{ buckets, vault, migrations }] = await sql`select
    (select count(*)::int from storage.buckets) as buckets,
    (select count(*)::int from vault.secrets) as vault,
    coalesce((xpath('/row/n/text()', query_to_xml(
      case when to_regclass('supabase_migrations.schema_migrations') is null then 'select 0 as n'
      else 'select count(*) as n from supabase_migrations.schema_migrations' end,
      false, true, '')))[1]::text, '0')::int as migrations`;
  const { secrets, uploads, settings } = project();
  const hook = settings.auth.hook_custom_access_token_enabled;
  return { buckets, vault, migrations, hook, secrets: secrets.size, uploads: uploads.length };
}

describe("a new project", () => {
  test("--dry-run shows what every step would change, and changes nothing", async () => {
    const before = await state();
    const { lines, failure } = await run("--env", "staging", "--dry-run");
    expect(failure).toBeUndefined();
    expect(lines).toContain("Limits: as it should be");
    expect(lines).toContain("  - apply 00000000000001_baseline.sql");
    expect(lines).toContain("  - auth.hook.custom_access_token.enabled: false becomes true");
    expect(lines).toContain("  - set BARID_DB_URL");
    for (const slug of slugs) {
      expect(lines.filter((line) => line.startsWith(`  - deploy ${slug} (`))).toHaveLength(1);
    }
    expect(lines).toContain("  - put project_url into Vault");
    expect(lines.at(-1)).toBe("Nothing was changed.");
    expect(await state()).toEqual(before);
  });

  test("without a terminal and without --yes nothing is changed", async () => {
    const before = await state();
    expect((await run("--env", "staging")).failure).toBe("Nobody can be asked: --yes says yes.");
    expect(await state()).toEqual(before);
  });

  test("is deployed by one command, and asked whether it works", async () => {
    const { lines, failure } = await run("--env", "staging", "--yes");
    expect(failure).toBeUndefined();
    expect(lines.slice(-3)).toEqual([
      expect.stringMatching(/^Works: 8 functions are healthy, version \d/),
      `Works: ${account.email} signed in`,
      "Works: GET /tenants/me answered",
    ]);
    const { buckets, vault, migrations, hook, secrets, uploads } = await state();
    expect(migrations).toBe(readdirSync(join(root, "supabase/migrations")).length);
    expect({ buckets, vault, hook, secrets, uploads }).toEqual({
      ...{ buckets: 3, vault: 2, hook: true, secrets: 2, uploads: slugs.length },
    });
    expect(project().secrets.get("BARID_DB_URL")).toBe(settings().BARID_DB_URL);
    expect(hosted.api.unanswered).toEqual([]);
  });

  test("a second time, there is nothing to do but to look after the buckets", async () => {
    const before = await state();
    const { lines, failure } = await run("--env", "staging", "--yes");
    expect(failure).toBeUndefined();
    expect(lines.filter((line) => line.startsWith("  - "))).toEqual([
      "  - make or keep labels, settlement-receipts, proofs as config.toml has them",
    ]);
    expect(await state()).toEqual(before);
  });
});

describe("a project that is not quite so", () => {
  test("gets again only the function whose files are others", async () => {
    const { functions, uploads } = project();
    const old = functions.get("system")!;
    functions.set("system", {
      ...old,
      entrypoint_path: "file:///tmp/system/source/functions/system/index-old.js",
    });
    const before = uploads.length;
    const { failure } = await run("--env", "staging", "--yes");
    expect(failure).toBeUndefined();
    expect(uploads.slice(before).map(({ slug }) => slug)).toEqual(["system"]);
  });

  test("gets the functions alone when nothing else is asked for", async () => {
    project().functions.delete("carriers");
    project().secrets.delete("BARID_SECRETS_KEY");
    const before = await state();
    const { lines, failure } = await run("--env", "staging", "--functions", "--yes");
    project().secrets.set("BARID_SECRETS_KEY", secretsKey);
    expect(failure).toBeUndefined();
    expect(lines).not.toContain("Migrations: as it should be");
    const uploads = before.uploads + 1;
    expect(await state()).toEqual({ ...before, secrets: before.secrets + 1, uploads });
  });

  test("gets a changed secret, and keeps one that the file does not name", async () => {
    project().secrets.set("BARID_LOG_LEVEL", "warn");
    const key = `${Buffer.alloc(32, 7).toString("base64")},${secretsKey}`;
    writeEnvironment("staging", { ...settings(), BARID_SECRETS_KEY: key });
    const { lines, failure } = await run("--env", "staging", "--yes");
    expect(failure).toBeUndefined();
    expect(lines).toContain("  - change BARID_SECRETS_KEY");
    expect(project().secrets.get("BARID_SECRETS_KEY")).toBe(key);
    expect(project().secrets.get("BARID_LOG_LEVEL")).toBe("warn");
    expect(lines.join("\n")).not.toContain(key);
  });

  test("keeps the keys that stored secrets are sealed with", async () => {
    const { sql } = hosted.databases.get(ref)!;
    const [{ id }] = await sql`insert into tenancy.tenants (name, slug, status)
      values ('{"en": "Sealed"}', 'sealed', 'active') returning id`;
    await sql`insert into integration.tenant_carriers (tenant_id, carrier_code, credentials)
      values (${id}, 'simulated', 's1.0badcafe.AAAA')`;
    const before = new Map(project().secrets);
    const other = Buffer.alloc(32, 9).toString("base64");
    writeEnvironment("staging", { ...settings(), BARID_SECRETS_KEY: other });
    for (const more of [["--dry-run"], ["--yes"]]) {
      const { failure } = await run("--env", "staging", ...more);
      expect(failure).toMatch(/^Secrets: BARID_SECRETS_KEY lacks keys .*\(1 with 0badcafe\)/);
    }
    expect(project().secrets).toEqual(before);
    await sql`delete from integration.tenant_carriers where tenant_id = ${id}`;
    expect((await run("--env", "staging", "--dry-run")).failure).toBeUndefined();
  });

  test("as a copy of another project's database, it wakes its own functions", async () => {
    const { sql } = hosted.databases.get(ref)!;
    await sql`update vault.secrets set secret = 'https://other.supabase.co'
      where name = 'project_url'`;
    const { lines } = await run("--env", "staging", "--yes");
    expect(lines).toContain("  - change project_url in Vault");
    const rows = await sql`select name, secret from vault.secrets order by name`;
    expect(rows.map(({ secret }) => secret)).toEqual([stack.url, stack.secretKey]);
  });
});

describe("what cannot be done", () => {
  test.each<[string, Record<string, string>, RegExp]>([
    [
      "no login",
      { SUPABASE_ACCESS_TOKEN: "" },
      /^Login and project: supabase projects list: Access token not provided\. .*supabase login[^{}]*$/,
    ],
    [
      "a database that is away",
      { DEPLOY_DATABASE_URL: "postgresql://postgres@127.0.0.1:9/postgres?sslmode=disable" },
      /^Migrations: supabase db push: .*(refused|connect)/,
    ],
    [
      "a secret that is too long",
      { BARID_ROUTING_URL: "x".repeat(24_577) },
      /^Limits: The platform will refuse this: BARID_ROUTING_URL is longer than 24576 bytes\.$/,
    ],
    [
      "an account that cannot sign in",
      { DEPLOY_PASSWORD: "wrong" },
      /^smoke@deploy\.test cannot sign in: .*\.$/,
    ],
    [
      "a project that does not answer",
      { DEPLOY_URL: "http://127.0.0.1:9" },
      /^http:\/\/127\.0\.0\.1:9\/functions\/v1\/delivery\/health does not answer: /,
    ],
  ])("%s: one line that says what to do", async (_, values, words) => {
    writeEnvironment("staging", { ...settings(), ...values });
    const { failure } = await run("--env", "staging", "--yes");
    expect(failure).toMatch(words);
  });

  test("a checkout that is older than the database, without the advice to forget migrations", async () => {
    const { sql } = hosted.databases.get(ref)!;
    await sql`insert into supabase_migrations.schema_migrations (version, name) values ('29990101000000', 'of_later')`;
    const { failure } = await run("--env", "staging", "--dry-run");
    await sql`delete from supabase_migrations.schema_migrations where version = '29990101000000'`;
    expect(failure).toMatch(
      /^Migrations: supabase db push: .*older than the database.*--functions/,
    );
    expect(failure).not.toContain("repair");
  });

  test("a project of somebody else", async () => {
    writeEnvironment("staging", { ...settings(), SUPABASE_PROJECT_REF: "" });
    const other = "zyxwvutsrqponmlkjihg";
    const { failure } = await run("--env", "staging", "--project-ref", other);
    expect(failure).toMatch(new RegExp(`^Login and project: The project ${other} is not among`));
  });

  test("an address of the database without its password", async () => {
    writeEnvironment("staging", { ...settings(), BARID_DB_URL: "postgresql://postgres@db:5432/x" });
    expect((await run("--env", "staging")).failure).toBe(
      "Secrets: BARID_DB_URL is no address with barid_api and its password.",
    );
  });

  test("a key that is none", async () => {
    const hex = "0".repeat(64);
    writeEnvironment("staging", { ...settings(), BARID_SECRETS_KEY: hex });
    expect((await run("--env", "staging")).failure).toBe(
      "Secrets: Each key of BARID_SECRETS_KEY has 32 bytes in base64: openssl rand -base64 32.",
    );
  });

  test("secrets that nobody gave", async () => {
    const kept = new Map(project().secrets);
    project().secrets.clear();
    writeEnvironment("staging", { ...settings(), BARID_DB_URL: "", BARID_SECRETS_KEY: "" });
    const { failure } = await run("--env", "staging", "--yes");
    for (const [name, value] of kept) project().secrets.set(name, value);
    expect(failure).toMatch(/^Secrets: BARID_DB_URL and BARID_SECRETS_KEY missing: /);
  });

  test("an environment without a file, and the file of another project", async () => {
    expect((await run("--env", "nowhere")).failure).toMatch(/^\.env\.nowhere is missing: /);
    const { failure } = await run("--env", "staging", "--project-ref", "zyxwvutsrqponmlkjihg");
    expect(failure).toMatch(/\.env\.staging belongs to the project abcdefghijklmnopqrst, not to /);
  });

  test.each([
    [[], "Which project? npm run deploy -- --project-ref <ref>"],
    [["--project-ref", "x"], '--project-ref needs the twenty letters of a project, not "x".'],
    [["--env", "../x"], '--env needs a name such as staging, not "../x".'],
    [["--all"], "Unknown option '--all': npm run deploy -- --help lists the options."],
  ])("the command line %j is refused with exit code 2", async (args, words) => {
    const entry = join(root, "supabase/local/bootstrap.mjs");
    const { code, lines } = await runProgram(process.execPath, [entry, "deploy", ...args], {
      env: { PATH: process.env.PATH },
    });
    expect({ code, lines }).toEqual({ code: 2, lines: [words] });
  });
});
