/**
 * The place of a request or a job in a trace, after W3C Trace Context (level 1): the trace it belongs to, its own span in it, and what
 * the services that it calls are sent.
 */

export interface TraceContext {
  /** 32 hexadecimal digits. */
  traceId: string;
  /** Of this request or job: 16 hexadecimal digits. */
  spanId: string;
  /** The span of the caller; none where the trace begins here. */
  parentId?: string;
  /** 01: the caller may have recorded its span. */
  flags: "00" | "01";
  /** The entries of other systems about the trace; handed on as they came. */
  state?: string;
}

const parts = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const maxState = 512;

/** The context of a request with these headers: its caller's trace, or one that begins here, where there is none or it is malformed. */
export function receiveTrace(headers: Headers): TraceContext {
  return spanOf(headers.get("traceparent"), headers.get("tracestate"));
}

/** The context of work that was kept with `storedTrace`; null: its trace begins here. */
export function continueTrace(stored: string | null | undefined): TraceContext {
  const [parent = null, state = null] = stored?.split(" ", 2) ?? [];
  return spanOf(parent, state);
}

function spanOf(parent: string | null, state: string | null): TraceContext {
  const received = parent === null ? undefined : readParent(parent.trim());
  const spanId = randomHex(16);
  // Every request and job is recorded here, as a line of the log.
  if (!received) return { traceId: randomHex(32), spanId, flags: "01" };
  return { ...received, spanId, state: state === null ? undefined : readState(state) };
}

function readParent(
  text: string,
): Pick<TraceContext, "traceId" | "parentId" | "flags"> | undefined {
  const [, version, traceId, parentId, flags, rest] = parts.exec(text) ?? [];
  // A later version may add fields behind the four; this one has none.
  if (version === undefined || version === "ff" || (version === "00" && rest)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(parentId)) return undefined;
  // Of the flags only the last bit is defined, and no other may be handed on.
  return { traceId, parentId, flags: Number.parseInt(flags, 16) % 2 === 1 ? "01" : "00" };
}

/** Without the spaces around its members, so that one space can stand before it in `storedTrace`. */
function readState(text: string): string | undefined {
  const members = text.split(",").map((member) => member.trim()).filter(Boolean);
  const isWhole = members.length <= 32 && members.every((member) => /^[!-~]+$/.test(member));
  const state = members.join(",");
  return isWhole && state.length > 0 && state.length <= maxState ? state : undefined;
}

/** The header `traceparent` for what is called from this span. */
export function traceparentOf({ traceId, spanId, flags }: TraceContext): string {
  return `00-${traceId}-${spanId}-${flags}`;
}

/** A context as the database keeps it with jobs and events: the two headers, with a space between; at most 568 characters. */
export function storedTrace(context: TraceContext): string {
  return [traceparentOf(context), context.state].filter(Boolean).join(" ");
}

/** The headers that hand a context on; none without a context. */
export function traceHeaders(context: TraceContext | undefined): Record<string, string> {
  if (!context) return {};
  return {
    traceparent: traceparentOf(context),
    ...(context.state && { tracestate: context.state }),
  };
}

/** Random digits, never all zero. */
function randomHex(digits: 16 | 32): string {
  // The first half of a version 4 UUID holds its version, so it is never zero; the variant does the same for the second.
  const uuid = crypto.randomUUID().replaceAll("-", "");
  return digits === 32 ? uuid : uuid.slice(16);
}
