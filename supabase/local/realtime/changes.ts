import type { Buffer } from "node:buffer";
import postgres from "postgres";
import { messageOf } from "../failure.ts";
import { type Change, pgoutputReader } from "./pgoutput.ts";

const pollMs = 100;

/** A running read of the publication. */
export interface ChangeFeed {
  stop(): Promise<void>;
}

/**
 * Reads the changes of published tables, and the messages that the database broadcasts, and hands them on in the order of their commits. It polls a
 * temporary slot over an ordinary connection: the slot goes with the connection, so a crash leaves none behind that
 * would keep the write-ahead log from being cleared.
 */
export async function followChanges(
  dbUrl: string,
  onChange: (change: Change) => Promise<void>,
  log: (line: string) => void,
): Promise<ChangeFeed> {
  let stopped = false;
  let sql = await openSlot(dbUrl);
  const polling = (async () => {
    let read = pgoutputReader();
    while (!stopped) {
      try {
        const messages = await sql<{ data: Buffer }[]>`
          select data from pg_logical_slot_get_binary_changes('barid_realtime_' || pg_backend_pid(), null, null,
            'proto_version', '1', 'publication_names', 'supabase_realtime,supabase_realtime_messages_publication')`;
        for (const { data } of messages) {
          // Nobody listens to this reading any more; a later listener has another.
          if (stopped) return;
          const change = read(data);
          if (change) await onChange(change);
        }
      } catch (error) {
        if (stopped) return;
        log(`realtime: ${messageOf(error)}; connecting again`);
        await sql.end({ timeout: 0 });
        await pause(500);
        sql = await openSlot(dbUrl).catch(() => sql);
        read = pgoutputReader();
      }
      await pause(pollMs);
    }
  })();
  return {
    async stop() {
      stopped = true;
      await polling;
      await sql.end({ timeout: 1 });
    },
  };
}

async function openSlot(dbUrl: string): Promise<postgres.Sql> {
  const sql = postgres(dbUrl, {
    max: 1,
    onnotice: () => {},
    // The slot belongs to the connection: it may not be exchanged for another behind our back.
    max_lifetime: null,
    connection: { application_name: "barid realtime" },
  });
  try {
    await sql`select pg_create_logical_replication_slot('barid_realtime_' || pg_backend_pid(), 'pgoutput', true)`;
    return sql;
  } catch (error) {
    await sql.end({ timeout: 0 });
    throw error;
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
