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

/** A database with what Supabase provides and nothing of ours. */
export async function emptyDatabase(): Promise<OwnDatabase> {
  const name = `barid_${randomUUID().slice(0, 8)}`;
  await sql.unsafe(`create database ${name} template template0`);
  const url = new URL(stack.dbUrl);
  url.pathname = `/${name}`;
  const own = postgres(url.href, { max: 1, onnotice: () => {} });
  await applyPlatform(own);
  return {
    url: url.href,
    sql: own,
    async close() {
      await own.end();
      await sql.unsafe(`drop database ${name} with (force)`);
    },
  };
}
