/**
 * Projects at Supabase, as its CLI sees them: the management API, and at each project's own address its Storage, which
 * is that of the local stack. With a home and a copy of what is deployed, so that nobody's own login or link is touched.
 */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deploy } from "../../supabase/deploy/deploy.ts";
import { loadTokenKeys, secretKey } from "../../supabase/local/keys.ts";
import { root } from "../../supabase/local/paths.ts";
import { storageApp } from "../../supabase/local/storage/app.ts";
import { newDatabase, type OwnDatabase } from "../support/database.ts";
import { sql } from "../support/db.ts";
import { buildAlone } from "../support/template.ts";
import { type ManagementApi, startManagementApi } from "./management-api.ts";
import { startTlsGate } from "./tls-gate.ts";

const host = "supabase.test";

export interface Hosted {
  api: ManagementApi;
  /** Each project's database, with what Supabase provides in it. */
  databases: Map<string, OwnDatabase>;
  /** The environment that makes the CLI treat these projects as hosted ones. */
  env: Record<string, string>;
  /** A copy of what the CLI reads of the repository, where its commands are typed. */
  checkout: string;
  /** Runs the deployment's command; the databases of all projects are on one server. */
  deploy(...command: Parameters<typeof deploy>): Promise<void>;
  /** Asks a project's Storage, with its secret key. */
  storage(ref: string, request: Request): Promise<Response>;
  close(): Promise<void>;
}

export async function startHosted(...refs: string[]): Promise<Hosted> {
  const dir = mkdtempSync(join(tmpdir(), "barid-hosted-"));
  const api = await startManagementApi(host);
  const databases = new Map<string, OwnDatabase>();
  const storages = new Map<string, ReturnType<typeof storageApp>>();
  for (const ref of refs) {
    const database = await newDatabase();
    databases.set(ref, database);
    api.project(ref);
    const keys = await loadTokenKeys(
      join(dir, `${ref}.json`),
      () => `https://${ref}.${host}/auth/v1`,
    );
    storages.set(
      `${ref}.${host}`,
      storageApp({ sql: database.sql, keys, dir: join(dir, ref), log: () => {} }),
    );
  }
  const gate = await startTlsGate(
    [...storages.keys()],
    (to, request) => storages.get(to)!.fetch(request),
  );
  const checkout = join(dir, "checkout");
  for (const part of ["supabase/config.toml", "supabase/migrations"]) {
    cpSync(join(root, part), join(checkout, part), { recursive: true });
  }
  const env = {
    SUPABASE_PROFILE: profile(dir, api.url),
    // Logins are kept in this folder, and not in the system's keyring.
    SUPABASE_HOME: join(dir, "home"),
    SUPABASE_NO_KEYRING: "1",
    HTTPS_PROXY: gate.url,
    NO_PROXY: "127.0.0.1",
    NODE_EXTRA_CA_CERTS: join(dir, "authority.pem"),
  };
  mkdirSync(env.SUPABASE_HOME);
  writeFileSync(env.NODE_EXTRA_CA_CERTS, gate.authority);
  return {
    ...{ api, databases, env, checkout },
    deploy: (...command) => buildAlone(sql, () => deploy(...command)),
    async storage(ref, request) {
      request.headers.set("apikey", secretKey);
      return await storages.get(`${ref}.${host}`)!.fetch(request);
    },
    async close() {
      await gate.close();
      await api.close();
      for (const database of databases.values()) await database.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

function profile(dir: string, url: string): string {
  const file = join(dir, "profile.yaml");
  const addresses = ["api_url", "dashboard_url", "docs_url"].map((name) => `${name}: ${url}`);
  const hosts = ["project_host", "pooler_host"].map((name) => `${name}: ${host}`);
  writeFileSync(file, ["name: gate", ...addresses, ...hosts, ""].join("\n"));
  return file;
}
