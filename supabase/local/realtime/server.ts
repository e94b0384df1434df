import type { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type postgres from "postgres";
import { type WebSocket, WebSocketServer } from "ws";
import { asCaller, type Caller, identify } from "../callers.ts";
import { errorCode, messageOf } from "../failure.ts";
import type { TokenKeys } from "../keys.ts";
import { type ChangeFeed, followChanges } from "./changes.ts";
import { type Binding, matches } from "./filter.ts";
import { decode, encode, type Message } from "./messages.ts";
import type { Change } from "./pgoutput.ts";

/** The dependencies of Realtime. */
export interface RealtimeParts {
  sql: postgres.Sql;
  dbUrl: string;
  keys: TokenKeys;
  log: (line: string) => void;
}

interface Subscription {
  joinRef: string | null;
  caller: Caller;
  bindings: Binding[];
  hearsItself: boolean;
}

interface Client {
  socket: WebSocket;
  version: 1 | 2;
  apiKey: string;
  topics: Map<string, Subscription>;
}

/**
 * The part of Supabase Realtime that this backend's clients use: changes of published tables, decided by RLS, and
 * broadcasts. Presence is not there, and a deleted row is announced by its key alone, to everyone who asked for it.
 */
export function startRealtime({ sql, dbUrl, keys, log }: RealtimeParts) {
  const clients = new Set<Client>();
  const server = new WebSocketServer({ noServer: true });
  let feed: Promise<ChangeFeed> | undefined;
  let lastId = 0;

  const join = async (client: Client, message: Message) => {
    const { config = {}, access_token: token } = message.payload ?? {};
    const caller = await callerOf(client.apiKey, token, keys);
    const bindings: Binding[] = (config.postgres_changes ?? []).map((
      wanted: Omit<Binding, "id">,
    ) => ({
      ...wanted,
      id: ++lastId,
    }));
    // Only now, so that nobody pays for reading changes who does not listen to any.
    if (bindings.length > 0) await (feed ??= followChanges(dbUrl, publish, log));
    const hearsItself = config.broadcast?.self === true;
    client.topics.set(message.topic, { joinRef: message.ref, caller, bindings, hearsItself });
    reply(client, message, "ok", { postgres_changes: bindings });
    push(client, message.topic, "presence_state", {});
    if (bindings.length === 0) return;
    push(client, message.topic, "system", {
      channel: message.topic.replace(/^realtime:/, ""),
      extension: "postgres_changes",
      message: "Subscribed to PostgreSQL",
      status: "ok",
    });
  };

  const handle = async (client: Client, message: Message) => {
    switch (message.event) {
      case "phx_join":
        return await join(client, message);
      case "phx_leave":
        client.topics.delete(message.topic);
        return reply(client, message, "ok", {});
      case "heartbeat":
        return reply(client, message, "ok", {});
      case "access_token": {
        const subscription = client.topics.get(message.topic);
        if (subscription) {
          subscription.caller = await callerOf(client.apiKey, message.payload?.access_token, keys);
        }
        return;
      }
      case "broadcast":
        for (const other of clients) {
          const subscription = other.topics.get(message.topic);
          if (!subscription || (other === client && !subscription.hearsItself)) continue;
          push(other, message.topic, "broadcast", message.payload);
        }
        return reply(client, message, "ok", {});
    }
  };

  const publish = async (change: Change) => {
    for (const client of clients) {
      for (const [topic, { bindings, caller }] of client.topics) {
        const ids = bindings.filter((binding) => matches(binding, change)).map(({ id }) => id);
        if (ids.length === 0) continue;
        const record = change.type === "DELETE" ? {} : await visibleRow(sql, caller, change);
        if (!record) continue;
        push(client, topic, "postgres_changes", { ids, data: changeData(change, record) });
      }
    }
  };

  return {
    fetch: () =>
      Response.json({ message: "Realtime speaks websocket only in the local stand-in" }, {
        status: 426,
      }),
    upgrade(request: IncomingMessage, socket: Duplex, head: Buffer) {
      const url = new URL(request.url ?? "", "http://localhost");
      if (url.pathname !== "/realtime/v1/websocket") return void socket.destroy();
      server.handleUpgrade(request, socket, head, (websocket) => {
        const version = url.searchParams.get("vsn")?.startsWith("2") ? 2 : 1;
        const apiKey = url.searchParams.get("apikey") ?? "";
        const client: Client = { socket: websocket, version, apiKey, topics: new Map() };
        clients.add(client);
        websocket.on("close", () => clients.delete(client));
        websocket.on("error", (error) => log(`realtime: ${messageOf(error)}`));
        websocket.on("message", (data: Buffer, isBinary) => {
          const message = decode(data, isBinary);
          if (!message) return;
          handle(client, message).catch((error) =>
            reply(client, message, "error", { reason: messageOf(error) })
          );
        });
      });
    },
    async stop() {
      for (const { socket } of clients) socket.terminate();
      if (feed) await (await feed).stop();
    },
  };
}

async function callerOf(
  apiKey: string,
  token: string | undefined,
  keys: TokenKeys,
): Promise<Caller> {
  const headers = new Headers({ apikey: apiKey });
  if (token) headers.set("authorization", `Bearer ${token}`);
  return await identify(headers, keys);
}

/** The row as it is now, if the subscriber's own policies and grants let it be seen. */
async function visibleRow(sql: postgres.Sql, caller: Caller, change: Change) {
  const keyColumns = change.columns.filter(({ isKey, name }) =>
    isKey && typeof change.row[name] === "string"
  );
  if (keyColumns.length === 0) return undefined;
  try {
    const [found] = await asCaller(sql, caller, async (transaction) => {
      const conditions = keyColumns
        .map(({ name }) => transaction`and ${transaction(name)}::text = ${change.row[name]!}`);
      return await transaction<{ row: Record<string, unknown> }[]>`
        select to_jsonb(t) as row from ${transaction(change.schema)}.${transaction(change.table)} t
        where true ${conditions}`;
    });
    return found?.row;
  } catch (error) {
    // Not allowed to read the table at all: the change is simply not this subscriber's.
    if (errorCode(error) === "42501") return undefined;
    throw error;
  }
}

function changeData(change: Change, record: Record<string, unknown>) {
  const keys = change.columns.filter(({ isKey }) => isKey).map((
    { name },
  ) => [name, change.row[name]]);
  return {
    schema: change.schema,
    table: change.table,
    type: change.type,
    commit_timestamp: new Date().toISOString(),
    columns: [],
    errors: null,
    ...(change.type === "DELETE" ? {} : { record }),
    ...(change.type === "INSERT" ? {} : { old_record: Object.fromEntries(keys) }),
  };
}

function reply(client: Client, message: Message, status: "ok" | "error", response: unknown): void {
  send(client, { ...message, event: "phx_reply", payload: { status, response } });
}

function push(client: Client, topic: string, event: string, payload: unknown): void {
  send(client, {
    topic,
    event,
    payload,
    ref: null,
    joinRef: client.topics.get(topic)?.joinRef ?? null,
  });
}

function send({ socket, version }: Client, message: Message): void {
  if (socket.readyState === socket.OPEN) socket.send(encode(message, version));
}
