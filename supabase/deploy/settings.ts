/** The settings of a deployment: from the file of its environment, and from the shell those that the file lacks. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { Failure } from "../local/failure.ts";
import { UsageFailure } from "../local/command-line.ts";
import { root } from "../local/paths.ts";
import type { DeployOptions } from "./options.ts";

export interface Settings {
  ref: string;
  /** The project's address, without a slash at its end. */
  url: string;
  /** The secrets of the functions, by name; only the file has them, so that no shell sets one by chance. */
  secrets: Map<string, string>;
  /** The database's address, where the CLI's own login does not reach it. */
  database?: string;
  /** The account that signs in to see that it works. */
  account?: { email: string; password: string };
  /** The environment of the CLI: its token and the database's password. */
  cli: Record<string, string>;
}

/** Reads them. `folder` holds the files of the environments. */
export function readSettings(
  { ref: asked, env }: Pick<DeployOptions, "ref" | "env">,
  shell: NodeJS.ProcessEnv = process.env,
  folder = root,
): Settings {
  const file = join(folder, `.env.${env ?? "production"}`);
  if (env && !existsSync(file)) {
    throw new Failure(`.env.${env} is missing: docs/operations.md (Deploy) says what it holds.`);
  }
  const written = existsSync(file) ? parseEnv(readFileSync(file, "utf8")) : {};
  const value = (name: string) => written[name] || shell[name] || undefined;
  const ref = asked ?? value("SUPABASE_PROJECT_REF");
  if (!ref) throw new UsageFailure("Which project? npm run deploy -- --project-ref <ref>");
  if (written.SUPABASE_PROJECT_REF && written.SUPABASE_PROJECT_REF !== ref) {
    throw new Failure(
      `${file} belongs to the project ${written.SUPABASE_PROJECT_REF}, not to ${ref}.`,
    );
  }
  const email = value("DEPLOY_EMAIL");
  const password = value("DEPLOY_PASSWORD");
  const cli = ["SUPABASE_ACCESS_TOKEN", "SUPABASE_DB_PASSWORD"].flatMap((name) =>
    value(name) ? [[name, value(name)!]] : []
  );
  return {
    ref,
    url: (value("DEPLOY_URL") ?? `https://${ref}.supabase.co`).replace(/\/+$/, ""),
    secrets: new Map(
      Object.entries(written).flatMap(([name, text]) =>
        name.startsWith("BARID_") && text ? [[name, text] as const] : []
      ),
    ),
    database: value("DEPLOY_DATABASE_URL"),
    account: email && password ? { email, password } : undefined,
    cli: Object.fromEntries(cli),
  };
}
