/** Calls to other services: a time limit on every one, and tries again where that is safe. */
import { secretKey, supabaseUrl } from "../runtime/env.ts";
import { currentTrace } from "../runtime/log.ts";
import { traceHeaders } from "../runtime/trace-context.ts";

export interface OutboundOptions {
  timeoutMs: number;
  /** Further tries after a failed one; only for calls that may safely happen twice. */
  retries?: number;
  /** Statuses worth another try. A lost connection or a time-out always is. */
  retryOn?: readonly number[];
}

/** The service could not be reached, or not in time. */
export class OutboundFailure extends Error {}

/** `fetch` with a time limit and retries (0.2 s, 0.4 s, 0.8 s … apart, with jitter). Hands on the trace of what is under way. */
export async function callOut(
  url: string,
  init: RequestInit,
  options: OutboundOptions,
): Promise<Response> {
  const { timeoutMs, retries = 0, retryOn = [] } = options;
  const headers = new Headers(init.headers);
  for (const [name, value] of Object.entries(traceHeaders(currentTrace()))) {
    headers.set(name, value);
  }
  for (let attempt = 0;; attempt++) {
    const last = attempt >= retries;
    try {
      const response = await fetch(url, {
        ...init,
        headers,
        redirect: "manual",
        signal: AbortSignal.timeout(timeoutMs),
      });
      if (last || !retryOn.includes(response.status)) return response;
      await response.body?.cancel();
    } catch (error) {
      if (last) {
        throw new OutboundFailure(`${new URL(url).pathname}: ${String(error)}`, { cause: error });
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 200 * 2 ** attempt * (0.5 + Math.random())));
  }
}

/** A call to another function of this Supabase project as the system itself; `body` goes out as JSON. */
export function callPlatform(
  path: string,
  init: { method: string; body?: unknown; headers?: Record<string, string> },
  options: OutboundOptions,
): Promise<Response> {
  const key = secretKey();
  const headers: Record<string, string> = { apikey: key, ...init.headers };
  // Legacy service-role keys are tokens and must stand in Authorization as well; new keys must not.
  if (key.startsWith("ey")) headers.authorization = `Bearer ${key}`;
  if (init.body !== undefined) headers["content-type"] = "application/json";
  const body = init.body === undefined ? undefined : JSON.stringify(init.body);
  return callOut(`${supabaseUrl}${path}`, { method: init.method, headers, body }, options);
}
