/**
 * The database as one caller sees it. Every request is one statement, and so one transaction:
 * `private.call` (a core), `private.call_text` (a core with a long answer), `private.read` (a list) or
 * `private.check` (the rule alone) enter as the caller, apply the endpoint's rule and answer.
 *
 * Every answer, a refusal too, carries the id of its statement: the driver can mix them up after a broken
 * connection (see `pool.ts`), and an answer that belongs to another request is worse than none.
 */
import { Buffer } from "node:buffer";
import type postgres from "postgres";
import { acceptKey, isAccepted } from "./api-keys.ts";
import { JsonText } from "./json-text.ts";
import { AppError, type ErrorCode, isErrorCode } from "../errors/errors.ts";
import { databasePrepare } from "../runtime/env.ts";
import { log } from "../runtime/log.ts";
import { neededSchema } from "../runtime/version.ts";
import {
  classifyTransientError,
  logUnreachable,
  readSchemaVersion,
  ResponseMismatchError,
  unavailable,
  withConnection,
} from "./pool.ts";

/** The caller, as the database must know them; see `private.identify`. */
export interface Claims {
  sub?: string;
  tenant_id?: string;
  asked_tenant_id?: string;
  issued_at?: number;
  mailbox?: boolean;
  service?: boolean;
  api_key_hash?: string;
  tenant_mode: "required" | "optional" | "none";
  language?: string;
  request_id: string;
  client_request_id?: string;
  /** The request's place in a trace; see `storedTrace`. */
  trace_context?: string;
  operation: string;
}

/** The endpoint's rule as `private.enter` applies it. */
export interface Rule {
  access: readonly string[];
  denied?: string;
  person?: boolean;
  feature?: string;
  reads_only?: boolean;
  conflict?: string;
  /** The row whose version is returned, and the versions it may have before a change. */
  version?: { table: string; column: string; key?: string; expected?: string[] };
}

interface Answer {
  data: unknown;
  language: string | null;
  tenant: string | null;
  api_key?: string | null;
  replayed?: boolean;
  jobs?: boolean;
  events?: boolean;
  version?: string | null;
  call_id: string;
  total?: number;
}

/** The answer of `private.refusal`: the reason why nothing was done. */
interface Refused {
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

export interface Database {
  /** Calls a core, `area.noun_verb`, and gives back what it returns. */
  call<T = Record<string, unknown>>(core: string, input?: Record<string, unknown>): Promise<T>;
  /** Calls a core that only reads and returns JSON as text. */
  callText(core: string, input?: Record<string, unknown>): Promise<JsonText>;
  /** Runs a list engine's statement, which reads its values from `$1`. */
  read<T>(statement: string, params: Record<string, unknown>): Promise<T>;
  /** Applies the endpoint's rule and nothing else. */
  check(): Promise<void>;
  /** The same caller without the request's Idempotency-Key, for the later steps of a longer call. */
  withoutKey(): Database;
  /** The side results of the calls so far. */
  readonly seen: Readonly<Seen>;
}

interface Seen {
  /** It was asked something, and so knows or refused the caller. */
  asked: boolean;
  /** The engine gave the answer of an earlier call with the same Idempotency-Key. */
  replayed: boolean;
  jobs: boolean;
  events: boolean;
  language: string | null;
  /** The tenant that the caller works in. */
  tenant: string | null;
  /** The id of the API key that the call came with, also when it was refused. */
  apiKey: string | null;
  /** Of the endpoint's row, after the last call. */
  version: string | null;
}

/**
 * The database for one request. `gone`: aborted when the client left. What was not begun by then is not begun any more:
 * the client's repetition may have been answered already, and the client relies on that answer.
 */
export function openDatabase(
  claims: Claims,
  rule: Rule,
  idempotencyKey?: string,
  gone?: AbortSignal,
): Database {
  const seen: Seen = {
    asked: false,
    replayed: false,
    jobs: false,
    events: false,
    language: null,
    tenant: null,
    apiKey: null,
    version: null,
  };
  let begun = false;
  const ask = async (kind: Statement, work: string, input: unknown, key?: string) => {
    seen.asked = true;
    const sent = key === undefined ? claims : { ...claims, idempotency_key: key };
    const answer = await execute(kind, { claims: sent, rule, work, input }, {
      idempotent: Boolean(rule.reads_only) || key !== undefined,
      aborted: () => !begun && gone?.aborted === true,
    }, (answer) => seen.apiKey = answer.api_key ?? null).catch((error) => {
      // A refusal carries the tenant's language as an answer does.
      if (error instanceof AppError && error.language) seen.language = error.language;
      throw error;
    }).finally(() => begun ||= kind !== "check");
    if (claims.api_key_hash) acceptKey(claims.api_key_hash);
    seen.language = answer.language;
    seen.tenant = answer.tenant;
    seen.version = answer.version ?? null;
    seen.replayed ||= answer.replayed ?? false;
    seen.jobs ||= answer.jobs ?? false;
    seen.events ||= answer.events ?? false;
    // A list has its total beside what is shown.
    return answer.total === undefined
      ? answer.data
      : { ...answer.data as object, total: answer.total };
  };
  const database = (key?: string): Database => ({
    seen,
    call: <T>(core: string, input: Record<string, unknown> = {}) =>
      ask("call", coreName(core), input, key) as Promise<T>,
    callText: (core: string, input: Record<string, unknown> = {}) =>
      ask("text", coreName(core), input) as Promise<JsonText>,
    read: <T>(statement: string, params: Record<string, unknown>) =>
      ask("read", statement, params) as Promise<T>,
    check: async () => void await ask("check", "", null),
    withoutKey: () => database(),
  });
  return database(idempotencyKey);
}

function coreName(name: string): string {
  if (!/^[a-z_]+\.[a-z_]+$/.test(name)) throw new Error(`not the name of a core: ${name}`);
  return name;
}

/** The state of the database: whether it answers, and with which version of the schema; null where that is not known. */
export interface DatabaseHealth {
  database: "up" | "down";
  schema: string | null;
  outdated: boolean;
}

/** Asks the database how it is; never fails. */
export async function databaseHealth(): Promise<DatabaseHealth> {
  try {
    const schema = await withConnection(readSchemaVersion);
    return { database: "up", schema, outdated: schema < neededSchema };
  } catch (error) {
    if (error instanceof AppError && error.code === "schema_outdated") {
      return { database: "up", schema: String(error.params.schema) || null, outdated: true };
    }
    logUnreachable(error);
    return { database: "down", schema: null, outdated: false };
  }
}

/**
 * A statement of the engine itself, in nobody's name (claiming jobs, sending webhooks). Values go in as text. One that
 * clashes was undone and is made again. `whose`: the caller who waits for it (`whoseOf`), if one does. Fails with
 * service_unavailable when the database is away or too busy; after a lost connection nobody knows whether it was done.
 */
export const system = <T>(
  statement: string,
  values: (string | number | null)[],
  whose?: string,
): Promise<T> => asEngine(statement, values, 1, whose);

/** The same for a statement that may be repeated: it is, when its connection broke. */
export const repeatable = <T>(statement: string, values: (string | number | null)[]): Promise<T> =>
  asEngine(statement, values, maxLostAttempts);

async function asEngine<T>(
  statement: string,
  values: (string | number | null)[],
  maxAttempts: number,
  whose?: string,
): Promise<T> {
  for (let attempt = 1;; attempt++) {
    try {
      const rows = await withConnection((sql) => sql.unsafe(statement, values), whose);
      return rows[0]?.answer as T;
    } catch (error) {
      const passing = classifyTransientError(error);
      if (!passing) throw error;
      const most = passing === "clash" ? maxClashAttempts : passing === "lost" ? maxAttempts : 1;
      if (attempt >= most) throw unavailable();
      await pause(attempt);
    }
  }
}

type Statement = "call" | "text" | "read" | "check";

/** One value carries the whole request: the driver writes and the server reads a single parameter. */
const statements: Record<Statement, (request: string) => string> = {
  call: (request) =>
    `select private.call(r.q -> 'claims', r.q -> 'rule', r.q ->> 'work', r.q -> 'input') as answer
      from (select ${request}::jsonb as q offset 0) r`,
  text: (request) =>
    `select c.answer, c.data from (select ${request}::jsonb as q offset 0) r,
      private.call_text(r.q -> 'claims', r.q -> 'rule', r.q ->> 'work', r.q -> 'input') c`,
  read: (request) =>
    `select private.read(r.q -> 'claims', r.q -> 'rule', r.q ->> 'work', r.q -> 'input') as answer
      from (select ${request}::jsonb as q offset 0) r`,
  check: (request) =>
    `select private.check(r.q -> 'claims', r.q -> 'rule') as answer
      from (select ${request}::jsonb as q offset 0) r`,
};
const prepared = {
  call: statements.call("$1::text"),
  text: statements.text("$1::text"),
  read: statements.read("$1::text"),
  check: statements.check("$1::text"),
};

/**
 * Without prepared statements the driver asks the server about every parameter before it sends it, one
 * more round trip. So there the request goes inside the statement, as base64: letters, digits, +, / and
 * = are all that can ever stand between the quotes, so nothing in it can end them.
 */
function send(sql: postgres.Sql, kind: Statement, request: string) {
  if (databasePrepare) return sql.unsafe(prepared[kind], [request], { prepare: true });
  const literal = `convert_from(decode('${
    Buffer.from(request).toString("base64")
  }', 'base64'), 'UTF8')`;
  return sql.unsafe(statements[kind](literal));
}

/**
 * Characters that JSON can escape and no text of PostgreSQL holds: NUL, and one half of a character. JSON.stringify
 * escapes halves alone; a backslash of the text itself comes doubled.
 */
const unstorable = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/;

/** A deadlock or a serialization failure is undone and may be tried again; a lost connection once. */
const maxClashAttempts = 5;
const maxLostAttempts = 2;
let calls = 0;
const processId = crypto.randomUUID();

interface Asked {
  claims: Claims;
  rule: Rule;
  work: string;
  input: unknown;
}

interface RetryPolicy {
  /** Doing it twice is doing it once. */
  idempotent: boolean;
  /** Nobody waits for it any more. */
  aborted(): boolean;
}

async function execute(
  kind: Statement,
  { claims, ...asked }: Asked,
  { idempotent, aborted }: RetryPolicy,
  see: (answer: Answer | Refused) => void,
): Promise<Answer> {
  for (let attempt = 1;; attempt++) {
    const callId = `${processId}/${++calls}`;
    const request = JSON.stringify({ claims: { ...claims, call_id: callId }, ...asked });
    if (unstorable.test(request)) throw new AppError("validation_failed", { field: "input" });
    let answer: Answer | Refused;
    try {
      answer = await withConnection(async (sql) => {
        if (aborted()) throw unavailable();
        const rows = await send(sql, kind, request);
        const answer = rows[0]?.answer as Answer | Refused | undefined;
        if (answer?.call_id !== callId) throw new ResponseMismatchError();
        return kind === "text" && !("refused" in answer)
          ? { ...answer, data: new JsonText(rows[0]!.data) }
          : answer;
      }, fairnessKeyOf(claims));
    } catch (error) {
      const verdict = outcomeOf(error);
      const maxAttempts = verdict.kind === "clash"
        ? maxClashAttempts
        : verdict.kind === "lost" && idempotent
        ? maxLostAttempts
        : 1;
      if (attempt < maxAttempts) {
        await pause(attempt);
        continue;
      }
      throw verdict.error;
    }
    see(answer);
    if ("refused" in answer) throw refusalIn(answer);
    return answer;
  }
}

/**
 * Among whom connections are shared: tenants, as the token says. What a caller merely asks for is not believed, and all
 * whom nobody knows yet are one.
 */
export function fairnessKeyOf({ tenant_id, sub, api_key_hash }: Claims): string {
  const key = api_key_hash && isAccepted(api_key_hash) ? api_key_hash : undefined;
  return tenant_id ?? sub ?? key ?? "";
}

interface Outcome {
  /** refused: final. clash: undone, may be repeated. lost: nobody knows whether it happened. */
  kind: "refused" | "clash" | "lost";
  error: unknown;
}

function outcomeOf(error: unknown): Outcome {
  if (error instanceof AppError) return { kind: "refused", error };
  const passing = classifyTransientError(error);
  if (passing) return { kind: passing === "busy" ? "refused" : passing, error: unavailable() };
  return { kind: "refused", error };
}

/** The refusal that the database answered with; an error for what no client should ever be shown. */
function refusalIn({ refused: { state, message, detail, constraint, context } }: Refused): Error {
  if (state === "RULE0") {
    const { language, ...params } = JSON.parse(detail ?? "{}");
    return isErrorCode(message)
      ? new AppError(message, params, language)
      : new Error(`a core refused with ${message}, which is no code`);
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
  if (isErrorCode(constraint)) return new AppError(constraint);
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

function pause(attempt: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20 * 2 ** attempt * (0.5 + Math.random())));
}
