/** A project as its owner reaches it: the database as `postgres`, Storage and Auth by the secret key. */
import { createClient, type SupabaseClient } from "@supabase/supabase-js";
import postgres from "postgres";
import { WebSocket } from "ws";
import { Failure } from "../local/failure.ts";
import { readState } from "../local/lock.ts";
import { defaultDataDir } from "../local/paths.ts";

export interface Where {
  databaseUrl: string;
  url: string;
  secretKey: string;
}

export interface Place {
  sql: postgres.Sql;
  storage: SupabaseClient["storage"];
  accounts: SupabaseClient["auth"]["admin"];
  /** Ends the statement that a connection of this project is at, by the number of its process. */
  cancel(pid: number): Promise<void>;
  close(): Promise<void>;
}

/** The project that the environment names, else the running local stack. Fails when there is neither. */
export function whereIs(env: NodeJS.ProcessEnv): Where {
  const { DATABASE_URL, SUPABASE_URL, SUPABASE_SECRET_KEY } = env;
  if (DATABASE_URL) {
    if (SUPABASE_URL && SUPABASE_SECRET_KEY) {
      return { databaseUrl: DATABASE_URL, url: SUPABASE_URL, secretKey: SUPABASE_SECRET_KEY };
    }
    throw new Failure("DATABASE_URL needs SUPABASE_URL and SUPABASE_SECRET_KEY beside it.");
  }
  const state = readState(defaultDataDir);
  if (!state) {
    throw new Failure(
      "Which project? Set DATABASE_URL, SUPABASE_URL and SUPABASE_SECRET_KEY, or start the local stack.",
    );
  }
  return { databaseUrl: state.db_url, url: state.url, secretKey: state.secret_key };
}

/** Connects with it; nothing is asked before the first statement. */
export function openPlace({ databaseUrl, url, secretKey }: Where): Place {
  const sql = postgres(databaseUrl, {
    max: 1,
    onnotice: () => {},
    connection: { application_name: "barid tenant" },
  });
  const { storage, auth } = createClient(url, secretKey, {
    auth: { persistSession: false, autoRefreshToken: false, detectSessionInUrl: false },
    // Node 20 has none of its own, and the client asks for one although nothing here listens.
    realtime: { transport: WebSocket as never },
  });
  return {
    sql,
    storage,
    accounts: auth.admin,
    async cancel(pid) {
      const other = postgres(databaseUrl, { max: 1, onnotice: () => {} });
      try {
        await other`select pg_cancel_backend(${pid})`;
      } finally {
        await other.end({ timeout: 1 });
      }
    },
    close: () => sql.end({ timeout: 1 }),
  };
}

/**
 * Texts of rows that are the same on every server, and no limit of time but the operator's: a server that can (PostgreSQL on Linux) looks
 * every ten seconds whether a command that was stopped still waits for its statement.
 */
export const sessionSettings = `
  do $$ begin
    perform pg_catalog.set_config('client_connection_check_interval', '10s', true);
  exception when invalid_parameter_value then
    null;
  end $$;
  set local timezone = 'UTC'; set local datestyle = 'ISO, YMD'; set local intervalstyle = 'iso_8601';
  set local extra_float_digits = 1; set local bytea_output = 'hex'; set local search_path = '';
  set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0;`;
