/**
 * The database as one caller sees it. Every request is one statement, and so one transaction:
 * `private.call` (a core), `private.call_text` (a core with a long answer), `private.read` (a list) or
 * `private.check` (the rule alone) enter as the caller, apply the endpoint's rule and answer.
 */
import { acceptKey } from "./api-keys.ts";
import type { JsonText } from "./json-text.ts";
import { AppError } from "../errors/errors.ts";
import { neededSchema } from "../runtime/version.ts";
import {
  type Claims,
  execute,
  maxClashAttempts,
  maxLostAttempts,
  pause,
  type Rule,
  type Statement,
} from "./execute.ts";
import {
  classifyTransientError,
  logUnreachable,
  readSchemaVersion,
  unavailable,
  withConnection,
} from "./pool.ts";

/** The calls that a request makes. */
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
  /**
   * The same caller for what is read before the call that does the work: whatever version the row has, without the request's
   * Idempotency-Key, and so that the work is not begun for a client who has left meanwhile.
   */
  ahead(): Pick<Database, "call">;
  /** The same caller, who gets the answer that is remembered under the request's Idempotency-Key: any call without one is refused. */
  replayOnly(): Database;
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
  const ask = async (
    rule: Rule,
    kind: Statement,
    work: string,
    input: unknown,
    key?: string,
    begins = kind !== "check",
  ) => {
    seen.asked = true;
    const sent = key === undefined ? claims : { ...claims, idempotency_key: key };
    const answer = await execute(kind, { claims: sent, rule, work, input }, {
      idempotent: Boolean(rule.reads_only) || key !== undefined,
      aborted: () => !begun && gone?.aborted === true,
    }, (answer) => seen.apiKey = answer.api_key ?? null).catch((error) => {
      // A refusal carries the tenant's language as an answer does.
      if (error instanceof AppError && error.language) seen.language = error.language;
      throw error;
    }).finally(() => begun ||= begins);
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
  const database = (rule: Rule, key?: string): Database => ({
    seen,
    call: <T>(core: string, input: Record<string, unknown> = {}) =>
      ask(rule, "call", coreName(core), input, key) as Promise<T>,
    callText: (core: string, input: Record<string, unknown> = {}) =>
      ask(rule, "text", coreName(core), input) as Promise<JsonText>,
    read: <T>(statement: string, params: Record<string, unknown>) =>
      ask(rule, "read", statement, params) as Promise<T>,
    check: async () => void await ask(rule, "check", "", null),
    withoutKey: () => database(rule),
    ahead: () => {
      const { version: _, replay_only: __, ...entry } = rule;
      const reads = { ...entry, reads_only: true };
      return {
        call: <T>(core: string, input: Record<string, unknown> = {}) =>
          ask(reads, "call", coreName(core), input, undefined, false) as Promise<T>,
      };
    },
    replayOnly: () => database({ ...rule, replay_only: true }, key),
  });
  return database(rule, idempotencyKey);
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
 * clashes was undone and is made again. `whose`: the caller who waits for it (`fairnessKeyOf`), if one does. Fails with
 * service_unavailable when the database is away or too busy; after a lost connection nobody knows whether it was done.
 */
export const system = <T>(
  statement: string,
  values: (string | number | null)[],
  whose?: string,
): Promise<T> => asEngine(statement, values, 1, whose);

/** The same for a statement that may be repeated: it is, when its connection broke. */
export const repeatable = <T>(
  statement: string,
  values: (string | number | null)[],
  whose?: string,
): Promise<T> => asEngine(statement, values, maxLostAttempts, whose);

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
