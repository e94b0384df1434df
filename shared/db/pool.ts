/**
 * The connections of one process. Two faults of the driver are shut out here, others in `driver.ts`:
 *  - Its writes can end the process. Never more statements are under way than there are connections, so nothing is ever
 *    pipelined.
 *  - After a connection broke, a later statement on it can be given the earlier one's error. Any
 *    failure of a connection retires the whole pool before its place is given away.
 */
import type postgres from "postgres";
import { databaseAnswerMs, databasePool, databaseWaitMs } from "../runtime/env.ts";
import { AppError } from "../errors/errors.ts";
import { log } from "../runtime/log.ts";
import { count, observe } from "../runtime/metrics.ts";
import { neededSchema, version } from "../runtime/version.ts";
import { createSemaphore } from "./semaphore.ts";

/** An answer that belongs to another statement. Never shown to anybody. */
export class ResponseMismatchError extends Error {}

/** No connection of a pool has reached the server. */
class UnreachedError extends Error {}

/** The refusal that asks to repeat: nothing was done, or doing it twice is doing it once. */
export const unavailable = () => new AppError("service_unavailable");

type Driver = typeof import("./driver.ts");
/** Loaded by the first call: a process that starts has no use for it yet. */
let driver: Driver | undefined;

/** Supavisor says it in the field alone that PostgreSQL translates; the driver's types do not name both. */
function isFatal(error: postgres.PostgresError): boolean {
  const { severity, severity_local } = error as { severity?: string; severity_local?: string };
  return /^(FATAL|PANIC)$/.test(severity ?? severity_local ?? "");
}

/** True when the connection failed rather than the statement: the server never gave its verdict. */
export function isConnectionFailure(error: unknown): boolean {
  if (error instanceof AppError) return false;
  if (!driver?.isOfServer(error)) return true;
  const { code } = error;
  // A pooler's own errors are XX000, as those of a server that is broken; such a one ends the connection.
  if (isFatal(error)) return true;
  // 28: the role was not let in, as while its password is changed; 3D000: the database is not there.
  return code.startsWith("08") || code.startsWith("28") || /^57P0[1-5]$/.test(code) ||
    code === "25P03" || code === "3D000";
}

/** True of a failed connection where the statement never came to the server: none was opened, or the pooler had none to give. */
export function isUnsent(error: unknown): boolean {
  if (error instanceof UnreachedError) return true;
  const { message } = error as Error;
  return /^(CONNECT_TIMEOUT|ECONNREFUSED|ENOTFOUND|28...|3D000|53300|57P03)$/.test(codeOf(error)) ||
    /^\((EMAXCONN|ECHECKOUTTIMEOUT)/.test(message);
}

interface Pool {
  sql: postgres.Sql;
  retired: boolean;
  /** Resolves once the server has answered with a schema that is new enough; asked once a pool, within `maxConnectMs`. */
  reached?: Promise<unknown>;
  /** The server has answered. */
  isReached: boolean;
}

/** How long opening a connection may take, the first and each further one: somebody waits for it. */
const maxConnectMs = 3_000;

function reach(pool: Pool): Promise<unknown> {
  return pool.reached ??= new Promise<string>((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error("the database did not answer in time")),
      maxConnectMs,
    );
    readSchemaVersion(pool.sql).then(resolve, reject).finally(() => clearTimeout(timer));
  }).then((schema) => {
    pool.isReached = true;
    // Asked again by the next request: a migration may have run by then.
    if (schema < neededSchema) pool.reached = undefined;
    requireSchema(schema);
  });
}

/** The version of the schema (sql/base/engine/version.sql), empty where it is older than the question. */
export async function readSchemaVersion(sql: postgres.Sql): Promise<string> {
  try {
    const [row] = await sql.unsafe("select private.schema_version() as version");
    return row.version;
  } catch (error) {
    const { code } = error as postgres.PostgresError;
    // undefined_function, invalid_schema_name
    if (code === "42883" || code === "3F000") return "";
    throw error;
  }
}

let isOutdatedLogged = false;

/** Refuses to work on a schema that was made for older functions. Fails: schema_outdated. */
function requireSchema(schema: string): void {
  if (schema >= neededSchema) return;
  if (!isOutdatedLogged) {
    isOutdatedLogged = true;
    log("error", "schema_outdated", {
      version,
      schema,
      needed_schema: neededSchema,
      to_do: "apply the migrations: npx supabase db push --remote",
    });
  }
  throw new AppError("schema_outdated", { schema });
}

function openPool({ connect }: Driver): Pool {
  const pool: Pool = {
    retired: false,
    isReached: false,
    sql: connect(maxConnectMs / 1000, () => pool.isReached),
  };
  return pool;
}

let current: Pool | undefined;
const places = createSemaphore(databasePool, databaseWaitMs, () => {
  count("barid_database_pool_timeouts_total", {});
  return unavailable();
});

/** The first line of the page about it (docs/runbooks.md). */
const toDo =
  "Look whether the project's database is running (dashboard, Database), then whether `BARID_DB_URL` names it.";
/** True once in ten seconds: every request that comes meanwhile finds the same. */
function onceInTenSeconds(): () => boolean {
  let last = -Infinity;
  return () => {
    if (performance.now() - last < 10_000) return false;
    last = performance.now();
    return true;
  };
}
const isUnreachableDue = onceInTenSeconds();
const isFullDue = onceInTenSeconds();

/** One line in ten seconds. */
export function logUnreachable(error: unknown): void {
  if (!isUnreachableDue()) return;
  log("error", "database_unreachable", { to_do: toDo, error: String(error) });
}

/**
 * read_only_sql_transaction, which a hosted database answers to every change while its disk is nearly full, and disk_full:
 * nothing was done, and nothing is wrong with the call.
 */
const isFull = (code: string) => code === "25006" || code === "53100";

/** Says it once in ten seconds, and opens new connections: those of before stay read-only when the database no longer is. */
function reportFull(pool: Pool, error: unknown): void {
  if (!isFullDue()) return;
  log("error", "database_full", {
    to_do: "Look at the disk of the project's database (dashboard, Database): make it larger.",
    error: String(error),
  });
  retire(pool, error);
}

/** Sets a pool aside for good; what is under way there may end. */
function retire(pool: Pool, why: unknown): void {
  if (pool.retired) return;
  pool.retired = true;
  if (pool === current) current = undefined;
  if (!pool.isReached) logUnreachable(why);
  log("warn", "database_pool_retired", { why: String(why) });
  // Statements still under way there get their own time to end; the connections close after them.
  pool.sql.end({ timeout: 20 }).catch((error) =>
    log("warn", "database_pool_end", { error: String(error) })
  );
}

/**
 * Does work on a free connection; waits for one, at most `databaseWaitMs`. `whose`: the connections are shared fairly
 * among those who are named here; the process's own work names nobody.
 */
export async function withConnection<T>(
  work: (sql: postgres.Sql) => Promise<T>,
  whose?: string,
): Promise<T> {
  driver ??= await import("./driver.ts");
  const began = performance.now();
  const leave = await places.acquire(whose);
  observe("barid_database_pool_wait_seconds", {}, (performance.now() - began) / 1000);
  const pool = current ??= openPool(driver);
  try {
    await reach(pool).catch((error) => {
      if (error instanceof AppError) throw error;
      // Whatever the reason, such as that all its connections are taken: the next call tries anew.
      retire(pool, error);
      throw classifyTransientError(error) ? new UnreachedError(String(error)) : unavailable();
    });
    return await answerOf(work(pool.sql));
  } catch (error) {
    if (isConnectionFailure(error)) retire(pool, error);
    else if (isFull(codeOf(error))) reportFull(pool, error);
    throw error;
  } finally {
    leave();
  }
}

/** The server has ended every statement by then: an answer that has not come was lost on its way, as poolers can do. */
async function answerOf<T>(answer: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const never = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`no answer in ${databaseAnswerMs} ms`)),
      databaseAnswerMs,
    );
  });
  try {
    return await Promise.race([answer, never]);
  } finally {
    clearTimeout(timer);
  }
}

const codeOf = (error: unknown): string => (error as { code?: string }).code ?? "";

/**
 * The reason why a statement does not end for now. lost: its connection broke, or the answer is another statement's.
 * clash: it met another one and was undone. busy: it waited too long for a lock, was stopped, or found no room, and was
 * undone.
 */
export function classifyTransientError(error: unknown): "lost" | "clash" | "busy" | undefined {
  if (error instanceof AppError) return;
  if (isConnectionFailure(error)) return "lost";
  const code = codeOf(error);
  if (code === "40001" || code === "40P01") return "clash";
  if (code === "55P03" || code === "57014" || code.startsWith("53") || isFull(code)) return "busy";
}
