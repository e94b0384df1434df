/** Databases of a test's own on the stack's server. */
import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { applyPlatform } from "../../supabase/local/migrate.ts";
import { sql, stack } from "./db.ts";

export interface OwnDatabase {
  url: string;
  sql: postgres.Sql;
  close(): Promise<void>;
}

/** A database with what Supabase provides, and what `build` makes of it. */
export async function newDatabase(
  build: (database: OwnDatabase) => Promise<unknown> = () => Promise.resolve(),
): Promise<OwnDatabase> {
  const name = `barid_${randomUUID().slice(0, 8)}`;
  await sql.unsafe(`create database ${name} template template0`);
  const url = new URL(stack.dbUrl);
  url.pathname = `/${name}`;
  const own = postgres(url.href, { max: 1, onnotice: () => {} });
  const database = {
    url: url.href,
    sql: own,
    async close() {
      await own.end();
      await sql.unsafe(`drop database ${name} with (force)`);
    },
  };
  // Roles belong to the server: two databases that alter them at once would get in each other's way.
  await sql.begin(async (lock) => {
    await lock`select pg_advisory_xact_lock(hashtext('build a database'))`;
    await applyPlatform(own);
    await build(database);
  });
  return database;
}
