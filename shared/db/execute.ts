/**
 * A request as one statement of the engine, made again where that is safe.
 *
 * Every answer, a refusal too, carries the id of its statement: the driver can mix them up after a broken
 * connection (see `pool.ts`), and an answer that belongs to another request is worse than none.
 */
import { Buffer } from "node:buffer";
import type postgres from "postgres";
import { AppError } from "../errors/errors.ts";
import { databasePrepare } from "../runtime/env.ts";
import { isStorableJson, unstorablePath } from "../schemas/storable.ts";
import { isAccepted } from "./api-keys.ts";
import { JsonText } from "./json-text.ts";
import {
  classifyTransientError,
  isUnsent,
  ResponseMismatchError,
  unavailable,
  withConnection,
} from "./pool.ts";
import { refusalIn, type Refused } from "./refusal.ts";

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
  /** Nothing but an answer that is remembered under the key. */
  replay_only?: boolean;
  /** The row whose version is returned, and the versions it may have before a change. */
  version?: { table: string; column: string; key?: string; expected?: string[] };
}

/** The answer of the engine to what it did. */
export interface Answer {
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

/** The entrances of the engine: a core, a core that answers with text, a list, the rule alone. */
export type Statement = "call" | "text" | "read" | "check";

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

/** A deadlock or a serialization failure is undone and may be tried again; a lost connection once. */
export const maxClashAttempts = 5;
export const maxLostAttempts = 2;
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

/** Asks the engine; `see` gets every answer first, a refusal too. Throws refusals. */
export async function execute(
  kind: Statement,
  { claims, ...asked }: Asked,
  { idempotent, aborted }: RetryPolicy,
  see: (answer: Answer | Refused) => void,
): Promise<Answer> {
  for (let attempt = 1;; attempt++) {
    const callId = `${processId}/${++calls}`;
    const request = JSON.stringify({ claims: { ...claims, call_id: callId }, ...asked });
    if (!isStorableJson(request)) {
      const field = unstorablePath(asked.input)?.join(".") || "input";
      throw new AppError("validation_failed", { field });
    }
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
      const verdict = outcomeOf(error, idempotent);
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

function outcomeOf(error: unknown, idempotent: boolean): Outcome {
  if (error instanceof AppError) return { kind: "refused", error };
  const passing = classifyTransientError(error);
  if (passing === "lost" && !idempotent && !isUnsent(error)) {
    return { kind: "lost", error: new AppError("outcome_unknown") };
  }
  if (passing) return { kind: passing === "busy" ? "refused" : passing, error: unavailable() };
  return { kind: "refused", error };
}

/** Waits before the next attempt, longer each time. */
export function pause(attempt: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20 * 2 ** attempt * (0.5 + Math.random())));
}
