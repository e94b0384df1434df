/**
 * The database as one caller sees it. Every request is one statement, and so one transaction:
 * `private.call` (a core), `private.read` (a list) or `private.check` (the rule alone) enter as the
 * caller, apply the endpoint's rule and answer.
 *
 * Two faults of the driver are shut out here:
 *  - Its writes rely on clearImmediate, which does nothing on Deno 2.1, and that ends the process:
 *    `immediates.ts` mends it. Besides, never more statements are under way than there are
 *    connections, so nothing is ever pipelined.
 *  - After a connection broke, a later statement on it can be given the earlier one's error. Any
 *    failure of a connection retires the whole pool before its place is given away, and every answer
 *    and refusal must carry the id of the statement it belongs to.
 */
import "./immediates.ts";
import postgres from "postgres";
import { AppError, type ErrorCode, isErrorCode } from "./errors.ts";
import { databasePool, databasePrepare, databaseUrl, databaseWaitMs } from "./env.ts";
import { log } from "./log.ts";

/** What the database must know of the caller; see `private.identify`. */
export interface Claims {
  sub?: string;
  tenant_id?: string;
  asked_tenant_id?: string;
  service?: boolean;
  api_key_hash?: string;
  tenant_mode: "required" | "optional" | "none";
  language?: string;
  request_id: string;
  operation: string;
}

/** The endpoint's rule as `private.enter` applies it. */
export interface Rule {
  access: readonly string[];
  denied?: string;
  feature?: string;
  reads_only?: boolean;
  conflict?: string;
}

interface Answer {
  data: unknown;
  language: string | null;
  replayed?: boolean;
  jobs?: boolean;
  call_id: string;
}

export interface Database {
  /** Calls a core, `area.noun_verb`, and gives back what it returns. */
  call<T = Record<string, unknown>>(core: string, input?: Record<string, unknown>): Promise<T>;
  /** Runs a list engine's statement, which reads its values from `$1`. */
  read<T>(statement: string, params: Record<string, unknown>): Promise<T>;
  /** Applies the endpoint's rule and nothing else. */
  check(): Promise<void>;
  /** The same caller without the request's Idempotency-Key, for the later steps of a longer call. */
  withoutKey(): Database;
  /** What the calls so far had to tell besides their data. */
  readonly seen: { replayed: boolean; jobs: boolean; language: string | null };
}

/** The database for one request. */
export function openDatabase(claims: Claims, rule: Rule, idempotencyKey?: string): Database {
  const seen = { replayed: false, jobs: false, language: null as string | null };
  const ask = async (kind: Statement, work: string, input: unknown, key?: string) => {
    const sent = key === undefined ? claims : { ...claims, idempotency_key: key };
    const answer = await execute(
      kind,
      sent,
      rule,
      work,
      input,
      Boolean(rule.reads_only) || key !== undefined,
    );
    seen.language = answer.language;
    seen.replayed ||= answer.replayed ?? false;
    seen.jobs ||= answer.jobs ?? false;
    return answer.data;
  };
  const database = (key?: string): Database => ({
    seen,
    call: <T>(core: string, input: Record<string, unknown> = {}) => {
      if (!/^[a-z_]+\.[a-z_]+$/.test(core)) throw new Error(`not the name of a core: ${core}`);
      return ask("call", core, input, key) as Promise<T>;
    },
    read: <T>(statement: string, params: Record<string, unknown>) =>
      ask("read", statement, params) as Promise<T>,
    check: async () => void await ask("check", "", null),
    withoutKey: () => database(),
  });
  return database(idempotencyKey);
}

/** True when the database answers. */
export async function isReachable(): Promise<boolean> {
  try {
    await withConnection((sql) => sql.unsafe("select 1"));
    return true;
  } catch (error) {
    log("warn", "database_unreachable", { error: String(error) });
    return false;
  }
}

/** A statement of the engine itself, outside any request (claiming jobs). Values go in as text. */
export async function system<T>(statement: string, values: (string | number | null)[]): Promise<T> {
  const rows = await withConnection((sql) => sql.unsafe(statement, values));
  return rows[0]?.answer as T;
}

type Statement = "call" | "read" | "check";

const statements: Record<Statement, string> = {
  call:
    "select private.call($1::text::jsonb, $2::text::jsonb, $3::text, $4::text::jsonb) as answer",
  read:
    "select private.read($1::text::jsonb, $2::text::jsonb, $3::text, $4::text::jsonb) as answer",
  check: "select private.check($1::text::jsonb, $2::text::jsonb) as answer",
};

/** A deadlock or a serialization failure is undone and may be tried again; a lost connection once. */
const clashAttemptsMax = 5;
const lostAttemptsMax = 2;
let calls = 0;
const process_id = crypto.randomUUID();

async function execute(
  kind: Statement,
  claims: Claims,
  rule: Rule,
  work: string,
  input: unknown,
  safeToRepeat: boolean,
): Promise<Answer> {
  for (let attempt = 1;; attempt++) {
    const callId = `${process_id}/${++calls}`;
    const values = [JSON.stringify({ ...claims, call_id: callId }), JSON.stringify(rule)];
    if (kind !== "check") values.push(work, JSON.stringify(input ?? null));
    try {
      const rows = await withConnection((sql) =>
        sql.unsafe(statements[kind], values, { prepare: databasePrepare })
      );
      const answer = rows[0]?.answer as Answer | undefined;
      if (answer?.call_id !== callId) throw new ForeignAnswer();
      return answer;
    } catch (error) {
      const verdict = judge(error, callId);
      const attemptsMax = verdict.kind === "clash"
        ? clashAttemptsMax
        : verdict.kind === "lost" && safeToRepeat
        ? lostAttemptsMax
        : 1;
      if (attempt < attemptsMax) {
        await pause(attempt);
        continue;
      }
      throw verdict.error;
    }
  }
}

/** An answer that belongs to another statement. Never shown to anybody. */
class ForeignAnswer extends Error {}

interface Verdict {
  /** refused: final. clash: undone, may be repeated. lost: nobody knows whether it happened. */
  kind: "refused" | "clash" | "lost";
  error: unknown;
}

const unavailable = () => new AppError("service_unavailable");

function judge(error: unknown, callId: string): Verdict {
  if (error instanceof AppError) return { kind: "refused", error };
  if (isConnectionFailure(error)) return { kind: "lost", error: unavailable() };
  const { code = "", message, detail, constraint_name: constraint = "" } =
    error as postgres.PostgresError;
  if (code === "RULE0") {
    const { call_id, language, ...params } = JSON.parse(detail ?? "{}");
    if (call_id !== callId) {
      retire(current, new ForeignAnswer());
      return { kind: "lost", error: unavailable() };
    }
    return {
      kind: "refused",
      error: isErrorCode(message) ? new AppError(message, params, language) : error,
    };
  }
  if (code === "40001" || code === "40P01") return { kind: "clash", error: unavailable() };
  // Waited too long for a lock, or was told to stop: undone, and worth another try later.
  if (code === "55P03" || code === "57014" || code.startsWith("53")) {
    return { kind: "refused", error: unavailable() };
  }
  if (constraint && isErrorCode(constraint)) {
    return { kind: "refused", error: new AppError(constraint as ErrorCode) };
  }
  const known = byState(code);
  if (known) {
    log("warn", "refused_by_database", { code, message, constraint });
    return { kind: "refused", error: new AppError(known, { field: constraint || "input" }) };
  }
  return { kind: "refused", error };
}

function byState(code: string): ErrorCode | undefined {
  if (code.startsWith("22")) return "validation_failed";
  if (code === "23503") return "invalid_reference";
  if (code === "23505") return "conflict";
  if (code === "42501") return "forbidden";
}

function isConnectionFailure(error: unknown): boolean {
  if (error instanceof ForeignAnswer) return true;
  const code = String((error as { code?: unknown })?.code ?? "");
  return !/^[0-9A-Z]{5}$/.test(code) || code.startsWith("08") || /^57P0[1-5]$/.test(code) ||
    code === "25P03";
}

interface Pool {
  sql: postgres.Sql;
  retired: boolean;
  /** Resolves once the server has answered; asked once a pool, within `connectMsMax`. */
  reached?: Promise<unknown>;
}

/** The driver goes on trying to connect for as long as nobody stops it; a client should not wait so long. */
const connectMsMax = 3_000;

function reach(pool: Pool): Promise<unknown> {
  return pool.reached ??= new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error("the database did not answer in time")),
      connectMsMax,
    );
    pool.sql.unsafe("select 1").then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

function openPool(): Pool {
  return {
    retired: false,
    sql: postgres(databaseUrl, {
      max: databasePool,
      prepare: databasePrepare,
      fetch_types: false,
      idle_timeout: 60,
      connect_timeout: 5,
      max_lifetime: 1800,
      onnotice: () => {},
      connection: { application_name: "barid" },
    }),
  };
}

let current = openPool();
let underWay = 0;
const waiting: { take(): void; give(error: Error): void }[] = [];

function retire(pool: Pool, why: unknown): void {
  if (pool.retired) return;
  pool.retired = true;
  if (pool === current) current = openPool();
  log("warn", "database_pool_retired", { why: String(why) });
  // Statements still under way there get their own time to end; the connections close after them.
  pool.sql.end({ timeout: 20 }).catch((error) =>
    log("warn", "database_pool_end", { error: String(error) })
  );
}

async function withConnection<T>(work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  await place();
  const pool = current;
  try {
    await reach(pool);
    return await work(pool.sql);
  } catch (error) {
    if (isConnectionFailure(error)) retire(pool, error);
    throw error;
  } finally {
    const next = waiting.shift();
    if (next) next.take();
    else underWay--;
  }
}

function place(): Promise<void> {
  if (underWay < databasePool) {
    underWay++;
    return Promise.resolve();
  }
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      waiting.splice(waiting.indexOf(entry), 1);
      entry.give(unavailable());
    }, databaseWaitMs);
    const entry = {
      take: () => (clearTimeout(timer), resolve()),
      give: reject,
    };
    waiting.push(entry);
  });
}

function pause(attempt: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20 * 2 ** attempt * (0.5 + Math.random())));
}
