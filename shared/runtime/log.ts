import { AsyncLocalStorage } from "node:async_hooks";
import { logLevel } from "./env.ts";

const levels = ["info", "warn", "error"];
const least = Math.max(0, levels.indexOf(logLevel));

/** The context of a log line: a request or a job. */
export type Trace = Record<string, unknown>;
const traces = new AsyncLocalStorage<Trace>();

/** Does work; every line that is written meanwhile carries the trace, as it is at that moment. */
export function traced<T>(trace: Trace, work: () => T): T {
  return traces.run(trace, work);
}

/** One JSON line per event, so that the platform's log search finds fields. Never a token or a body. */
export function log(
  level: "info" | "warn" | "error",
  event: string,
  fields: Record<string, unknown> = {},
): void {
  if (levels.indexOf(level) < least) return;
  const at = new Date().toISOString();
  const line = JSON.stringify({ level, event, at, ...traces.getStore(), ...fields });
  if (level === "error") console.error(line);
  else console.log(line);
}

/** Describes a thrown value for a log line. */
export function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { error: String(error) };
  const { code, routine, constraint_name } = error as Error & Record<string, unknown>;
  return { error: error.message, code, routine, constraint: constraint_name, stack: error.stack };
}
