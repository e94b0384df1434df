/** Refusals that the database answers with, as errors that clients are shown. */
import { AppError, type ErrorCode, isErrorCode, paramsOfConstraint } from "../errors/errors.ts";
import { log } from "../runtime/log.ts";

/** The answer of `private.refusal`: the reason why nothing was done. */
export interface Refused {
  refused: {
    state: string;
    message: string;
    detail?: string;
    constraint?: string;
    context?: string;
  };
  api_key?: string | null;
  call_id: string;
}

/** The refusal that the database answered with; an error for what no client should ever be shown. */
export function refusalIn(
  { refused: { state, message, detail, constraint, context } }: Refused,
): Error {
  if (state === "RULE0") {
    // A call of before that refuses with another code by now names it as `newer_code`: functions of before do not know it.
    const { language, newer_code: code = message, ...params } = JSON.parse(detail ?? "{}");
    return isErrorCode(code)
      ? new AppError(code, params, language)
      : new Error(`a core refused with ${code}, which is no code`);
  }
  return refusalOf(state, constraint ?? "", message, context) ??
    new Error(`${state} ${message}${context ? `\n${context}` : ""}`);
}

/**
 * Translates a database error that no core raised: a constraint is named after its error or the size it guards
 * (sql/sizes.sql), else its SQLSTATE says of which kind it is. Undefined for what should never happen.
 */
export function refusalOf(
  state: string,
  constraint: string,
  message: string,
  context?: string,
): AppError | undefined {
  if (isErrorCode(constraint)) return new AppError(constraint, paramsOfConstraint(constraint));
  const sized = /^(.+)_above_(\d+)_bytes$/.exec(constraint);
  if (sized) {
    return new AppError("field_too_large", { field: sized[1], bytes_max: Number(sized[2]) });
  }
  const known = byState(state, constraint);
  if (!known) return undefined;
  log("warn", "refused_by_database", { code: state, message, constraint, context });
  return new AppError(known, { field: constraint || "input" });
}

function byState(code: string, constraint: string): ErrorCode | undefined {
  if (code.startsWith("22") || constraint === "texts_within_bounds") return "validation_failed";
  if (code === "23503") return "invalid_reference";
  if (code === "23505") return "conflict";
  if (code === "42501") return "forbidden";
}
