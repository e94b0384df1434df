/** The settings, buckets, secrets and functions of the project. */
import { createHash } from "node:crypto";
import { sealingKeyOf } from "../../../shared/outbound/sealing-key.ts";
import { Failure } from "../../local/failure.ts";
import { readConfig } from "../../local/config.ts";
import { withPrivateFile } from "../private-file.ts";
import { scramVerifier } from "../scram-verifier.ts";
import { execute, query, quoted } from "./database.ts";
import type { Deployment, Step } from "./step.ts";

interface Difference {
  path: string[];
  /** `remote_only`: config.toml says nothing of it, so it stays. */
  class: "update" | "local_only" | "remote_only";
  local: unknown;
  remote: unknown;
}

export const settings: Step = {
  name: "Settings",
  async plan({ cli, project }) {
    const { changes } = await cli.read<{ changes: Difference[] }>(
      ["config", "diff", project, "--exit-code"],
      [0, 2],
    );
    return changes.filter((change) => change.class !== "remote_only").map((
      { path, local, remote },
    ) => `${path.join(".")}: ${JSON.stringify(remote)} becomes ${JSON.stringify(local)}`);
  },
  async apply({ cli, project }) {
    await cli.run("config", "push", project);
  },
};

/** The CLI cannot say what it would change, so they are always brought to what config.toml has. */
export const buckets: Step = {
  name: "Buckets",
  plan() {
    const names = readConfig().buckets.map(({ name }) => name);
    return Promise.resolve([`make or keep ${names.join(", ")} as config.toml has them`]);
  },
  async apply({ cli, project }) {
    await cli.run("seed", "buckets", project);
  },
};

/** Has the password of the role as which the functions log in. */
const login = "BARID_DB_URL";
/** Without these two the functions run out of connections, and nothing can be sealed. */
const sealing = "BARID_SECRETS_KEY";
const needed = [login, sealing];

export const secrets: Step = {
  name: "Secrets",
  async plan(deployment) {
    const { have, changed } = await compareSecrets(deployment);
    const missing = needed.filter((name) => !have.has(name) && !changed.includes(name));
    if (missing.length > 0) {
      throw new Failure(
        `${missing.join(" and ")} missing: write them into the file of the environment ` +
          "(docs/operations.md, Secrets).",
      );
    }
    if (changed.includes(sealing)) await requireKeys(deployment);
    const lines = changed.map((name) => `${have.has(name) ? "change" : "set"} ${name}`);
    if (!changed.includes(login)) return lines;
    passwordIn(deployment);
    return [...lines, `give barid_api the password in ${login}`];
  },
  async apply(deployment) {
    const { changed } = await compareSecrets(deployment);
    const { cli, project, settings: { secrets } } = deployment;
    if (changed.includes(sealing)) await requireKeys(deployment);
    if (changed.includes(login)) {
      const password = quoted(scramVerifier(passwordIn(deployment)));
      await execute(deployment, `alter role barid_api login password ${password}`);
    }
    const lines = changed.map((name) => `${name}=${inQuotes(secrets.get(name)!)}\n`);
    await withPrivateFile(
      "secrets.env",
      lines.join(""),
      (file) => cli.run("secrets", "set", project, "--env-file", file),
    );
  },
};

/** A secret can be set and not read again; what is read is its SHA-256. */
async function compareSecrets({ cli, project, settings: { secrets } }: Deployment) {
  const answer = await cli.read<{ secrets: { name: string; value: string }[] }>(
    ["secrets", "list", project],
  );
  const have = new Map(answer.secrets.map(({ name, value }) => [name, value]));
  const changed = [...secrets].filter(([name, value]) =>
    have.get(name) !== createHash("sha256").update(value).digest("hex")
  ).map(([name]) => name);
  return { have, changed };
}

/** Each key is one, and all that the database has sealed secrets of are among them: nothing else opens those. */
async function requireKeys(deployment: Deployment): Promise<void> {
  const names = namesOfKeys(deployment.settings.secrets.get(sealing)!);
  const known = "select to_regprocedure('integration.sealed_keys()') is not null as known";
  // A schema of before, or none yet: asked once the migrations have run.
  if (!(await query<{ known: boolean }>(deployment, known))[0]?.known) return;
  const sealed = "select key, count::integer as count from integration.sealed_keys() order by key";
  const lacking = (await query<{ key: string; count: number }>(deployment, sealed))
    .filter(({ key }) => !names.includes(key));
  if (lacking.length > 0) {
    const counts = lacking.map(({ key, count }) => `${count} with ${key}`).join(", ");
    throw new Failure(
      `${sealing} lacks keys that stored secrets are sealed with (${counts}): put them behind ` +
        "the new one, after a comma (docs/operations.md, Rotate keys).",
    );
  }
}

/** The names of the keys of the list, as sealed texts carry them. Fails on one that the functions would not start with. */
function namesOfKeys(list: string): string[] {
  try {
    const keys = list.split(",").filter((key) => key !== "").map(sealingKeyOf);
    if (keys.length > 0) return keys.map(({ id }) => id);
  } catch {
    // Not even base64, or of another length: refused below, without the key.
  }
  throw new Failure(`Each key of ${sealing} has 32 bytes in base64: openssl rand -base64 32.`);
}

/** The password that the functions log in with. */
function passwordIn({ settings: { secrets } }: Deployment): string {
  const text = secrets.get(login)!;
  const { username, password } = URL.canParse(text) ? new URL(text) : {};
  if (!username?.startsWith("barid_api") || !password) {
    throw new Failure(`${login} is no address with barid_api and its password.`);
  }
  return decodeURIComponent(password);
}

function inQuotes(value: string): string {
  if (/['\n]/.test(value)) throw new Failure("A secret may hold no quote and no line break.");
  return `'${value}'`;
}

/** A bundle's file is named after what is in it, so its entry says whether what runs is the same. */
export const functions: Step = {
  name: "Functions",
  advice: "Those that were deployed run; the others are as they were. Run the command again.",
  async plan(deployment) {
    const sizes = new Map(
      deployment.bundles.map(({ slug, compressed }) => [slug, Math.ceil(compressed / 1000)]),
    );
    return (await differing(deployment)).map((slug) => `deploy ${slug} (${sizes.get(slug)} kB)`);
  },
  async apply(deployment) {
    const { cli, project } = deployment;
    const said = await cli.run(
      "functions",
      "deploy",
      ...await differing(deployment),
      "--use-api",
      project,
    );
    // A file that is missing is only a warning to the CLI.
    const warning = /^.*\bWARN.*$/m.exec(said)?.[0];
    if (warning) throw new Failure(`supabase functions deploy: ${warning}`);
  },
};

async function differing({ cli, project, bundles }: Deployment): Promise<string[]> {
  const { functions } = await cli.read<
    { functions: { slug: string; entrypoint_path?: string; verify_jwt?: boolean }[] }
  >(["functions", "list", project]);
  return bundles.filter(({ slug, entry }) =>
    !functions.some((one) =>
      one.slug === slug && one.verify_jwt === false && one.entrypoint_path?.endsWith(`/${entry}`)
    )
  ).map(({ slug }) => slug);
}
