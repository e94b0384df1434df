/** Responses to the client: envelopes, refusals, and the headers every answer carries. */
import {
  type Answer,
  type AnyEndpoint,
  impliedCodes,
  messageKey,
  readsOnly,
  replayed,
  type Result,
  status,
} from "../api/endpoint.ts";
import { withFields, wrongField } from "../api/fields.ts";
import { JsonText } from "../db/json-text.ts";
import { strict } from "../runtime/env.ts";
import {
  AppError,
  commonCodes,
  type ErrorCode,
  publicFieldsOf,
  statusOf,
} from "../errors/errors.ts";
import { isLanguage, type Language, refusalText, translate } from "../i18n/index.ts";
import { describeError, log } from "../runtime/log.ts";
import type { Started } from "./request.ts";
import { etagOf, matchesEtag } from "./etag.ts";

/** The headers of every answer. */
export const publicHeaders: Record<string, string> = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers":
    "date, etag, x-request-id, x-api-version, idempotency-replayed, retry-after, content-disposition, x-ignored",
  "x-content-type-options": "nosniff",
};
export const preflightHeaders: Record<string, string> = {
  ...publicHeaders,
  "access-control-allow-methods": "GET, POST, PUT, PATCH, DELETE, OPTIONS",
  "access-control-allow-headers":
    "authorization, apikey, content-type, idempotency-key, if-match, if-none-match, accept-language, x-client-info, x-request-id, x-api-key, x-region, traceparent, tracestate, baggage",
  "access-control-max-age": "86400",
};

/**
 * The answer of a run: its fields beside `success` and `message`, or the response it made itself. What is read
 * carries an ETag, and is not sent again to who has it.
 */
export function respond(
  endpoint: AnyEndpoint,
  result: Result,
  language: Language,
  start: Started,
  { version, ignored, fields, ...engine }: {
    version: string | null;
    replayed: boolean;
    ignored: readonly string[];
    /** The fields of its rows that are asked for; undefined: all. */
    fields?: readonly string[];
  },
): Response {
  const headers = headersOf(start, endpoint);
  if (engine.replayed || (!(result instanceof Response) && result[replayed])) {
    headers["idempotency-replayed"] = "true";
  }
  if (result instanceof Response) {
    for (const [header, value] of Object.entries(headers)) result.headers.set(header, value);
    // A file has no place for it. Names are the caller's own, so whatever ends a header is escaped.
    if (ignored.length) {
      result.headers.set("x-ignored", ignored.map(encodeURIComponent).join(", "));
    }
    return result;
  }
  const literal = typeof endpoint.message === "object" ? endpoint.message.literal : undefined;
  const key = result[messageKey] ??
    (typeof endpoint.message === "string" ? endpoint.message : defaultMessage(endpoint));
  if (strict) requireDeclared(endpoint, parsed(result), fields);
  const code = result[status] ?? endpoint.status ?? 200;
  const text = textOf({
    success: true,
    message: literal ?? translate(language, key, result),
    ...(fields ? withFields(endpoint, parsed(result), fields) : result),
    ...(ignored.length && { ignored }),
  });
  if (readsOnly(endpoint) && code === 200) {
    const tag = etagOf(text, version);
    const unchanged = matchesEtag(start.request, tag);
    headers.etag = tag;
    return unchanged ? new Response(null, { status: 304, headers }) : json(text, 200, headers);
  }
  if (version !== null) headers.etag = `"${version}"`;
  return json(text, code, headers);
}

/** A body as JSON; `data` that is JSON already is put in as it is. */
function textOf(body: Record<string, unknown>): string {
  if (!(body.data instanceof JsonText)) return JSON.stringify(body);
  const { data, ...rest } = body;
  return `${JSON.stringify(rest).slice(0, -1)},"data":${data.text}}`;
}

/** An answer whose `data` can be looked into. */
function parsed(result: Answer): Answer {
  return result.data instanceof JsonText ? { ...result, data: result.data.parse() } : result;
}

/** Throws when an answer is not what its endpoint declares. */
function requireDeclared(
  endpoint: AnyEndpoint,
  result: Result,
  fields: readonly string[] | undefined,
): void {
  if (typeof endpoint.response === "string") return;
  const wrong = fields
    ? wrongField(endpoint, result, fields)
    : endpoint.response.safeParse(result).error?.message;
  if (wrong) throw new Error(`response differs from its schema: ${wrong}`);
}

function json(text: string, status: number, headers: Record<string, string>): Response {
  return new Response(text, {
    status,
    headers: { ...headers, "content-type": "application/json" },
  });
}

function defaultMessage(endpoint: AnyEndpoint): string {
  if (endpoint.status === 201) return "done_created";
  return {
    get: "done_retrieved",
    post: "done",
    put: "done_updated",
    patch: "done_updated",
    delete: "done_deleted",
  }[
    endpoint.method
  ];
}

/**
 * A refusal in the caller's language, or 500 for what should never happen: that is logged, not shown, and with the
 * endpoint's path, since the one that was sent may have a token in it.
 * In strict mode a code that the endpoint does not declare is such a thing too.
 */
export function refuse(
  error: unknown,
  start: Started,
  tenantLanguage?: string | null,
  endpoint?: AnyEndpoint,
): Response {
  if (!(error instanceof AppError)) {
    log("error", "request_failed", { path: endpoint?.path, ...describeError(error) });
  }
  const refusal = error instanceof AppError ? error : new AppError("internal_server_error");
  const { code, params } = refusal;
  if (strict && endpoint && error instanceof AppError && !declares(endpoint, code)) {
    log("error", "undeclared_error", { path: endpoint.path, code });
    return refuse(
      new Error(`${endpoint.method} ${endpoint.path} does not declare ${code}`),
      start,
      tenantLanguage,
      endpoint,
    );
  }
  const language = start.asked ?? [tenantLanguage, refusal.language].find(isLanguage) ?? "en";
  const shown = Object.fromEntries(
    publicFieldsOf(code).filter((field) => params[field] !== undefined).map((
      field,
    ) => [field, params[field]]),
  );
  const headers = headersOf(start, endpoint);
  if (code === "version_conflict") headers.etag = `"${params.current_version}"`;
  if (code === "rate_limited") headers["retry-after"] = String(params.retry_after ?? 1);
  // Nobody should repeat by itself what may have been done.
  if (statusOf(code) === 503 && code !== "outcome_unknown") headers["retry-after"] = "1";
  const message = refusalText(language, code, params);
  const key = endpoint?.omitErrorCode ? {} : { code };
  return Response.json({ success: false, ...key, message, ...shown }, {
    status: statusOf(code),
    headers,
  });
}

function declares(endpoint: AnyEndpoint, code: ErrorCode): boolean {
  return commonCodes.includes(code) || (endpoint.errors?.includes(code) ?? false) ||
    impliedCodes(endpoint).includes(code);
}

/**
 * A shared cache keeps nothing that somebody's token or key was needed for, and a browser asks again with the ETag; what
 * holds a secret or a signed address is kept by nobody. An answer depends on who asks and in which language.
 */
function headersOf(start: Started, endpoint?: AnyEndpoint): Record<string, string> {
  const isPublic = endpoint?.access.publicAccess === true;
  const { confidential = false } = endpoint ?? {};
  const isConfidential = confidential === true ||
    (confidential !== false && confidential(start.url.searchParams));
  return {
    ...publicHeaders,
    "x-request-id": start.requestId,
    "x-api-version": "1",
    "cache-control": isConfidential ? "no-store" : isPublic ? "no-cache" : "private, no-cache",
    vary: isPublic ? "accept-language" : "authorization, x-api-key, apikey, accept-language",
  };
}
