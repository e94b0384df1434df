/** Two databases to compare: one that the migrations make, one that the files of `sql/` make. */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import postgres from "postgres";
import { sourceFiles } from "../../../sql/build.ts";
import { applyPlatform, migrate } from "../../../supabase/local/migrate.ts";
import { newFolderForPostgres } from "../../../supabase/local/postgres-files.ts";
import { startPostgres } from "../../../supabase/local/postgres.ts";
import { databaseAt } from "../../support/template.ts";

/** A database and a connection to it. */
export interface Database {
  url: string;
  sql: postgres.Sql;
}

/** A server of this process's own that is gone when the work on it ends. */
export interface Workshop {
  /** An empty database with what Supabase provides, then what `build` does to it. */
  database(name: string, build: (sql: postgres.Sql) => Promise<unknown>): Promise<Database>;
}

/** Starts a server in a folder of its own, does the work and removes both, however the work ends. */
export async function withWorkshop<T>(work: (workshop: Workshop) => Promise<T>): Promise<T> {
  const dir = newFolderForPostgres("barid-migration-");
  const opened: postgres.Sql[] = [];
  const server = await startPostgres({ dataDir: join(dir, "postgres"), port: 0, durable: false });
  const open = (url: string) => {
    const sql = postgres(url, { max: 1, onnotice: () => {} });
    opened.push(sql);
    return sql;
  };
  try {
    const main = open(server.url);
    return await work({
      async database(name, build) {
        await main.unsafe(`drop database if exists ${name} with (force)`);
        await main.unsafe(`create database ${name} template template0`);
        const url = databaseAt(server.url, name);
        const sql = open(url);
        await applyPlatform(sql);
        await build(sql);
        return { url, sql };
      },
    });
  } finally {
    await Promise.all(opened.map((sql) => sql.end({ timeout: 1 })));
    await server.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Brings a database to what the migrations say. */
export const byMigrations = (sql: postgres.Sql): Promise<string[]> => migrate(sql);

/** Brings a database to what the files of `sql/` say, in the order of `sql/order.ts`. */
export async function bySources(sql: postgres.Sql): Promise<void> {
  // As the baseline begins: functions come before the views that some of them read.
  await sql`set check_function_bodies = off`;
  for (const file of sourceFiles()) await sql.unsafe(readFileSync(file, "utf8"));
}
