/**
 * A database whose `postgres` is what it is at Supabase: the owner of the project's own things, and no superuser. The migrations
 * have run as that role. The superuser is `supabase_admin`, who owns what Supabase brings.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import postgres from "postgres";
import { applyPlatform, migrate } from "../../supabase/local/migrate.ts";
import { newFolderForPostgres } from "../../supabase/local/postgres-files.ts";
import { startPostgres } from "../../supabase/local/postgres.ts";

/** The role, and its rights on the schemas that Supabase brings. */
const hostedPostgres = `
  alter role postgres rename to bootstrap;
  create role postgres login nosuperuser createrole createdb replication bypassrls;
  grant pg_monitor, pg_read_all_data, pg_signal_backend to postgres;
  grant anon, authenticated, service_role, authenticator to postgres with admin option;
  alter database postgres owner to postgres;
  alter schema local owner to postgres;
  alter schema supabase_migrations owner to postgres;
  alter table local.applied owner to postgres;
  alter table supabase_migrations.schema_migrations owner to postgres;
  alter publication supabase_realtime owner to postgres;
  grant usage on schema auth, storage, realtime, vault, extensions, cron, net to postgres with grant option;
  grant create on schema extensions to postgres;
  grant all on all tables in schema auth, storage, realtime to postgres with grant option;
  grant execute on all functions in schema auth, storage, realtime, extensions, vault, cron, net to postgres with grant option;
  grant select, delete on vault.secrets, vault.decrypted_secrets to postgres with grant option;
  grant all on cron.job, cron.job_run_details to postgres;
  grant usage on all sequences in schema cron to postgres;
  alter function vault.create_secret(text, text, text, uuid) security definer;
  alter function vault.update_secret(uuid, text, text, text, uuid) security definer;`;

/** There a hook of the server lets postgres make policies and triggers on these; here it is their owner meanwhile. */
const owners = "supabase_auth_admin, supabase_storage_admin, supabase_realtime_admin";

export interface HostedDatabase {
  /** As `postgres`, one session. */
  sql: postgres.Sql;
  close(): Promise<void>;
}

/** On a server of its own, whose roles it changes: not where DATABASE_URL names a server that was there before. */
export async function newHostedDatabase(): Promise<HostedDatabase> {
  if (process.env.DATABASE_URL) throw new Error("DATABASE_URL names a server with its own roles");
  const folder = newFolderForPostgres("barid-hosted-database-");
  const server = await startPostgres({ dataDir: join(folder, "data"), port: 0, durable: false });
  const open = (user: string) =>
    postgres(server.url.replace("//postgres:", `//${user}:`), { max: 1, onnotice: () => {} });
  const close = async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  const done = async (session: postgres.Sql, work: () => Promise<void>) => {
    await work().finally(() => session.end({ timeout: 1 }));
  };
  try {
    const bootstrap = open("postgres");
    await done(bootstrap, async () => {
      await applyPlatform(bootstrap);
      await bootstrap.unsafe(`create extension pg_cron with schema pg_catalog;
        create extension pg_net with schema extensions;
        alter role supabase_admin login`);
    });
    const admin = open("supabase_admin");
    const sql = open("postgres");
    await done(admin, async () => {
      await admin.unsafe(hostedPostgres);
      await admin.unsafe(`grant ${owners} to postgres`);
      await migrate(sql);
      await admin.unsafe(`revoke ${owners} from postgres`);
    });
    return {
      sql,
      async close() {
        await sql.end({ timeout: 1 });
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}
