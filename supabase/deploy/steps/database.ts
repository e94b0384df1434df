/** Migrations, and what the schedules in the database need to reach the functions. */
import { Failure } from "../../local/failure.ts";
import { type Cli, CliFailure } from "../cli.ts";
import { withPrivateFile } from "../private-file.ts";
import type { Deployment, Step } from "./step.ts";

export const migrations: Step = {
  name: "Migrations",
  advice:
    "The migrations before it are applied, and the one that failed is undone: the next deployment begins with it. docs/operations.md, Update.",
  async plan({ cli, database }) {
    const { migrations } = await cli.read<{ migrations: string[] }>(
      ["db", "push", "--dry-run", database],
    );
    return migrations.map((file) => `apply ${file}`);
  },
  async apply({ cli, database, print }) {
    await push(cli, database, print);
  },
};

/** A deadlock with calls, and a lock that they held for too long: what PostgreSQL undoes and another try may do. */
const metCalls = ["40P01", "55P03"];
const tries = 5;

/**
 * Applies the migrations while calls are made. One that meets them is undone by PostgreSQL, and the next push begins with it;
 * that is tried five times. Answers how often it pushed. Fails with what PostgreSQL said.
 */
export async function push(
  cli: Cli,
  database: string,
  print: (line: string) => void,
): Promise<number> {
  for (let pushed = 1;; pushed++) {
    try {
      await cli.run("db", "push", database);
      return pushed;
    } catch (error) {
      const again = error instanceof CliFailure && metCalls.includes(error.sqlState ?? "");
      if (!again || pushed === tries) throw error;
      print(
        `A migration met calls and was undone (${error.sqlState}): push ${pushed + 1} of ${tries}.`,
      );
    }
  }
}

/** Migrations schedule the jobs; pg_cron finds the functions by two secrets in Vault. */
export const schedules: Step = {
  name: "Schedules",
  async plan(deployment) {
    return (await differing(deployment)).map(({ name, id }) =>
      `${id ? "change" : "put"} ${name} ${id ? "in" : "into"} Vault`
    );
  },
  async apply(deployment) {
    const values = {
      project_url: deployment.settings.url,
      secret_key: await keyOf(deployment, "secret"),
    };
    const calls = (await differing(deployment)).map(({ name, id }) =>
      id
        ? `vault.update_secret(${quoted(id)}, ${quoted(values[name])})`
        : `vault.create_secret(${quoted(values[name])}, ${quoted(name)})`
    );
    await execute(deployment, `select ${calls.join(", ")}`);
  },
};

interface VaultSecret {
  name: "project_url" | "secret_key";
  id?: string;
}

/**
 * The secrets to write: those that are missing, or both where the address is another project's, as in a copy of its database. That the
 * key alone has changed is not noticed.
 */
async function differing(deployment: Deployment): Promise<VaultSecret[]> {
  const { url } = deployment.settings;
  const statement = `select id, name, decrypted_secret = ${quoted(url)} as same
    from vault.decrypted_secrets where name in ('project_url', 'secret_key')`;
  type Row = VaultSecret & { same: boolean };
  const rows = await query<Row>(deployment, statement);
  const address = rows.find(({ name }) => name === "project_url");
  const names = ["project_url", "secret_key"] as const;
  return names.map((name): VaultSecret => rows.find((row) => row.name === name) ?? { name })
    .filter(({ id }) => !id || (address && !address.same));
}

/** A key of the project: `publishable` for programs of users, `secret` for the system itself. */
export async function keyOf(
  { cli, project }: Deployment,
  type: "publishable" | "secret",
): Promise<string> {
  const args = ["projects", "api-keys", project, ...(type === "secret" ? ["--reveal"] : [])];
  const { keys } = await cli.read<{ keys: { type?: string; api_key: string }[] }>(args);
  const key = keys.find((candidate) => candidate.type === type)?.api_key;
  if (!key) throw new Failure(`The project has no ${type} key: make one (dashboard, API keys).`);
  return key;
}

/** The rows of a statement that changes nothing. */
export async function query<Row>({ cli, database }: Deployment, statement: string): Promise<Row[]> {
  const answer = await cli.read<Row[] | { rows: Row[] }>(
    ["db", "query", "--read-only", database, statement],
  );
  return Array.isArray(answer) ? answer : answer.rows;
}

/** Runs a statement that no other program can read. */
export function execute({ cli, database }: Deployment, statement: string): Promise<void> {
  return withPrivateFile(
    "statement.sql",
    statement,
    (file) => cli.run("db", "query", database, "--file", file),
  );
}

/** A string in SQL. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
