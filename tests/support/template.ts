/**
 * Databases that are ready to be used: initdb, what Supabase provides and the migrations run once for each state of their
 * files; tests copy the result. A stack of its own gets the copied folder, a database of its own a clone on its server.
 */
import { spawnSync } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import * as fs from "node:fs";
import { join } from "node:path";
import postgres from "postgres";
import { errorCode } from "../../supabase/local/failure.ts";
import { applyPlatform, migrate } from "../../supabase/local/migrate.ts";
import { defaultDataDir, root } from "../../supabase/local/paths.ts";
import { embeddedPostgres, reachable } from "../../supabase/local/postgres-files.ts";
import { startPostgres } from "../../supabase/local/postgres.ts";

/** How long a folder that nobody copies any more is kept, in milliseconds. */
const keptFor = 60 * 60_000;

/** A stopped cluster with platform and migrations, made when there is none yet for these files; answers its folder. */
export async function templateCluster(installation = embeddedPostgres()): Promise<string> {
  const folder = reachable(join(defaultDataDir, "templates"));
  const version = spawnSync(join(installation, "bin", "postgres"), ["--version"]).stdout;
  const ready = join(folder, stateOfFiles(version));
  removeUnused(folder, ready);
  if (!fs.existsSync(ready)) await buildCluster(ready, installation);
  fs.utimesSync(ready, new Date(), new Date());
  return ready;
}

async function buildCluster(ready: string, installation: string): Promise<void> {
  const dataDir = `${ready}.${randomUUID().slice(0, 8)}`;
  fs.mkdirSync(join(ready, ".."), { recursive: true, mode: 0o755 });
  // Each copy would have the log of the migrations.
  const settings = { wal_recycle: "off" };
  const server = await startPostgres({ dataDir, port: 0, durable: false, installation, settings });
  try {
    await build(server.url);
    const sql = postgres(server.url, { max: 1 });
    // Little is left to be written when it stops: a stop that takes too long is made a crash, and each copy would recover.
    await sql`checkpoint`.finally(() => sql.end());
  } finally {
    await server.stop();
  }
  try {
    fs.renameSync(dataDir, ready);
  } catch (error) {
    // Another run was quicker; its folder is the same.
    if (!["ENOTEMPTY", "EEXIST"].includes(errorCode(error))) throw error;
    fs.rmSync(dataDir, { recursive: true });
  }
}

/**
 * Does a work that migrates a database on the server of `sql` while no other test does: roles belong to the server, and of
 * two that alter one at the same moment Postgres refuses the second.
 */
export async function buildAlone(sql: postgres.Sql, work: () => Promise<void>): Promise<void> {
  await sql.begin(async (lock) => {
    await lock`select pg_advisory_xact_lock(hashtext('build a database'))`;
    await work();
  });
}

/**
 * Makes database `name` with platform and migrations on the server of `sql`, as a clone of a template database there,
 * which the first call makes. No other database of that server is touched.
 */
export async function cloneDatabase(sql: postgres.Sql, url: string, name: string): Promise<void> {
  const template = `barid_template_${stateOfFiles().slice(0, 12)}`;
  await buildAlone(sql, async () => {
    const [found] = await sql`select datistemplate from pg_database where datname = ${template}`;
    if (found?.datistemplate) return;
    // One that is not marked as a template is what an interrupted run left.
    await sql.unsafe(`drop database if exists ${template} with (force)`);
    await sql.unsafe(`create database ${template} template template0`);
    await build(databaseAt(url, template));
    await sql.unsafe(`alter database ${template} is_template true allow_connections false`);
  });
  await sql.unsafe(`create database ${name} template ${template}`);
  await sql.unsafe(`alter database ${name} set search_path = "$user", public, extensions`);
  const own = postgres(databaseAt(url, name), { max: 1, onnotice: () => {} });
  try {
    const [cron] = await own`select to_regproc('cron.check_schedule') is not null as ours`;
    if (cron?.ours) await own`update cron.job set database = current_database()`;
  } finally {
    await own.end();
  }
}

/** The address of another database on the server of `url`. */
export function databaseAt(url: string, name: string): string {
  const other = new URL(url);
  other.pathname = `/${name}`;
  return other.href;
}

async function build(url: string): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    await applyPlatform(sql);
    await migrate(sql);
  } finally {
    await sql.end();
  }
}

/** A digest of everything that a ready database is made of. */
function stateOfFiles(version: string | Buffer = ""): string {
  const hash = createHash("sha256").update(version);
  for (const folder of ["supabase/local/extensions", "supabase/migrations"]) {
    const files = fs.readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).sort();
    for (const file of files.filter((name) => /\.(sql|control)$/.test(name))) {
      hash.update(file).update(fs.readFileSync(join(root, folder, file)));
    }
  }
  hash.update(fs.readFileSync(join(root, "supabase", "local", "platform.sql")));
  return hash.digest("hex").slice(0, 16);
}

/** Folders of other states, and what interrupted runs left, go when nobody has used them for a while. */
function removeUnused(folder: string, ready: string): void {
  if (!fs.existsSync(folder)) return;
  for (const name of fs.readdirSync(folder)) {
    const path = join(folder, name);
    if (path === ready) continue;
    const used = fs.statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - used > keptFor) fs.rmSync(path, { recursive: true, force: true });
  }
}
