/**
 * Endpoints to HTTP: the only place that knows Hono. Order of a request, as clients are promised:
 * language, token, tenant, access, feature gate, input, work, envelope.
 */
import { Hono } from "hono";
import { identify } from "./actor.ts";
import { fairnessKeyOf, isReachable, openDatabase } from "../db/db.ts";
import type { AnyEndpoint, Result, Run } from "../api/endpoint.ts";
import { AppError, statusOf } from "../errors/errors.ts";
import { isLanguage, type Language } from "../i18n/index.ts";
import { type JobHandlers, runJobs, trackRequest } from "../db/jobs.ts";
import { describeError, log, type Trace, traced } from "../runtime/log.ts";
import { preflightHeaders, publicHeaders, refuse, respond } from "./reply.ts";
import { enforceRateLimit } from "./rate-limit.ts";
import { claimsOf, keyOf, readInput, ruleOf, sentKey, type Started, started } from "./request.ts";
import { triggerWebhookDispatch } from "../outbound/webhook-dispatch.ts";
import { type Keyset, nextCursor } from "../api/cursor.ts";

export type FunctionName =
  | "delivery"
  | "warehousing"
  | "storefront"
  | "tenants"
  | "system"
  | "carriers"
  | "webhooks"
  | "payment";

/** Endpoints that are loaded together, the first time a path with one of their first segments is asked for. */
export interface Feature {
  readonly segments: readonly string[];
  readonly load: () => Promise<readonly AnyEndpoint[]>;
}

/**
 * Part of a function. A process that starts loads none of them: its start costs the engine, not the
 * schemas of every endpoint. `"*"` takes the paths that no other feature names.
 */
export function feature(segments: string | readonly string[], load: Feature["load"]): Feature {
  return { segments: typeof segments === "string" ? [segments] : segments, load };
}

export interface Served {
  fetch(request: Request): Promise<Response>;
  /** Every endpoint of the function, in the order of the features. */
  endpoints(): Promise<readonly AnyEndpoint[]>;
}

/** The deployed form of one function: `export default serve("delivery", [feature(…), …])`. */
export function serve(
  name: FunctionName,
  features: readonly Feature[],
  loadJobs?: () => Promise<JobHandlers>,
): Served {
  const endpoints = async () => (await Promise.all(features.map(({ load }) => load()))).flat();
  const loaded = new Map<Feature, Promise<Hono>>();
  const appOf = (feature: Feature): Promise<Hono> => {
    const app = loaded.get(feature) ?? feature.load().then((list) => route(name, list, loadJobs));
    loaded.set(feature, app);
    // A failed import must not be remembered for the life of the process.
    app.catch(() => loaded.delete(feature));
    return app;
  };

  const app = new Hono({ getPath: (request) => pathOf(name, request) });
  app.options("*", () => new Response(null, { status: 204, headers: preflightHeaders }));
  app.get("/health", async () => {
    const healthy = await isReachable();
    return Response.json({ success: healthy, function: name, database: healthy ? "up" : "down" }, {
      status: healthy ? 200 : 503,
      headers: { ...publicHeaders, "cache-control": "no-store" },
    });
  });
  let description: Promise<string> | undefined;
  const describe = async () => {
    const { describeFunction } = await import("./openapi.ts");
    return JSON.stringify(describeFunction(name, await endpoints()));
  };
  // Anybody may read it, so it is made once.
  app.get("/openapi.json", async () => {
    description ??= describe().catch((error) => {
      description = undefined;
      throw error;
    });
    const headers = {
      ...publicHeaders,
      "content-type": "application/json",
      "cache-control": "public, max-age=300",
    };
    return new Response(await description, { headers });
  });
  if (loadJobs) {
    app.post("/internal/jobs", async (c) => {
      const actor = await identify(c.req.raw.headers).catch(() => undefined);
      if (actor?.kind !== "service") {
        return refuseUnserved(name, c.req.raw, new AppError("unauthorized"));
      }
      return Response.json({ success: true, ...await runJobs(await loadJobs()) }, {
        headers: { "cache-control": "no-store" },
      });
    });
  }
  app.all("*", async (c) => {
    const segment = c.req.path.split("/")[1];
    const feature = features.find(({ segments }) => segments.includes(segment)) ??
      features.find(({ segments }) => segments.includes("*"));
    if (!feature) return refuseUnserved(name, c.req.raw, new AppError("not_found"));
    try {
      return await (await appOf(feature)).fetch(c.req.raw);
    } catch (error) {
      return refuseUnserved(name, c.req.raw, error);
    }
  });
  return { fetch: async (request) => await app.fetch(request), endpoints };
}

/** The routes of one feature. */
function route(
  name: FunctionName,
  endpoints: readonly AnyEndpoint[],
  loadJobs?: () => Promise<JobHandlers>,
): Hono {
  const app = new Hono({ getPath: (request) => pathOf(name, request) });
  const ordered = [...endpoints].sort(staticFirst);
  for (const endpoint of ordered) {
    app.on(
      endpoint.method.toUpperCase(),
      endpoint.path,
      (c) => trackRequest(() => answer(name, endpoint, c.req.raw, c.req.param(), loadJobs)),
    );
  }
  for (const path of new Set(ordered.map((endpoint) => endpoint.path))) {
    const methods = ordered.filter((endpoint) => endpoint.path === path).map((e) => e.method);
    app.all(path, (c) => {
      const response = refuseUnserved(name, c.req.raw, new AppError("method_not_allowed"));
      response.headers.set("allow", methods.join(", ").toUpperCase());
      return response;
    });
  }
  app.notFound((c) => refuseUnserved(name, c.req.raw, new AppError("not_found")));
  return app;
}

/** Paths answer with and without the function's own name in front, which gateways keep or drop. */
function pathOf(name: string, request: Request): string {
  let rest = new URL(request.url).pathname;
  for (let i = 0; i < 2 && (rest === `/${name}` || rest.startsWith(`/${name}/`)); i++) {
    rest = rest.slice(name.length + 1);
  }
  return rest.length > 1 ? rest.replace(/\/+$/, "") : "/";
}

/** Literal segments before parameters, since the first match is taken: `/market/create` before `/market/:id`. */
function staticFirst(a: AnyEndpoint, b: AnyEndpoint): number {
  const left = a.path.split("/");
  const right = b.path.split("/");
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const difference = Number(left[i].startsWith(":")) - Number(right[i].startsWith(":"));
    if (difference) return difference;
  }
  return right.length - left.length;
}

function answer(
  name: FunctionName,
  endpoint: AnyEndpoint,
  request: Request,
  params: Record<string, string>,
  loadJobs?: () => Promise<JobHandlers>,
): Promise<Response> {
  const start = started(request, name);
  const path = endpoint.path === "/" ? "" : endpoint.path;
  const trace: RequestTrace = {
    request_id: start.requestId,
    client_request_id: start.clientRequestId,
    operation: `${endpoint.method.toUpperCase()} /${name}${path}`,
  };
  return traced(trace, () => answerTraced(name, endpoint, start, trace, params, loadJobs));
}

async function answerTraced(
  name: FunctionName,
  endpoint: AnyEndpoint,
  start: Started,
  trace: RequestTrace,
  params: Record<string, string>,
  loadJobs?: () => Promise<JobHandlers>,
): Promise<Response> {
  const { request } = start;
  let tenantLanguage: string | null = null;
  try {
    const actor = endpoint.access.publicAccess ? undefined : await identify(request.headers);
    const claims = claimsOf(actor, endpoint, start, params, trace.operation);
    trace.tenant = claims.asked_tenant_id ?? claims.tenant_id;
    await enforceRateLimit(actor, endpoint, request, fairnessKeyOf(claims));
    const db = openDatabase(
      claims,
      ruleOf(endpoint, params, request),
      keyOf(endpoint, request),
      request.signal,
    );
    const language = (): Language =>
      start.asked ?? (isLanguage(db.seen.language) ? db.seen.language : "en");
    let context: Run<undefined, undefined, undefined> & { ignored: string[] };
    try {
      context = {
        db,
        ...await readInput(endpoint, start, params),
        language,
        request,
        requestId: start.requestId,
        idempotencyKey: sentKey(request),
        waitUntil: keepAlive,
      };
    } catch (wrongInput) {
      // A caller without access must not learn whether the input was right.
      await db.check().finally(() => trace.api_key = db.seen.apiKey ?? undefined);
      tenantLanguage = db.seen.language;
      throw wrongInput;
    }
    const result = await work(name, endpoint, context).catch(async (error) => {
      const unknown = !db.seen.asked || (!start.asked && !db.seen.language);
      if (unknown && speaksNoLanguage(error)) await db.check();
      throw error;
    }).finally(() => {
      tenantLanguage = db.seen.language;
      // Of an API key only the database knows the tenant.
      trace.tenant ??= db.seen.tenant ?? undefined;
      trace.api_key = db.seen.apiKey ?? undefined;
    });
    if (db.seen.jobs && loadJobs) keepAlive(loadJobs().then(runJobs));
    if (db.seen.events) keepAlive(triggerWebhookDispatch());
    const response = await respond(endpoint, result, language(), start, {
      version: db.seen.version,
      ignored: context.ignored,
    });
    if (db.seen.replayed) response.headers.set("idempotency-replayed", "true");
    logRequest(start, response.status);
    return response;
  } catch (error) {
    const response = refuse(error, start, tenantLanguage, endpoint);
    logRequest(start, response.status);
    return response;
  }
}

/** The endpoint's answer; of a list with keyset pagination, the file or the next cursor. */
async function work(
  name: FunctionName,
  endpoint: AnyEndpoint,
  context: Run<undefined, undefined, undefined>,
): Promise<Result> {
  const run = () => endpoint.run(context as never);
  const { keyset } = context.query as { keyset?: Keyset };
  // An endpoint that always returns a file pages by itself.
  if (!keyset || endpoint.response === "csv") return await run();
  if (keyset.file) {
    const { exportList } = await import("../api/csv/export.ts");
    return await exportList(name, endpoint, keyset, run);
  }
  return { ...await run(), ...nextCursor(keyset) };
}

/**
 * A refusal that a constraint gave comes without the tenant's language, which has to be asked for; one that was given
 * before the database was asked, without knowing whether the caller may call this at all.
 */
function speaksNoLanguage(error: unknown): boolean {
  return error instanceof AppError && error.language === undefined && statusOf(error.code) < 500;
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
function refuseUnserved(name: FunctionName, request: Request, error: unknown): Response {
  const start = started(request, name);
  const trace = {
    request_id: start.requestId,
    client_request_id: start.clientRequestId,
    operation: `${request.method} /${name}/*`,
  };
  return traced(trace, () => {
    const response = refuse(error, start);
    logRequest(start, response.status);
    return response;
  });
}

function logRequest(start: Started, code: number): void {
  log(code >= 500 ? "error" : "info", "request", {
    status: code,
    ms: Math.round((performance.now() - start.at) * 10) / 10,
  });
}

/** Errors that were logged already: many requests may wait for the same work behind them. */
const loggedErrors = new WeakSet<object>();

function keepAlive(work: Promise<unknown>): void {
  const guarded = work.catch((error) => {
    if (loggedErrors.has(error)) return;
    loggedErrors.add(error);
    log("error", "background_failed", describeError(error));
  });
  const runtime =
    (globalThis as { EdgeRuntime?: { waitUntil(work: Promise<unknown>): void } }).EdgeRuntime;
  runtime?.waitUntil(guarded);
}
