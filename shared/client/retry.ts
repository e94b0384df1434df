/** Repeats requests that failed on the way. A write is sent with an Idempotency-Key, so that it is done once. */

export interface RetryOptions {
  /** Of the whole call, the first time included. 4 if not given. */
  attempts?: number;
  /** The longest wait before the second attempt, in ms; it doubles with each attempt. 500 if not given. */
  baseDelayMs?: number;
  /** No wait is longer, in ms; a server that asks for more ends the attempts. 20 000 if not given. */
  maxDelayMs?: number;
}

/** Answers that say that nothing was done, or that the server is not there: the same request may succeed. */
const repeatable = new Set([429, 502, 503, 504, 546]);

/**
 * A `fetch` that gives a write an Idempotency-Key, unless it has one, and repeats what failed: with no answer, or with one
 * of 429, 502, 503, 504 and 546. It waits as long as `Retry-After` says, else a random part of a delay that doubles, so that many clients
 * do not come back at one moment. Ends at once when the request is aborted.
 */
export function retryingFetch(send: typeof fetch, options: RetryOptions = {}): typeof fetch {
  const { attempts = 4, baseDelayMs = 500, maxDelayMs = 20_000 } = options;
  return async (input, init) => {
    const request = new Request(input, init);
    if (request.method !== "GET" && request.method !== "HEAD" && !request.headers.has(keyHeader)) {
      request.headers.set(keyHeader, crypto.randomUUID());
    }
    for (let attempt = 1;; attempt++) {
      const last = attempt >= attempts;
      let waitMs = Math.random() * Math.min(maxDelayMs, baseDelayMs * 2 ** (attempt - 1));
      try {
        const response = await send(last ? request : request.clone());
        if (last || !repeatable.has(response.status)) return response;
        const asked = retryAfterMs(response);
        if (asked !== undefined && asked > maxDelayMs) return response;
        await response.body?.cancel();
        waitMs = asked ?? waitMs;
      } catch (error) {
        if (request.signal.aborted) throw request.signal.reason;
        if (last) throw error;
      }
      await delay(waitMs, request.signal);
    }
  };
}

const keyHeader = "idempotency-key";

/** In seconds, as Barid says it. */
function retryAfterMs(response: Response): number | undefined {
  const seconds = Number(response.headers.get("retry-after") ?? NaN);
  return Number.isFinite(seconds) ? seconds * 1_000 : undefined;
}

function delay(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const aborted = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", aborted);
      resolve();
    }, ms);
    if (signal.aborted) aborted();
    else signal.addEventListener("abort", aborted, { once: true });
  });
}
