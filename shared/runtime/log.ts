import { AsyncLocalStorage } from "node:async_hooks";
import { logLevel } from "./env.ts";
import { LogWindow } from "./log-window.ts";
import { count } from "./metrics.ts";
import type { TraceContext } from "./trace-context.ts";

const levels = ["info", "warn", "error"];
const least = Math.max(0, levels.indexOf(logLevel));
const lines = new LogWindow();
/** The platform cuts lines off at 10,000 characters, and JSON that is cut is none. */
const maxText = 2_000;

/** Under this key stands the place in the trace, of which only the ids are logged. */
const context: unique symbol = Symbol("trace context");

/** The context of a log line: a request or a job. */
export type Trace = Record<string, unknown> & { [context]?: TraceContext };
const traces = new AsyncLocalStorage<Trace>();

/** Does work; every line that is written meanwhile carries the trace, as it is at that moment. */
export function traced<T>(trace: Trace, work: () => T): T {
  return traces.run(trace, work);
}

/** The fields of a trace context in log lines. Calls that are made meanwhile hand the context on. */
export function traceFields(place: TraceContext): Trace {
  const { traceId, spanId, parentId } = place;
  return { trace_id: traceId, span_id: spanId, parent_span_id: parentId, [context]: place };
}

/** The place in the trace of what is under way; undefined outside of any request and job. */
export function currentTrace(): TraceContext | undefined {
  return traces.getStore()?.[context];
}

/** One JSON line per event, so that the platform's log search finds fields. Never a token or a body. */
export function log(
  level: "info" | "warn" | "error",
  event: string,
  fields: Record<string, unknown> = {},
): void {
  if (levels.indexOf(level) < least) return;
  logFolded();
  lines.take();
  write(level, event, { ...traces.getStore(), ...fields });
}

/** The line of a request that was answered. One that went well may be folded; one that failed never is. */
export function logRequest(operation: string, status: number, ms: number): void {
  if (status >= 500) return log("error", "request", { status, ms });
  if (least > 0) return;
  logFolded();
  if (lines.admits(`${operation} ${status}`, ms)) log("info", "request", { status, ms });
  else count("barid_log_requests_folded_total", {});
}

/** Writes the line about the requests that have none, when it is time. */
export function logFolded(): void {
  const folded = lines.next();
  if (!folded) return;
  lines.take();
  write("info", "requests_folded", { ...folded });
}

function write(level: "info" | "warn" | "error", event: string, fields: Record<string, unknown>) {
  const at = new Date().toISOString();
  const line = JSON.stringify(
    { level, event, at, ...fields },
    (_, value) =>
      typeof value === "string" && value.length > maxText ? `${value.slice(0, maxText)}…` : value,
  );
  if (level === "error") console.error(line);
  else console.log(line);
}

/** Describes a thrown value for a log line. */
export function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { error: String(error) };
  const { code, routine, constraint_name } = error as Error & Record<string, unknown>;
  return { error: error.message, code, routine, constraint: constraint_name, stack: error.stack };
}
