/** Databases of a test's own on the stack's server. */
import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { applyPlatform } from "../../supabase/local/migrate.ts";
import { sql, stack } from "./db.ts";
import { buildAlone, cloneDatabase, databaseAt } from "./template.ts";

export interface OwnDatabase {
  url: string;
  sql: postgres.Sql;
  close(): Promise<void>;
}

/** A database with what Supabase provides and no migration. */
export async function newDatabase(
  build: (database: OwnDatabase) => Promise<unknown> = () => Promise.resolve(),
): Promise<OwnDatabase> {
  const name = newName();
  await sql.unsafe(`create database ${name} template template0`);
  const database = open(name);
  await buildAlone(sql, async () => {
    await applyPlatform(database.sql);
    await build(database);
  });
  return database;
}

/** A database with all migrations and no data, cloned on the stack's server. */
export async function newMigratedDatabase(): Promise<OwnDatabase> {
  const name = newName();
  await cloneDatabase(sql, stack.dbUrl, name);
  return open(name);
}

const newName = () => `barid_${randomUUID().slice(0, 8)}`;

function open(name: string): OwnDatabase {
  const url = databaseAt(stack.dbUrl, name);
  const own = postgres(url, { max: 1, onnotice: () => {} });
  return {
    url,
    sql: own,
    async close() {
      await own.end();
      await sql.unsafe(`drop database ${name} with (force)`);
    },
  };
}
