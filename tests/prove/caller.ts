/**
 * Clients that write down what they did: every attempt with its time and its answer. A good client repeats a call with its
 * key until somebody knows what became of it.
 */
import { randomUUID } from "node:crypto";
import type { Body } from "../support/api.ts";

export interface Attempt {
  /** Milliseconds of performance.now(). */
  from: number;
  to: number;
  /** 0: the connection broke, and nobody knows. */
  status: number;
  body: Body;
  text: string;
  retryAfter: string | null;
}

export interface Call {
  token: string;
  method: string;
  path: string;
  body?: unknown;
  key?: string;
  headers?: Record<string, string>;
  attempts: Attempt[];
}

export interface Asked {
  /** Empty: of nobody. */
  token: string;
  method?: string;
  path: string;
  body?: unknown;
  /** False: none. A new one unless said. */
  key?: string | false;
  /** Others beside the usual ones. */
  headers?: Record<string, string>;
}

/** Where requests may go, one after the other. */
export type Ports = () => number[];

export class Caller {
  /** Everything that was ever asked, in the order it was. */
  readonly log: Call[] = [];
  #turn = 0;

  constructor(private readonly ports: Ports, private readonly keep = true) {}

  /** Asks once. */
  async once(asked: Asked): Promise<Attempt> {
    const call = this.#open(asked);
    return await this.#attempt(call);
  }

  /** Asks until somebody answers. Without a key only for what may be repeated: reads. */
  async surely(asked: Asked, patienceMs = 60_000): Promise<Attempt> {
    return await this.again(this.#open(asked), patienceMs);
  }

  /** Asks the same once more, with the same key. */
  async again(call: Call, patienceMs = 60_000): Promise<Attempt> {
    const until = performance.now() + patienceMs;
    for (let wait = 10;; wait = Math.min(wait * 2, 500)) {
      const attempt = await this.#attempt(call);
      if (attempt.status !== 0 && attempt.status !== 503) return attempt;
      if (performance.now() > until) return attempt;
      await new Promise((resolve) => setTimeout(resolve, wait * (0.5 + Math.random())));
    }
  }

  #open({ key = randomUUID(), method = "POST", ...asked }: Asked): Call {
    const call = { ...asked, method, key: key || undefined, attempts: [] };
    if (this.keep) this.log.push(call);
    return call;
  }

  async #attempt(call: Call): Promise<Attempt> {
    const ports = this.ports();
    const port = ports[this.#turn++ % Math.max(ports.length, 1)] ?? 1;
    const headers: Record<string, string> = { ...call.headers };
    if (call.token) headers.authorization = `Bearer ${call.token}`;
    if (call.body !== undefined) headers["content-type"] = "application/json";
    if (call.key) headers["idempotency-key"] = call.key;
    const attempt: Attempt = {
      from: performance.now(),
      to: 0,
      status: 0,
      body: {},
      text: "",
      retryAfter: null,
    };
    try {
      const response = await fetch(`http://127.0.0.1:${port}${call.path}`, {
        method: call.method,
        headers,
        body: call.body === undefined ? undefined : JSON.stringify(call.body),
        signal: AbortSignal.timeout(30_000),
      });
      attempt.text = await response.text();
      attempt.body = JSON.parse(attempt.text);
      attempt.retryAfter = response.headers.get("retry-after");
      attempt.status = response.status;
    } catch {
      // Whatever broke: the client does not know, which is what 0 says.
      attempt.status = 0;
    }
    attempt.to = performance.now();
    call.attempts.push(attempt);
    return attempt;
  }
}

/**
 * Runs loops until each has ended. Where one fails the others end after what they are doing, as `failed` says: nothing
 * of a test goes on beside those that follow.
 */
export async function untilAllEnd(
  loops: ((failed: () => boolean) => Promise<unknown>)[],
): Promise<void> {
  let isFailed = false;
  const ends = await Promise.allSettled(loops.map(async (loop) => {
    try {
      await loop(() => isFailed);
    } catch (error) {
      isFailed = true;
      throw error;
    }
  }));
  const broken = ends.find((end) => end.status === "rejected");
  if (broken) throw broken.reason;
}

/** Runs `work` in so many lanes at a time until `go` says no. */
export const lanes = (
  count: number,
  go: () => boolean,
  work: (lane: number) => Promise<unknown>,
): Promise<void> =>
  untilAllEnd(Array.from({ length: count }, (_, lane) => async (failed) => {
    while (!failed() && go()) await work(lane);
  }));

/** So many calls at the same moment. */
export const atOnce = <T>(count: number, call: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => call(index)));
