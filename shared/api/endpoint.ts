/**
 * An endpoint is one declaration: who may call it, what it takes, what it answers, and a `run` of a
 * few lines that hands the work to one database call.
 */
import type { z } from "zod";
import type { Access } from "./access.ts";
import type { CsvBody, CsvFile } from "./csv/read.ts";
import type { Database } from "../db/db.ts";
import type { ErrorCode } from "../errors/errors.ts";
import type { Language, MessageKey } from "../i18n/index.ts";
import type { ListStep, listStep } from "./cursor.ts";
import { listOf } from "./list-declaration.ts";

type Schema = z.ZodType;
type Output<S> = S extends Schema ? z.output<S> : Record<never, never>;

export interface Run<P, Q, B> {
  db: Database;
  params: Output<P>;
  query: Output<Q>;
  body: Output<B>;
  /** The fields of a list's rows or of a detail that are asked for (`fields=`); undefined: all. The answer is cut to them. */
  fields?: readonly string[];
  /** The caller's language. Before the first answer of the database nobody knows the tenant's: ask when it is needed. */
  language(): Language;
  /** The body's bytes, of endpoints with `rawBody`. */
  raw: Uint8Array;
  /** The lines of the file, of endpoints with `csv`. */
  file: CsvFile;
  /** The request as it came, for what the declaration cannot say. */
  request: Request;
  requestId: string;
  /** The Idempotency-Key, for endpoints that handle it themselves (`idempotency: "handler"`). */
  idempotencyKey: string | undefined;
  /** Keeps the process alive until the work ends; the answer does not wait for it. */
  waitUntil(work: Promise<unknown>): void;
}

/** The result of `run`: the body beside `success` and `message`, or a whole response. */
export type Result = Answer | Response;

export interface Answer extends Record<string, unknown> {
  [status]?: number;
  [messageKey]?: string;
  [replayed]?: boolean;
  [listStep]?: ListStep;
}

/** Put under this key, a number is the HTTP status of this one answer. */
export const status: unique symbol = Symbol("status");
/** Put under this key, a word is the message key of this one answer. */
export const messageKey: unique symbol = Symbol("message");
/** Put under this key, true says that the answer is that of an earlier call with the same Idempotency-Key. */
export const replayed: unique symbol = Symbol("replayed");

export interface Endpoint<
  P extends Schema | undefined = Schema | undefined,
  Q extends Schema | undefined = Schema | undefined,
  B extends Schema | undefined = Schema | undefined,
> {
  method: "get" | "post" | "put" | "patch" | "delete";
  /** Path inside the function, without its name: `/cod-collections/:id/receipt`. */
  path: string;
  summary: string;
  access: Access;
  /** Only people do this, and the system: a company's API key is refused, whatever its scopes. */
  person?: true;
  /** A settings group of the tenant whose `enabled` must be true; asked before the input is looked at. */
  feature?: "transfer_manifest";
  /** `required` unless said otherwise; `path`: the `:tenantId` of the path; `none`: outside any tenant. */
  tenant?: "required" | "optional" | "path" | "none";
  params?: P;
  query?: Q;
  body?: B;
  /**
   * Bytes of a body that is to be proven before it is read: `run` gets them as `raw`, and `body` is only what
   * the API reference shows.
   */
  rawBodyMaxBytes?: number;
  /** The body is a file of lines, each validated by itself: `run` gets them as `file`. */
  csv?: CsvBody;
  response: Schema | "pdf" | "csv" | "openmetrics";
  /** Success status; 200 unless said otherwise. */
  status?: 200 | 201 | 202;
  /** Another success status that single answers have, as `[status]` of the result. */
  otherStatus?: 200 | 201 | 202;
  /** Text of `message`; `{ literal }` where the interface documents the key itself. */
  message?: MessageKey | { literal: string };
  /** The codes this endpoint adds to the common ones. */
  errors?: readonly ErrorCode[];
  /**
   * Idempotency-Key on writes: used if sent (`optional`, the default), `required`, or left to the endpoint's own
   * handler because the call takes several transactions (`handler`).
   */
  idempotency?: "optional" | "required" | "handler";
  /** Code of "same key, other input" where the interface names one. */
  idempotencyConflictCode?: ErrorCode;
  /** The row whose version answers carry as ETag, and which a change with If-Match must find unchanged. */
  version?: VersionedRow;
  /** Refusals carry their text and no `code`: the interface keeps this endpoint's keys to itself. */
  omitErrorCode?: true;
  /** Answers hold a secret or a signed address, which nobody on the way may keep. */
  confidential?: true | ((query: URLSearchParams) => boolean);
  /** Not for clients: left out of the API reference. */
  internal?: true;
  run(context: Run<P, Q, B>): Promise<Result>;
}

/** A row of a table with `updated_at`: by an id of the path, the tenant's only one, or the caller's own. */
export interface VersionedRow {
  table: string;
  column: string;
  /** The path parameter that names it. */
  param?: string;
}

/** The row a path is about: `row("delivery.addresses", "address_id")`; without a parameter, the tenant's only one. */
export function versionedBy(table: string, param?: string, column = "id"): VersionedRow {
  return { table, column: param ? column : "tenant_id", param };
}

/** The caller's own row of a table whose ids are people's. */
export function versionedByCaller(table: string): VersionedRow {
  return { table, column: "id" };
}

// deno-lint-ignore no-explicit-any -- run's parameter is contravariant, so a list of endpoints needs it
export type AnyEndpoint = Endpoint<any, any, any>;

/** Declares an endpoint; `body`, `query` and `params` of `run` are typed by the schemas. */
export function endpoint<
  P extends Schema | undefined = undefined,
  Q extends Schema | undefined = undefined,
  B extends Schema | undefined = undefined,
>(declaration: Endpoint<P, Q, B>): Endpoint<P, Q, B> {
  return declaration;
}

/** True when the endpoint changes nothing; its transaction is read-only. */
export function readsOnly(endpoint: AnyEndpoint): boolean {
  return endpoint.method === "get";
}

/** The refusals of a file as a whole. */
const csvCodes: readonly ErrorCode[] = [
  "invalid_csv",
  "csv_empty",
  "csv_too_long",
  "unknown_column",
  "duplicate_column",
  "missing_column",
];

/** The codes that follow from what an endpoint declares, beside its own and the common ones. */
export function impliedCodes(endpoint: AnyEndpoint): ErrorCode[] {
  const { access, person, feature, idempotencyConflictCode, version, query } = endpoint;
  const codes: (string | undefined | false)[] = [
    access.errorCode,
    person && "api_key_not_a_person",
    feature && `${feature}_disabled`,
    idempotencyConflictCode,
    !readsOnly(endpoint) && (version ? "version_conflict" : "precondition_not_supported"),
    listOf(query)?.columns && "invalid_column_filters",
    listOf(query)?.changes && "invalid_cursor",
    ...(endpoint.csv ? csvCodes : []),
  ];
  return codes.filter((code) => code) as ErrorCode[];
}
