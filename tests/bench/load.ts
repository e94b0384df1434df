/** A small HTTP/1.1 load generator: keep-alive sockets that send one prepared request over and over. */
import { connect } from "node:net";
import { performance } from "node:perf_hooks";

export interface LoadResult {
  perSecond: number;
  /** Milliseconds. */
  p50: number;
  p95: number;
  p99: number;
  answers: number;
  /** Of them, no success. */
  notOk: number;
  /** Of them, 5xx. */
  faults: number;
}

/**
 * Sends GETs over `connections` sockets for `seconds`; POSTs where `bodies` gives each its body, until it has no more.
 * Costs a few microseconds a request.
 */
export async function load(
  url: string,
  headers: Record<string, string>,
  connections: number,
  seconds: number,
  bodies?: () => string | undefined,
): Promise<LoadResult> {
  const { hostname, port, pathname, search } = new URL(url);
  const lines = Object.entries({ host: `${hostname}:${port}`, ...headers }).map(([name, value]) =>
    `${name}: ${value}\r\n`
  );
  const head = `${pathname}${search} HTTP/1.1\r\n${lines.join("")}`;
  const request = Buffer.from(`GET ${head}\r\n`);
  const next = () => {
    if (!bodies) return request;
    const body = bodies();
    return body &&
      `POST ${head}content-type: application/json\r\ncontent-length: ${
        Buffer.byteLength(body)
      }\r\n\r\n${body}`;
  };
  const times: number[] = [];
  let notOk = 0;
  let faults = 0;
  const until = performance.now() + seconds * 1000;
  const started = performance.now();
  await Promise.all(
    Array.from({ length: connections }, () =>
      new Promise<void>((resolve, reject) => {
        const socket = connect(Number(port), hostname);
        let sentAt = 0;
        let seen = Buffer.alloc(0);
        const send = () => {
          const question = performance.now() < until && next();
          if (!question) return socket.end();
          sentAt = performance.now();
          socket.write(question);
        };
        socket.setNoDelay(true);
        socket.on("connect", send);
        socket.on("data", (bytes) => {
          seen = seen.length ? Buffer.concat([seen, bytes]) : bytes;
          const end = seen.indexOf("\r\n\r\n");
          if (end < 0) return;
          const length = /content-length: (\d+)/i.exec(seen.toString("latin1", 0, end));
          if (!length) return reject(new Error("an answer without content-length"));
          if (seen.length < end + 4 + Number(length[1])) return;
          times.push(performance.now() - sentAt);
          const status = Number(seen.toString("latin1", 9, 12));
          if (status < 200 || status > 299) notOk++;
          if (status >= 500) faults++;
          seen = Buffer.alloc(0);
          send();
        });
        socket.on("error", reject);
        socket.on("close", () => resolve());
      })),
  );
  const took = (performance.now() - started) / 1000;
  return {
    perSecond: times.length / took,
    ...percentiles(times),
    answers: times.length,
    notOk,
    faults,
  };
}

/** Milliseconds below which half, 95 and 99 of a hundred lie. */
export function percentiles(times: number[]): { p50: number; p95: number; p99: number } {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

export function median(values: number[]): number {
  return percentiles(values).p50;
}
