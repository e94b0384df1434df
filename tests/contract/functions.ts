/** All functions with their endpoints, as they are deployed: whatever exists is what the contract is about. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { AnyEndpoint } from "../../shared/endpoint.ts";
import type { Served } from "../../shared/serve.ts";
import { root, slugs } from "../../supabase/local/paths.ts";

export interface Operation {
  slug: string;
  endpoint: AnyEndpoint;
  /** `POST /delivery/cod-collections/remit` */
  name: string;
  /** `/delivery/zones/:id` */
  path: string;
}

/** The folders below functions/. */
export const folders = readdirSync(join(root, "functions"), { withFileTypes: true })
  .filter((entry) => entry.isDirectory()).map((entry) => entry.name).sort();

/** Every endpoint of every function, in the order of their declaration. */
export const operations: Operation[] = (await Promise.all(slugs.map(async (slug) => {
  const served = await import(`../../functions/${slug}/index.ts`) as { default: Served };
  return (await served.default.endpoints()).map((endpoint) => {
    const path = `/${slug}${endpoint.path === "/" ? "" : endpoint.path}`;
    return { slug, endpoint, path, name: `${endpoint.method.toUpperCase()} ${path}` };
  });
}))).flat();
