/** One request from its token to its response and its log line. */
import { identify } from "./actor.ts";
import type { FileTimes } from "../api/csv/times.ts";
import { type Keyset, listStep, nextCursor } from "../api/cursor.ts";
import type { AnyEndpoint, Result, Run } from "../api/endpoint.ts";
import { listOf } from "../api/list-declaration.ts";
import { type Database, openDatabase } from "../db/db.ts";
import { fairnessKeyOf } from "../db/execute.ts";
import { type JobHandlers, runJobs } from "../db/jobs.ts";
import { AppError, statusOf } from "../errors/errors.ts";
import { isLanguage, type Language } from "../i18n/index.ts";
import { saveMetricsSoon } from "../db/save-metrics.ts";
import { triggerWebhookDispatch } from "../outbound/webhook-dispatch.ts";
import { keepAlive } from "../runtime/background.ts";
import { logRequest, type Trace, traced, traceFields } from "../runtime/log.ts";
import { count, observe } from "../runtime/metrics.ts";
import { enforceRateLimit } from "./rate-limit.ts";
import { refuse, respond } from "./reply.ts";
import { claimsOf, keyOf, readInput, ruleOf, sentKey, type Started, started } from "./request.ts";

/** One call of an endpoint. */
interface Call {
  /** The function's name. */
  name: string;
  endpoint: AnyEndpoint;
  start: Started;
  params: Record<string, string>;
  trace: RequestTrace;
}

/** Answers a call of an endpoint; a refusal and a fault are answers too. */
export function answer(
  name: string,
  endpoint: AnyEndpoint,
  request: Request,
  params: Record<string, string>,
  loadJobs?: () => Promise<JobHandlers>,
): Promise<Response> {
  const start = started(request, name);
  const path = endpoint.path === "/" ? "" : endpoint.path;
  const trace = traceOf(start, `${endpoint.method.toUpperCase()} /${name}${path}`);
  return traced(trace, async () => {
    const response = await responseTo({ name, endpoint, start, params, trace }, loadJobs);
    record(start, trace.operation, response.status);
    return response;
  });
}

async function responseTo(
  call: Call,
  loadJobs?: () => Promise<JobHandlers>,
): Promise<Response> {
  const { endpoint, start } = call;
  let db: Database | undefined;
  try {
    db = await openFor(call);
    const { result, ...read } = await perform(call, db);
    const { version, replayed, jobs, events } = db.seen;
    if (jobs && loadJobs) keepAlive(loadJobs().then(runJobs));
    if (events) keepAlive(triggerWebhookDispatch());
    const language = languageOf(start, db);
    return respond(endpoint, result, language, start, { version, replayed, ...read });
  } catch (error) {
    return refuse(error, start, db?.seen.language, endpoint);
  }
}

/** The database as the caller sees it. Refuses a wrong token, and a caller who asks too often. */
async function openFor({ endpoint, start, params, trace }: Call): Promise<Database> {
  const { request } = start;
  const actor = endpoint.access.publicAccess ? undefined : await identify(request.headers);
  const claims = claimsOf(actor, endpoint, start, params, trace.operation);
  trace.tenant = claims.asked_tenant_id ?? claims.tenant_id;
  await enforceRateLimit(actor, endpoint, request, fairnessKeyOf(claims));
  const rule = ruleOf(endpoint, params, request);
  return openDatabase(claims, rule, keyOf(endpoint, request), request.signal);
}

/** Reads the input and does the endpoint's work. */
async function perform(
  { name, endpoint, start, params, trace }: Call,
  db: Database,
): Promise<{ result: Result; ignored: string[]; fields?: readonly string[] }> {
  try {
    const { ignored, refused, ...input } = await readInput(endpoint, start, params);
    const context = {
      ...input,
      db: refused ? db.replayOnly() : db,
      language: () => languageOf(start, db),
      request: start.request,
      requestId: start.requestId,
      idempotencyKey: sentKey(start.request),
      waitUntil: keepAlive,
    };
    const result = await work(name, endpoint, context as Run<undefined, undefined, undefined>)
      .catch((error) => {
        throw refused && isNoReplay(error, endpoint) ? refused : error;
      });
    if (refused && !db.seen.replayed) throw refused;
    return { result, ignored, fields: input.fields };
  } catch (error) {
    // Access comes before the input: a caller without it must not learn whether the input was right.
    const accessUnknown = !db.seen.asked;
    // A refusal that a constraint gave comes without the tenant's language.
    const languageUnknown = !start.asked && !db.seen.language && isRefusalWithoutLanguage(error);
    if (accessUnknown || languageUnknown) await db.check();
    throw error;
  } finally {
    // Of an API key only the database knows the tenant.
    trace.tenant ??= db.seen.tenant ?? undefined;
    trace.api_key = db.seen.apiKey ?? undefined;
  }
}

/** Whether nothing is remembered for this call: it never was made, or with another body. */
function isNoReplay(error: unknown, { idempotencyConflictCode }: AnyEndpoint): boolean {
  const codes = ["validation_failed", "idempotency_conflict", idempotencyConflictCode];
  return error instanceof AppError && codes.includes(error.code);
}

/** The caller's language, or the tenant's as far as the database has named it. */
function languageOf({ asked }: Started, { seen }: Database): Language {
  return asked ?? (isLanguage(seen.language) ? seen.language : "en");
}

function isRefusalWithoutLanguage(error: unknown): boolean {
  return error instanceof AppError && error.language === undefined && statusOf(error.code) < 500;
}

/** The endpoint's answer; of a list that is read by position, the file or the next cursor. */
async function work(
  name: string,
  endpoint: AnyEndpoint,
  context: Run<undefined, undefined, undefined>,
): Promise<Result> {
  const run = (query: unknown): Promise<Result> => endpoint.run({ ...context, query } as never);
  const sent = context.query as { keyset?: Keyset; times?: FileTimes };
  // A list reads no more of its rows than is asked for.
  const query = listOf(endpoint.query) ? { ...sent, fields: context.fields } : sent;
  // An endpoint that always returns a file reads all of its rows by itself.
  if (query.keyset?.file && endpoint.response !== "csv") {
    const { exportList, fileClock } = await import("../api/csv/export.ts");
    return await exportList(
      name,
      endpoint,
      query.keyset,
      (keyset) => run({ ...query, keyset }),
      context.fields,
      await fileClock(context.db, query.times),
    );
  }
  const result = await run(query);
  const step = result instanceof Response ? undefined : result[listStep];
  return step ? { ...result, ...nextCursor(step) } : result;
}

/** The fields of a request's log lines. */
interface RequestTrace extends Trace {
  request_id: string;
  client_request_id?: string;
  operation: string;
  tenant?: string;
  api_key?: string;
}

/** A call that no endpoint takes. Its path is not logged: it may contain anything. */
export function refuseUnserved(name: string, request: Request, error: unknown): Response {
  const start = started(request, name);
  const trace = traceOf(start, `${request.method} /${name}/*`);
  return traced(trace, () => {
    const response = refuse(error, start);
    record(start, `${knownMethod(request.method)} /${name}/*`, response.status);
    return response;
  });
}

function traceOf(start: Started, operation: string): RequestTrace {
  return {
    request_id: start.requestId,
    client_request_id: start.clientRequestId,
    operation,
    ...traceFields(start.trace),
  };
}

/** Logs and counts an answer. */
function record({ name, at }: Started, operation: string, status: number): void {
  const seconds = (performance.now() - at) / 1000;
  logRequest(operation, status, Math.round(seconds * 10_000) / 10);
  count("barid_http_requests_total", { function: name, operation, code: String(status) });
  observe("barid_http_request_duration_seconds", { function: name }, seconds);
  saveMetricsSoon();
}

/** A client may send any word as its method, and each would be a series of its own. */
function knownMethod(method: string): string {
  return ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"].includes(method) ? method : "OTHER";
}
