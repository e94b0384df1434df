/** All functions with their endpoints, as they are deployed. Loads every schema: a second, for those who ask. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { AnyEndpoint } from "../../shared/api/endpoint.ts";
import type { Served } from "../../shared/http/serve.ts";
import { root, slugs } from "./paths.ts";

/** An endpoint as clients know it. */
export interface Operation {
  slug: string;
  endpoint: AnyEndpoint;
  /** `/delivery/zones/:id` */
  path: string;
  /** `POST /delivery/cod-collections/remit` */
  name: string;
}

/** The endpoints of each function, by its name, and what the API reference says of their groups. */
export async function everyFunction(): Promise<
  Record<string, Pick<Served, "sections"> & { endpoints: readonly AnyEndpoint[] }>
> {
  return Object.fromEntries(
    await Promise.all(slugs.map(async (slug) => {
      const file = pathToFileURL(join(root, "functions", slug, "index.ts")).href;
      const served = await import(file) as { default: Served };
      const { sections } = served.default;
      return [slug, { sections, endpoints: await served.default.endpoints() }] as const;
    })),
  );
}

/** Every endpoint of every function, in the order of their declaration. */
export async function everyOperation(): Promise<Operation[]> {
  return Object.entries(await everyFunction()).flatMap(([slug, { endpoints }]) =>
    endpoints.map((endpoint) => {
      const path = `/${slug}${endpoint.path === "/" ? "" : endpoint.path}`;
      return { slug, endpoint, path, name: `${endpoint.method.toUpperCase()} ${path}` };
    })
  );
}
