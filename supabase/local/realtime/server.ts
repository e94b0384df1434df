import type { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type postgres from "postgres";
import { type WebSocket, WebSocketServer } from "ws";
import { type Caller, identify } from "../callers.ts";
import { messageOf } from "../failure.ts";
import type { TokenKeys } from "../keys.ts";
import { type ChangeFeed, followChanges } from "./changes.ts";
import { type Binding, matches } from "./filter.ts";
import { decode, encode, encodePacked, type Message } from "./messages.ts";
import type { Change } from "./pgoutput.ts";
import { changeData, visibleRow } from "./rows.ts";

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
  /** Of a private channel: the bearer may send, too. */
  private?: { maySend: boolean };
}

interface Client {
  socket: WebSocket;
  version: 1 | 2;
  apiKey: string;
  topics: Map<string, Subscription>;
}

/**
 * The part of Supabase Realtime that this backend's clients use: changes of published tables, decided by RLS, and
 * broadcasts between clients and from the database, on private channels as the policies of realtime.messages decide. Presence is not there, and a deleted row is announced by its key alone, to everyone who asked for it.
 */
export function startRealtime({ sql, dbUrl, keys, log }: RealtimeParts) {
  const clients = new Set<Client>();
  const server = new WebSocketServer({ noServer: true });
  let feed: Promise<ChangeFeed> | undefined;
  let ended: Promise<unknown> = Promise.resolve();
  let joining = 0;
  let lastId = 0;
  const forgetting = setInterval(() => {
    sql`delete from realtime.messages where inserted_at < now() at time zone 'UTC' - interval '1 hour'`
      .catch((error) => log(`realtime: ${messageOf(error)}`));
  }, 600_000).unref();

  /** Ends the reading of changes once nobody is left who listens to any. */
  const rest = () => {
    const listens = [...clients].some(({ topics }) =>
      [...topics.values()].some(({ bindings, private: rights }) => bindings.length > 0 || rights)
    );
    if (!feed || listens || joining > 0) return;
    ended = Promise.all([ended, feed.then((last) => last.stop(), () => {})]);
    feed = undefined;
  };

  const join = async (client: Client, message: Message) => {
    const { config = {}, access_token: token } = message.payload ?? {};
    const caller = await callerOf(client.apiKey, token, keys);
    const bindings: Binding[] = (config.postgres_changes ?? []).map((
      wanted: Omit<Binding, "id">,
    ) => ({
      ...wanted,
      id: ++lastId,
    }));
    const rights = config.private === true
      ? await rightsOn(sql, caller, channelOf(message.topic))
      : undefined;
    if (rights && !rights.mayListen) {
      return reply(client, message, "error", { reason: unauthorized(message.topic) });
    }
    // Only now, so that nobody pays for reading changes who does not listen to any.
    if (bindings.length > 0 || rights) await (feed ??= followChanges(dbUrl, publish, log));
    const hearsItself = config.broadcast?.self === true;
    client.topics.set(message.topic, {
      joinRef: message.ref,
      caller,
      bindings,
      hearsItself,
      private: rights,
    });
    reply(client, message, "ok", { postgres_changes: bindings });
    push(client, message.topic, "presence_state", {});
    if (bindings.length === 0) return;
    push(client, message.topic, "system", {
      channel: channelOf(message.topic),
      extension: "postgres_changes",
      message: "Subscribed to PostgreSQL",
      status: "ok",
    });
  };

  const handle = async (client: Client, message: Message) => {
    switch (message.event) {
      case "phx_join":
        joining++;
        return await join(client, message).finally(() => {
          joining--;
          rest();
        });
      case "phx_leave":
        client.topics.delete(message.topic);
        rest();
        return reply(client, message, "ok", {});
      case "heartbeat":
        return reply(client, message, "ok", {});
      case "access_token": {
        const subscription = client.topics.get(message.topic);
        if (subscription) {
          subscription.caller = await callerOf(client.apiKey, message.payload?.access_token, keys);
          if (subscription.private) await askAgain(client, message.topic, subscription);
        }
        return;
      }
      case "broadcast": {
        const sender = client.topics.get(message.topic);
        if (sender?.private && !sender.private.maySend) return;
        for (const other of clients) {
          const subscription = other.topics.get(message.topic);
          if (!subscription || (other === client && !subscription.hearsItself)) continue;
          // A public channel and a private one of the same name are two.
          if (!subscription.private !== !sender?.private) continue;
          push(other, message.topic, "broadcast", message.payload);
        }
        return reply(client, message, "ok", {});
      }
    }
  };

  /** With a new token: a private channel that its bearer may not listen to any more ends. */
  const askAgain = async (client: Client, topic: string, subscription: Subscription) => {
    const rights = await rightsOn(sql, subscription.caller, channelOf(topic));
    if (rights.mayListen) {
      subscription.private = rights;
      return;
    }
    push(client, topic, "system", {
      channel: channelOf(topic),
      extension: "system",
      message: unauthorized(topic),
      status: "error",
    });
    push(client, topic, "phx_close", {});
    client.topics.delete(topic);
    rest();
  };

  /** A message that the database sent goes to the listeners of its channel; it is packed once for all of them. */
  const deliver = ({ row }: Change) => {
    const topic = `realtime:${row.topic}`;
    const isPrivate = row.private === "t";
    const payload = `{"type":"broadcast","event":${JSON.stringify(row.event)},"payload":${
      row.payload ?? "null"
    },"meta":${JSON.stringify({ id: row.id })}}`;
    for (const { socket, version, topics } of clients) {
      const subscription = topics.get(topic);
      if (!subscription || !subscription.private === isPrivate) continue;
      // A listener that does not read is cut off: it connects again, and nobody waits for it.
      if (socket.bufferedAmount > maxUnreadBytes) socket.terminate();
      else if (socket.readyState === socket.OPEN) {
        socket.send(encodePacked({ topic, joinRef: subscription.joinRef, payload }, version));
      }
    }
  };

  const publish = async (change: Change) => {
    if (change.schema === "realtime" && change.table === "messages") return deliver(change);
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
        websocket.on("close", () => {
          clients.delete(client);
          rest();
        });
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
      clearInterval(forgetting);
      for (const { socket } of clients) socket.terminate();
      if (feed) await (await feed).stop();
      await ended;
    },
  };
}

/** Bytes that a listener may leave unread. */
const maxUnreadBytes = 4_000_000;

const channelOf = (topic: string) => topic.replace(/^realtime:/, "");
const unauthorized = (topic: string) =>
  `Unauthorized: You do not have permissions to read from this Channel topic: ${channelOf(topic)}`;

/** The rights that policies of realtime.messages give on a private channel: tried with messages that are undone. */
async function rightsOn(
  sql: postgres.Sql,
  caller: Caller,
  topic: string,
): Promise<{ mayListen: boolean; maySend: boolean }> {
  const undone = new Error("undone");
  let rights = { mayListen: false, maySend: false };
  await sql.begin(async (transaction) => {
    await transaction`insert into realtime.messages (topic, extension, private) values (${topic}, 'broadcast', true)`;
    await transaction`select set_config('request.jwt.claims', ${
      JSON.stringify(caller.claims)
    }, true),
      set_config('realtime.topic', ${topic}, true), set_config('role', ${caller.role}, true)`;
    const found =
      await transaction`select from realtime.messages where topic = ${topic} and extension = 'broadcast' limit 1`;
    const maySend = await transaction.savepoint((nested) =>
      nested`insert into realtime.messages (topic, extension, private) values (${topic}, 'broadcast', true)`
    ).then(() => true, () => false);
    rights = { mayListen: found.length > 0, maySend };
    throw undone;
  }).catch((error) => {
    if (error !== undone) throw error;
  });
  return rights;
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
