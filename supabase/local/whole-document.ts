/** The API of all functions as one OpenAPI document: what the reference serves and clients are generated from. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describeAll } from "../../shared/openapi.ts";
import type { Served } from "../../shared/serve.ts";
import { root, slugs } from "./paths.ts";

/** Loads every endpoint, so it takes a second: for those who ask, not for the start. */
export async function wholeDocument(): Promise<ReturnType<typeof describeAll>> {
  const functions: Parameters<typeof describeAll>[0] = {};
  for (const slug of slugs) {
    const file = pathToFileURL(join(root, "functions", slug, "index.ts")).href;
    const served = await import(file) as { default: Served };
    functions[slug] = await served.default.endpoints();
  }
  return describeAll(functions);
}
