/** `/docs`: the API of all functions in one page that asks no other host for anything, and the codes of refusals. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Hono } from "hono";
import type { DemoAccount } from "../demo-accounts.ts";
import { codesPage } from "./codes-page.ts";
import { forReference } from "./document.ts";
import { withExamples } from "./examples.ts";
import { referencePage } from "./reference-page.ts";

/** The key and the accounts that the page signs in with. */
export interface DocsOptions {
  publishableKey: string;
  demoAccounts: () => Promise<DemoAccount[]>;
}

const here = dirname(fileURLToPath(import.meta.url));
// The package that carries Scalar's page as one file: the page's own package installs 240 MB of what it is built from.
const scalar = join(
  dirname(createRequire(import.meta.url).resolve("@scalar/fastify-api-reference")),
  "js/standalone.js",
);

export function docsApp({ publishableKey, demoAccounts }: DocsOptions): Hono {
  const app = new Hono().basePath("/docs");
  app.get("/", async (c) => c.html(referencePage(publishableKey, await demoAccounts())));
  app.get("/codes", (c) => c.html(codesPage()));
  app.get("/openapi.json", async (c) => c.json(await everyDocument()));
  app.get("/reference.json", async (c) => c.json(forReference(await everyDocument())));
  for (
    const [path, file, type] of [
      ["/reference.js", scalar, "text/javascript"],
      ["/start.js", join(here, "start.js"), "text/javascript"],
      ["/docs.css", join(here, "docs.css"), "text/css"],
    ] as const
  ) {
    app.get(path, async (c) =>
      c.body(await readFile(file, "utf8"), 200, {
        "content-type": `${type}; charset=utf-8`,
        "cache-control": "max-age=60",
      }));
  }
  return app;
}

let document: Promise<object> | undefined;

/** The document of all functions, described once: their modules stay as they were loaded first. */
function everyDocument(): Promise<object> {
  return document ??= describeEvery();
}

async function describeEvery(): Promise<object> {
  const { everyFunction } = await import("../endpoints.ts");
  const { describeAll } = await import("../../../shared/http/openapi.ts");
  return withExamples(describeAll(await everyFunction()));
}
