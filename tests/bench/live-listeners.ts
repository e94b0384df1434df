/** Boards that are listened to while their drivers report: how late a position is on them. */
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "@supabase/supabase-js";
import ws from "ws";
import type { Bench } from "./bench-stack.ts";
import { hire, sendPosition } from "./live-drivers.ts";
import { percentiles } from "./load.ts";
import type { Report } from "./report.ts";

const boards = 10;
/** Of each board. */
const listeners = 20;
const seconds = 20;

interface Board {
  tenantId: string;
  /** Of the office. */
  token: string;
  drivers: string[];
}

/**
 * Ten companies share the drivers and 200 listeners, of whom each is to hear one message a second within a second. Each
 * board has two more: one that never reads what it is sent, and one whose connection breaks without a word.
 */
export async function listening(
  bench: Bench,
  { drivers, everySeconds }: { drivers: number; everySeconds: number },
  out: Report,
): Promise<void> {
  const opened: Board[] = [];
  for (let n = 0; n < boards; n++) opened.push(await openBoard(bench, drivers / boards));
  const heard = { delays: [] as number[], messages: 0 };
  const all = opened.flatMap((board) => Array.from({ length: listeners }, () => board));
  const apps = await Promise.all(all.map((board) => listen(bench, board, heard)));
  const silent = await Promise.all(opened.map((board) => joinSilently(bench, board)));
  const lost = await Promise.all(opened.map((board) => joinSilently(bench, board)));
  await report(bench, opened, { seconds: 2, everySeconds });
  Object.assign(heard, { delays: [], messages: 0 });
  for (const socket of lost) socket.terminate();
  await report(bench, opened, { seconds, everySeconds });
  await sleep(1_500);
  out.note(
    `${all.length} listeners of ${boards} boards heard ${
      (heard.messages / all.length / seconds).toFixed(2)
    } messages a second each, while ${drivers / everySeconds} positions a second came in; ${
      silent.length + lost.length
    } more had stopped reading or were lost`,
  );
  out.ratio({
    what:
      `from the newest position of a message to ${all.length} listeners of ${boards} boards: p95`,
    value: percentiles(heard.delays).p95,
    atMost: 1_000,
    unit: "ms",
  });
  await Promise.all(apps.map((app) => app.removeAllChannels()));
  for (const socket of silent) socket.terminate();
}

/** A company with drivers on duty, whose office the dispatcher belongs to as well. */
async function openBoard(bench: Bench, drivers: number): Promise<Board> {
  const { stack: { sql, jwtSign } } = bench;
  const [{ tenantId }] = await sql<{ tenantId: string }[]>`
    with company as (
      insert into tenancy.tenants (name, slug, status)
      values ('{"en": "Board"}', 'board-' || gen_random_uuid(), 'active') returning id),
    member as (
      insert into tenancy.tenant_users (tenant_id, user_id, tenant_user_type)
      select c.id, ${bench.userId}, 'staff' from company c returning tenant_id, user_id)
    insert into tenancy.tenant_user_roles (tenant_id, user_id, role_key)
    select m.tenant_id, m.user_id, 'dispatcher' from member m returning tenant_id as "tenantId"`;
  return {
    tenantId,
    token: await jwtSign({ sub: bench.userId, app_metadata: { tenant_id: tenantId } }),
    drivers: await hire(bench, drivers, tenantId),
  };
}

/** Positions of all drivers, each every so many seconds, evenly over the time. */
async function report(
  bench: Bench,
  opened: Board[],
  { seconds, everySeconds }: { seconds: number; everySeconds: number },
): Promise<void> {
  const tokens = opened[0]!.drivers.flatMap((_, n) => opened.map(({ drivers }) => drivers[n]!));
  const [began, between] = [Date.now(), 1000 * everySeconds / tokens.length];
  for (let at = 0; at * between < seconds * 1000; at++) {
    void sendPosition(bench, tokens[at % tokens.length]!, at).catch(() => undefined);
    const ahead = began + (at + 1) * between - Date.now();
    if (ahead > 0) await sleep(ahead);
  }
}

async function listen(
  { stack }: Bench,
  { tenantId, token }: Board,
  heard: { delays: number[]; messages: number },
) {
  const app = createClient(stack.url, stack.publishableKey, {
    auth: { persistSession: false, autoRefreshToken: false },
    realtime: { transport: ws as unknown as typeof WebSocket },
  });
  await app.realtime.setAuth(token);
  await new Promise<void>((resolve, reject) =>
    app.channel(topicOf(tenantId), { config: { private: true } })
      .on("broadcast", { event: "driver.positions" }, ({ payload }) => {
        heard.messages++;
        const latest = payload.positions.map(({ recorded_at }: { recorded_at: string }) =>
          Date.parse(recorded_at)
        );
        heard.delays.push(Date.now() - Math.max(...latest));
      })
      .subscribe((status, error) =>
        status === "SUBSCRIBED" ? resolve() : error ? reject(error) : undefined
      )
  );
  return app;
}

/** Joins a board and reads nothing any more. */
async function joinSilently({ stack }: Bench, { tenantId, token }: Board): Promise<ws> {
  const url = stack.url.replace("http", "ws");
  const socket = new ws(`${url}/realtime/v1/websocket?apikey=${stack.publishableKey}&vsn=2.0.0`);
  await new Promise<void>((resolve, reject) => socket.on("open", resolve).on("error", reject));
  const payload = { config: { private: true }, access_token: token };
  socket.send(JSON.stringify(["1", "1", `realtime:${topicOf(tenantId)}`, "phx_join", payload]));
  const answer = await new Promise<string>((resolve) =>
    socket.once("message", (data) => resolve(String(data)))
  );
  if (!answer.includes('"ok"')) throw new Error(answer);
  socket.pause();
  return socket;
}

const topicOf = (tenantId: string) => `tenant:${tenantId}:board`;
