import { describeError, log } from "./log.ts";

/** Errors that were logged already: many requests may wait for the same work behind them. */
const loggedErrors = new WeakSet<object>();

/** Keeps the process alive until the work ends; a failure is logged. */
export function keepAlive(work: Promise<unknown>): void {
  const guarded = work.catch((error) => {
    if (loggedErrors.has(error)) return;
    loggedErrors.add(error);
    log("error", "background_failed", describeError(error));
  });
  const runtime =
    (globalThis as { EdgeRuntime?: { waitUntil(work: Promise<unknown>): void } }).EdgeRuntime;
  runtime?.waitUntil(guarded);
}
