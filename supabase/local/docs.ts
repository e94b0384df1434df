import { createRequire } from "node:module";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Hono } from "hono";
import { slugs } from "./paths.ts";

const assets: Record<string, string> = {
  "swagger-ui.css": "text/css",
  "swagger-ui-bundle.js": "text/javascript",
  "swagger-ui-standalone-preset.js": "text/javascript",
};

const page = `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <title>Barid API</title>
  <link rel="icon" href="data:,">
  <link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
  <div id="api"></div>
  <script src="/docs/swagger-ui-bundle.js"></script>
  <script src="/docs/swagger-ui-standalone-preset.js"></script>
  <script src="/docs/start.js"></script>
</body>
</html>
`;

// Without validatorUrl: null the page would send every document to a public server to be checked.
const start = `SwaggerUIBundle({
  urls: ${
  JSON.stringify(slugs.map((name) => ({ name, url: `/functions/v1/${name}/openapi.json` })))
},
  dom_id: "#api",
  layout: "StandaloneLayout",
  presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],
  validatorUrl: null,
  persistAuthorization: true,
});
`;

/** `/docs`: the API of all functions in one page that asks no other host for anything. */
export function docsApp(): Hono {
  const dir = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
  const app = new Hono().basePath("/docs");
  app.get("/", (c) => c.html(page));
  app.get("/start.js", (c) => c.body(start, 200, { "content-type": "text/javascript" }));
  for (const [file, type] of Object.entries(assets)) {
    app.get(`/${file}`, async (c) => {
      const body = await readFile(join(dir, file), "utf8");
      return c.body(body, 200, { "content-type": type, "cache-control": "max-age=3600" });
    });
  }
  return app;
}
