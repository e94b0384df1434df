/**
 * Endpoints to HTTP: the only place that knows Hono. Order of a request, as clients are promised:
 * language, token, tenant, access, feature gate, input, work, envelope.
 */
import { Hono } from "hono";
import { identify } from "./actor.ts";
import { answer, refuseUnserved } from "./answer.ts";
import { preflightHeaders, publicHeaders } from "./reply.ts";
import type { AnyEndpoint } from "../api/endpoint.ts";
import { databaseHealth } from "../db/db.ts";
import { type JobHandlers, runJobs, stayForJobs, trackRequest } from "../db/jobs.ts";
import { keepAlive } from "../runtime/background.ts";
import { AppError } from "../errors/errors.ts";
import { neededSchema, version } from "../runtime/version.ts";

export type FunctionName =
  | "delivery"
  | "warehousing"
  | "storefront"
  | "tenants"
  | "system"
  | "carriers"
  | "webhooks"
  | "payment";

/** Endpoints that are loaded together, the first time a path of one of their sections is asked for. */
export interface Feature {
  /**
   * A sentence of the API reference for the endpoints below each of these first segments; empty where it shows none.
   * `x/*` takes the paths below one record, `/x/:id/…`, in place of the feature that names `x`; `*` those that none names.
   */
  readonly sections: Readonly<Record<string, string>>;
  readonly load: () => Promise<readonly AnyEndpoint[]>;
}

/**
 * Part of a function. A process that starts loads none of them: its start costs the engine, not the
 * schemas of every endpoint.
 */
export function feature(sections: Feature["sections"], load: Feature["load"]): Feature {
  return { sections, load };
}

export interface Served {
  fetch(request: Request): Promise<Response>;
  /** Every endpoint of the function, in the order of the features. */
  endpoints(): Promise<readonly AnyEndpoint[]>;
  sections: Feature["sections"];
}

/** The deployed form of one function: `export default serve("delivery", [feature(…), …])`. */
export function serve(
  name: FunctionName,
  features: readonly Feature[],
  loadJobs?: () => Promise<JobHandlers>,
): Served {
  const endpoints = async () => (await Promise.all(features.map(({ load }) => load()))).flat();
  const sections = Object.assign({}, ...features.map(({ sections }) => sections));
  const named = (section: string) =>
    features.find((feature) => Object.hasOwn(feature.sections, section));
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
    const { database, schema, outdated } = await databaseHealth();
    const healthy = database === "up" && !outdated;
    const state = { function: name, version, schema, needed_schema: neededSchema, database };
    const code = outdated ? { code: "schema_outdated" } : {};
    return Response.json({ success: healthy, ...code, ...state }, {
      status: healthy ? 200 : 503,
      headers: { ...publicHeaders, "cache-control": "no-store" },
    });
  });
  let description: Promise<string> | undefined;
  const describe = async () => {
    const { describeFunction } = await import("./openapi.ts");
    return JSON.stringify(describeFunction(name, { endpoints: await endpoints(), sections }));
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
      const headers = { "cache-control": "no-store" };
      // Cron does not wait for what comes due until it asks again.
      if (new URL(c.req.url).searchParams.has("stay")) {
        keepAlive(loadJobs().then((jobs) => stayForJobs(jobs)));
        return Response.json({ success: true }, { status: 202, headers });
      }
      return Response.json({ success: true, ...await runJobs(await loadJobs()) }, { headers });
    });
  }
  app.all("*", async (c) => {
    const [, segment = "", , below] = c.req.path.split("/");
    const feature = below !== undefined && named(`${segment}/*`) || named(segment) || named("*");
    if (!feature) return refuseUnserved(name, c.req.raw, new AppError("not_found"));
    try {
      return await (await appOf(feature)).fetch(c.req.raw);
    } catch (error) {
      return refuseUnserved(name, c.req.raw, error);
    }
  });
  return { fetch: async (request) => await app.fetch(request), endpoints, sections };
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
