/** Refusals as errors with their codes. */
import type { ErrorCode } from "../errors/errors.ts";

export type { ErrorCode };

/** A call that Barid refused. */
export class BaridError extends Error {
  override readonly name = "BaridError";
  constructor(
    /** What went wrong; it never changes. Undefined: something between here and Barid answered. */
    readonly code: ErrorCode | undefined,
    /** In the caller's language, for people. */
    message: string,
    /** Of HTTP. */
    readonly status: number,
    /** The whole body: the field that is wrong, and other values that the code has. */
    readonly body: Readonly<Record<string, unknown>>,
    /** The request's id, for Barid's operators. */
    readonly requestId: string | undefined,
  ) {
    super(message);
  }
}

/** What openapi-fetch answers. */
interface Outcome<Data> {
  data?: Data;
  error?: unknown;
  response: Response;
}

/** The body of an answer. Throws BaridError for a refusal. */
export async function unwrap<Data>(call: Promise<Outcome<Data>>): Promise<Data> {
  const { data, error, response } = await call;
  if (response.ok) return data as Data;
  const body = typeof error === "object" && error !== null
    ? error as Record<string, unknown>
    : { message: error };
  throw new BaridError(
    typeof body.code === "string" ? body.code as ErrorCode : undefined,
    typeof body.message === "string" ? body.message : `HTTP ${response.status}`,
    response.status,
    body,
    response.headers.get("x-request-id") ?? undefined,
  );
}

/** Whether an error is a refusal, with one of these codes if any are given. */
export function isRefusal<Code extends ErrorCode>(
  error: unknown,
  ...codes: Code[]
): error is BaridError & { code: Code } {
  return error instanceof BaridError &&
    (codes.length === 0 || (codes as (string | undefined)[]).includes(error.code));
}
