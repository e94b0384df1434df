import type postgres from "postgres";
import { messageOf } from "./failure.ts";

interface QueuedRequest {
  id: string;
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string | null;
  timeout_milliseconds: number;
}

const batch = 200;

/**
 * Sends what `net.http_post` and its kind queued, oldest first, and stores the answers. A request is taken off the
 * queue before it is sent, as pg_net does: after a crash it may be lost, but it is never sent twice.
 */
export async function sendQueuedRequests(sql: postgres.Sql): Promise<number> {
  const [{ installed } = { installed: false }] = await sql<{ installed: boolean }[]>`
    select to_regclass('net.http_request_queue') is not null as installed`;
  if (!installed) return 0;
  await sql`delete from net._http_response where created < now() - interval '6 hours'`;
  let sent = 0;
  for (;;) {
    const requests = await sql<QueuedRequest[]>`
      delete from net.http_request_queue q
      using (select id from net.http_request_queue order by id limit ${batch} for update skip locked) next
      where q.id = next.id returning q.*, convert_from(q.body, 'UTF8') as body`;
    await Promise.all(requests.map((request) => send(sql, request)));
    sent += requests.length;
    if (requests.length < batch) return sent;
  }
}

async function send(sql: postgres.Sql, request: QueuedRequest): Promise<void> {
  const timeout = AbortSignal.timeout(request.timeout_milliseconds);
  try {
    const answer = await fetch(request.url, {
      method: request.method,
      headers: request.headers,
      body: request.body,
      signal: timeout,
    });
    const content = await answer.text();
    await sql`insert into net._http_response (id, status_code, content_type, headers, content, timed_out)
      values (${request.id}, ${answer.status}, ${answer.headers.get("content-type")},
        ${sql.json(Object.fromEntries(answer.headers))}, ${content}, false)`;
  } catch (error) {
    const why = timeout.aborted
      ? `Timeout of ${request.timeout_milliseconds} ms reached`
      : messageOf(error instanceof Error && error.cause ? error.cause : error);
    await sql`insert into net._http_response (id, timed_out, error_msg)
      values (${request.id}, ${timeout.aborted}, ${why})`;
  }
}
