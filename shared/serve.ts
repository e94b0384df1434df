/**
 * Endpoints to HTTP: the only place that knows Hono. Order of a request, as clients are promised:
 * language, token, tenant, access, feature gate, input, work, envelope.
 */
import { Hono } from "hono";
import { type Actor, identify } from "./actor.ts";
import { type Claims, isReachable, openDatabase, type Rule } from "./db.ts";
import {
  type AnyEndpoint,
  messageKey,
  readsOnly,
  type Result,
  type Run,
  status,
} from "./endpoint.ts";
import { strict } from "./env.ts";
import { AppError, commonCodes, type ErrorCode, publicFieldsOf, statusOf } from "./errors.ts";
import { askedLanguage, isLanguage, type Language, translate } from "./i18n/index.ts";
import { accept, readJson } from "./input.ts";
import { type JobHandlers, runJobs } from "./jobs.ts";
import { describeError, log } from "./log.ts";
import { describeFunction } from "./openapi.ts";

export type FunctionName =
  | "delivery"
  | "warehousing"
  | "storefront"
  | "tenants"
  | "system"
  | "carriers"
  | "webhooks"
  | "payment";

const corsHeaders: Record<string, string> = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers":
    "x-request-id, idempotency-replayed, retry-after, content-disposition",
};
const preflightHeaders: Record<string, string> = {
  ...corsHeaders,
  "access-control-allow-methods": "GET, POST, PUT, PATCH, DELETE, OPTIONS",
  "access-control-allow-headers":
    "authorization, apikey, content-type, idempotency-key, accept-language, x-client-info, x-request-id, x-api-key",
  "access-control-max-age": "86400",
};
const guid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The deployed form of one function: `export default serve("delivery", [...endpoints])`. */
export function serve(
  name: FunctionName,
  endpoints: readonly AnyEndpoint[],
  jobs: JobHandlers = {},
): { fetch(request: Request): Promise<Response>; endpoints: readonly AnyEndpoint[] } {
  const app = new Hono({
    getPath: (request) => withoutPrefix(name, new URL(request.url).pathname),
  });
  app.options("*", () => new Response(null, { status: 204, headers: preflightHeaders }));
  app.get("/health", async () => {
    const healthy = await isReachable();
    return Response.json({ success: healthy, function: name, database: healthy ? "up" : "down" }, {
      status: healthy ? 200 : 503,
      headers: corsHeaders,
    });
  });
  app.get(
    "/openapi.json",
    () => Response.json(describeFunction(name, endpoints), { headers: corsHeaders }),
  );
  if (Object.keys(jobs).length) {
    app.post("/internal/jobs", async (c) => {
      const actor = await identify(c.req.raw.headers).catch(() => undefined);
      if (actor?.kind !== "service") {
        return refuse(new AppError("unauthorized"), started(c.req.raw, name));
      }
      return Response.json({ success: true, ...await runJobs(jobs) });
    });
  }
  const ordered = [...endpoints].sort(staticFirst);
  for (const endpoint of ordered) {
    app.on(
      endpoint.method.toUpperCase(),
      endpoint.path,
      (c) => answer(name, endpoint, c.req.raw, c.req.param(), jobs),
    );
  }
  for (const path of new Set(ordered.map((endpoint) => endpoint.path))) {
    const allow = ordered.filter((endpoint) => endpoint.path === path).map((e) =>
      e.method.toUpperCase()
    ).join(", ");
    app.all(path, (c) => {
      const response = refuse(new AppError("method_not_allowed"), started(c.req.raw, name));
      response.headers.set("allow", allow);
      return response;
    });
  }
  app.notFound((c) => refuse(new AppError("not_found"), started(c.req.raw, name)));
  return { fetch: async (request) => await app.fetch(request), endpoints };
}

/** Paths answer with and without the function's own name in front, which gateways keep or drop. */
function withoutPrefix(name: string, path: string): string {
  let rest = path;
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

interface Started {
  name: string;
  at: number;
  requestId: string;
  asked: Language | undefined;
  url: URL;
  request: Request;
}

function started(request: Request, name: string): Started {
  const url = new URL(request.url);
  const sent = request.headers.get("x-request-id");
  return {
    name,
    at: performance.now(),
    requestId: sent && /^[\w.-]{1,64}$/.test(sent) ? sent : crypto.randomUUID(),
    asked: askedLanguage(url.searchParams.get("language"), request.headers.get("accept-language")),
    url,
    request,
  };
}

async function answer(
  name: FunctionName,
  endpoint: AnyEndpoint,
  request: Request,
  params: Record<string, string>,
  jobs: JobHandlers,
): Promise<Response> {
  const start = started(request, name);
  const operation = `${endpoint.method.toUpperCase()} /${name}${
    endpoint.path === "/" ? "" : endpoint.path
  }`;
  const trace = { operation, tenant: undefined as string | undefined };
  let tenantLanguage: string | null = null;
  try {
    const actor = endpoint.access.open ? undefined : await identify(request.headers);
    const claims = claimsOf(actor, endpoint, start, params, operation);
    trace.tenant = claims.asked_tenant_id ?? claims.tenant_id;
    const db = openDatabase(claims, ruleOf(endpoint), keyOf(endpoint, request));
    const language = () => start.asked ?? (isLanguage(db.seen.language) ? db.seen.language : "en");
    let context: Run<undefined, undefined, undefined>;
    try {
      context = {
        db,
        ...await readInput(endpoint, start, params),
        get language() {
          return language();
        },
        request,
        requestId: start.requestId,
        idempotencyKey: sentKey(request),
        waitUntil: keepAlive,
      };
    } catch (wrongInput) {
      // Whoever may not call this at all must not learn whether his input was right.
      await db.check();
      tenantLanguage = db.seen.language;
      throw wrongInput;
    }
    const result = await endpoint.run(context as never).catch(async (error) => {
      if (!start.asked && speaksNoLanguage(error) && !db.seen.language) await db.check();
      throw error;
    }).finally(
      () => (tenantLanguage = db.seen.language),
    );
    if (db.seen.jobs && Object.keys(jobs).length) keepAlive(runJobs(jobs));
    const response = respond(endpoint, result, language(), start);
    if (db.seen.replayed) response.headers.set("idempotency-replayed", "true");
    logRequest(start, trace, response.status);
    return response;
  } catch (error) {
    const response = refuse(error, start, tenantLanguage, endpoint);
    logRequest(start, trace, response.status);
    return response;
  }
}

function claimsOf(
  actor: Actor | undefined,
  endpoint: AnyEndpoint,
  start: Started,
  params: Record<string, string>,
  operation: string,
): Claims {
  const mode = endpoint.tenant ?? "required";
  const claims: Claims = {
    tenant_mode: mode === "path" ? "required" : mode,
    language: start.asked,
    request_id: start.requestId,
    operation,
  };
  if (actor?.kind === "user") Object.assign(claims, { sub: actor.id, tenant_id: actor.tenantId });
  if (actor?.kind === "service") Object.assign(claims, { service: true, sub: actor.actingFor });
  if (actor?.kind === "api_key") claims.api_key_hash = actor.hash;
  const asked = mode === "path"
    ? params.tenantId
    : mode === "none"
    ? null
    : start.url.searchParams.get("tenant_id");
  if (asked) {
    if (!guid.test(asked)) {
      throw new AppError("invalid_uuid", { field: mode === "path" ? "tenantId" : "tenant_id" });
    }
    claims.asked_tenant_id = asked;
  }
  return claims;
}

function ruleOf(endpoint: AnyEndpoint): Rule {
  return {
    access: endpoint.access.any,
    denied: endpoint.access.denied,
    feature: endpoint.feature,
    reads_only: readsOnly(endpoint) || undefined,
    conflict: endpoint.conflict,
  };
}

function keyOf(endpoint: AnyEndpoint, request: Request): string | undefined {
  if (readsOnly(endpoint) || endpoint.idempotency === "own") return undefined;
  return sentKey(request);
}

async function readInput(endpoint: AnyEndpoint, start: Started, params: Record<string, string>) {
  const key = sentKey(start.request);
  if (key !== undefined && key.length > 200) throw new AppError("invalid_idempotency_key");
  if (endpoint.idempotency === "required" && !key) throw new AppError("idempotency_key_required");
  return {
    params: endpoint.params ? accept(endpoint.params, params) : {},
    query: endpoint.query ? accept(endpoint.query, Object.fromEntries(start.url.searchParams)) : {},
    body: endpoint.body ? accept(endpoint.body, await readJson(start.request)) : {},
  };
}

function sentKey(request: Request): string | undefined {
  return request.headers.get("idempotency-key") || undefined;
}

function respond(
  endpoint: AnyEndpoint,
  result: Result,
  language: Language,
  start: Started,
): Response {
  if (result instanceof Response) {
    for (const [header, value] of Object.entries(corsHeaders)) result.headers.set(header, value);
    result.headers.set("x-request-id", start.requestId);
    return result;
  }
  const literal = typeof endpoint.message === "object" ? endpoint.message.literal : undefined;
  const key = result[messageKey] ??
    (typeof endpoint.message === "string" ? endpoint.message : defaultMessage(endpoint));
  const body = { success: true, message: literal ?? translate(language, key, result), ...result };
  if (strict && endpoint.response !== "pdf") {
    const checked = endpoint.response.safeParse(result);
    if (!checked.success) {
      throw new Error(`response differs from its schema: ${checked.error.message}`);
    }
  }
  return Response.json(body, {
    status: result[status] ?? endpoint.status ?? 200,
    headers: headersOf(start),
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

function refuse(
  error: unknown,
  start: Started,
  tenantLanguage: string | null = null,
  endpoint?: AnyEndpoint,
): Response {
  if (!(error instanceof AppError)) {
    log("error", "request_failed", {
      request_id: start.requestId,
      path: start.url.pathname,
      ...describeError(error),
    });
  }
  const refusal = error instanceof AppError ? error : new AppError("internal_server_error");
  const { code, params } = refusal;
  if (strict && endpoint && error instanceof AppError && !declares(endpoint, code)) {
    log("error", "undeclared_error", { path: endpoint.path, code });
    return refuse(
      new Error(`${endpoint.method} ${endpoint.path} does not declare ${code}`),
      start,
      tenantLanguage,
    );
  }
  const language = start.asked ?? [tenantLanguage, refusal.language].find(isLanguage) ?? "en";
  const reason = params.reason_key
    ? translate(language, String(params.reason_key), params)
    : undefined;
  const shown = Object.fromEntries(
    publicFieldsOf(code).filter((field) => params[field] !== undefined).map((
      field,
    ) => [field, params[field]]),
  );
  const headers = headersOf(start);
  if (code === "service_unavailable" || code === "rate_limited") headers["retry-after"] = "1";
  return Response.json(
    { success: false, code, message: translate(language, code, { ...params, reason }), ...shown },
    { status: statusOf(code), headers },
  );
}

/** A refusal that a constraint gave comes without the tenant's language, which has to be asked for. */
function speaksNoLanguage(error: unknown): boolean {
  return error instanceof AppError && error.language === undefined && statusOf(error.code) < 500;
}

function declares(endpoint: AnyEndpoint, code: ErrorCode): boolean {
  return commonCodes.includes(code) || (endpoint.errors?.includes(code) ?? false) ||
    endpoint.access.denied === code ||
    (endpoint.feature !== undefined && code === `${endpoint.feature}_disabled`) ||
    endpoint.conflict === code;
}

function headersOf(start: Started): Record<string, string> {
  return { ...corsHeaders, "x-request-id": start.requestId, "x-api-version": "1" };
}

function logRequest(
  start: Started,
  trace: { operation: string; tenant?: string },
  code: number,
): void {
  log(code >= 500 ? "error" : "info", "request", {
    request_id: start.requestId,
    ...trace,
    status: code,
    ms: Math.round((performance.now() - start.at) * 10) / 10,
  });
}

function keepAlive(work: Promise<unknown>): void {
  const guarded = work.catch((error) => log("error", "background_failed", describeError(error)));
  const runtime =
    (globalThis as { EdgeRuntime?: { waitUntil(work: Promise<unknown>): void } }).EdgeRuntime;
  runtime?.waitUntil(guarded);
}
