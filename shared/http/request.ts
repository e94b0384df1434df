/** The parts of a request: language, id, claims, and the input its endpoint declares. */
import type { z } from "zod";
import type { Actor } from "./actor.ts";
import type { Claims, Rule } from "../db/execute.ts";
import { type AnyEndpoint, readsOnly } from "../api/endpoint.ts";
import { askedFields } from "../api/fields.ts";
import { AppError } from "../errors/errors.ts";
import { askedLanguage, type Language } from "../i18n/index.ts";
import { receiveTrace, storedTrace, type TraceContext } from "../runtime/trace-context.ts";
import {
  accept,
  acceptPosted,
  readJson,
  readJsonBytes,
  withoutUnrecognized,
} from "../schemas/input.ts";
import { requireStorableInput } from "../schemas/storable.ts";
import { ignoredFields, ignoredParameters, unknownPaths } from "../schemas/unknown-fields.ts";
import { expectedVersions } from "./etag.ts";

const guid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export interface Started {
  name: string;
  at: number;
  requestId: string;
  /** The client's id of the request: kept beside ours, and never in its place. */
  clientRequestId: string | undefined;
  asked: Language | undefined;
  /** Its place in a trace: the caller's, or one that begins with it. */
  trace: TraceContext;
  url: URL;
  request: Request;
}

export function started(request: Request, name: string): Started {
  const url = new URL(request.url);
  const sent = request.headers.get("x-request-id");
  return {
    name,
    at: performance.now(),
    requestId: crypto.randomUUID(),
    clientRequestId: sent && /^[\w.-]{1,64}$/.test(sent) ? sent : undefined,
    trace: receiveTrace(request.headers),
    asked: askedLanguage(url.searchParams.get("language"), request.headers.get("accept-language")),
    url,
    request,
  };
}

/** The caller and the tenant, as `private.identify` takes them. */
export function claimsOf(
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
    client_request_id: start.clientRequestId,
    trace_context: storedTrace(start.trace),
    operation,
  };
  if (actor?.kind === "user") {
    Object.assign(claims, { sub: actor.id, tenant_id: actor.tenantId, issued_at: actor.issuedAt });
    if (actor.mailbox) claims.mailbox = true;
  }
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

/** The endpoint's rule as `private.enter` and `private.call` take it. */
export function ruleOf(
  endpoint: AnyEndpoint,
  params: Record<string, string>,
  request: Request,
): Rule {
  return {
    version: versionOf(endpoint, params, request),
    access: endpoint.access.any,
    denied: endpoint.access.errorCode,
    person: endpoint.person,
    feature: endpoint.feature,
    reads_only: readsOnly(endpoint) || undefined,
    conflict: endpoint.idempotencyConflictCode,
  };
}

/** The row whose version counts; none for an id that is none, which is refused with the rest of the input. */
function versionOf(
  endpoint: AnyEndpoint,
  params: Record<string, string>,
  request: Request,
): Rule["version"] {
  const { version } = endpoint;
  if (!version) return undefined;
  const { table, column, param } = version;
  const key = param && params[param];
  if (key !== undefined && !guid.test(key)) return undefined;
  const expected = readsOnly(endpoint) ? undefined : expectedVersions(request);
  return { table, column, key, expected };
}

/** The Idempotency-Key that the engine handles for this endpoint. */
export function keyOf(endpoint: AnyEndpoint, request: Request): string | undefined {
  if (readsOnly(endpoint) || endpoint.idempotency === "handler") return undefined;
  return sentKey(request);
}

/**
 * Params, query and body as their schemas see them; refuses with the first wrong field. `refused`: the body has fields that are not known,
 * and is as an earlier version took it, for an answer that is remembered under the request's key.
 */
export async function readInput(
  endpoint: AnyEndpoint,
  start: Started,
  params: Record<string, string>,
) {
  const key = sentKey(start.request);
  if (key !== undefined && key.length > 200) throw new AppError("invalid_idempotency_key");
  if (endpoint.idempotency === "required" && !key) throw new AppError("idempotency_key_required");
  if (!readsOnly(endpoint) && !endpoint.version && expectedVersions(start.request)) {
    throw new AppError("precondition_not_supported", { field: "If-Match" });
  }
  const { url, request } = start;
  const query = queryOf(url);
  // A public endpoint without a declared body reads it by itself: a carrier's report is verified before it is parsed.
  const unread = endpoint.rawBodyMaxBytes || endpoint.csv || readsOnly(endpoint) ||
    (endpoint.access.publicAccess && !endpoint.body);
  const json = unread
    ? undefined
    : endpoint.body
    ? await readJson(request)
    : await readUndeclared(request);
  // Parameters of every endpoint, and those that Supabase's client adds for its gateway.
  const { language: _, tenant_id: __, forceFunctionRegion: ___, ...declared } = query;
  const { fields: sent, ...others } = declared;
  const asked = askedFields(endpoint, sent);
  const keyed = keyOf(endpoint, request) !== undefined;
  const unknown = json === undefined ? { ignored: [] } : unknownOf(endpoint.body, json, keyed);
  const ignored = [
    ...ignoredParameters(endpoint.query, asked ? others : declared),
    ...(asked?.unknown ?? []),
    ...unknown.ignored,
  ];
  const accepted = {
    params: endpoint.params ? accept(endpoint.params, params) : {},
    query: endpoint.query ? accept(endpoint.query, query) : {},
  };
  const { body, refused } = endpoint.body && !endpoint.rawBodyMaxBytes
    ? bodyOf(endpoint.method, endpoint.body, json, keyed)
    : { body: {} };
  requireStorableInput(accepted.params, params);
  requireStorableInput(accepted.query, declared);
  // One that is refused already is compared with what is remembered.
  if (!unknown.refused && !refused) requireStorableInput(body, json);
  return {
    ignored,
    refused: unknown.refused ?? refused,
    fields: asked?.fields,
    ...accepted,
    raw: endpoint.rawBodyMaxBytes
      ? await readJsonBytes(request, endpoint.rawBodyMaxBytes)
      : new Uint8Array(),
    body,
    file: endpoint.csv
      ? await (await import("../api/csv/read.ts")).readCsv(request, endpoint.csv)
      : { lines: [], errors: [] },
  };
}

interface Refusal {
  refused?: AppError;
}

/** The names of a body's unknown fields. Fails: unknown_field; under a key (`keyed`) the refusal is returned. */
function unknownOf(
  schema: z.ZodType | undefined,
  json: unknown,
  keyed: boolean,
): Refusal & { ignored: string[] } {
  try {
    return { ignored: ignoredFields(schema, json) };
  } catch (refused) {
    if (!keyed || !schema || !(refused instanceof AppError)) throw refused;
    return { ignored: unknownPaths(schema, json), refused };
  }
}

/** The body as its schema sees it. Under a key one that is refused for unknown fields alone is read without them. */
function bodyOf(
  method: AnyEndpoint["method"],
  schema: z.ZodType,
  json: unknown,
  keyed: boolean,
): Refusal & { body: unknown } {
  const read = (value: unknown) => (method === "post" ? acceptPosted : accept)(schema, value);
  try {
    return { body: read(json) };
  } catch (refused) {
    if (!keyed || !(refused instanceof AppError)) throw refused;
    try {
      return { body: read(withoutUnrecognized(schema, json)), refused };
    } catch {
      throw refused;
    }
  }
}

/** The body of a call that takes none, to name what is ignored; undefined for what is no JSON. */
async function readUndeclared(request: Request): Promise<unknown> {
  try {
    return await readJson(request);
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

/** Parameters that keep something from being done: who sends one with nothing in it did not mean that it be done. */
const protective: readonly string[] = ["dry_run"];

/**
 * The parameters of a query: of a name that comes again the first counts, as for `tenant_id`; empty is not sent, but for
 * protective ones, which their schemas refuse.
 */
function queryOf({ searchParams }: URL): Record<string, string> {
  const query: Record<string, string> = {};
  for (const [name, value] of searchParams) {
    if (value !== "" || protective.includes(name)) query[name] ??= value;
  }
  return query;
}

/** The Idempotency-Key as sent; an empty one is none. */
export function sentKey(request: Request): string | undefined {
  return request.headers.get("idempotency-key") || undefined;
}
