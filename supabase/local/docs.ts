import { createRequire } from "node:module";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Hono } from "hono";
import { errorCodes, publicFieldsOf, statusOf } from "../../shared/errors/errors.ts";
import { template } from "../../shared/i18n/index.ts";
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
  <p style="font: 14px sans-serif; margin: 1rem 2rem"><a href="/docs/codes">Codes of refusals</a> · <a href="/docs/openapi.json">All
  functions as one OpenAPI document</a></p>
  <div id="api"></div>
  <script src="/docs/swagger-ui-bundle.js"></script>
  <script src="/docs/swagger-ui-standalone-preset.js"></script>
  <script src="/docs/start.js"></script>
</body>
</html>
`;

/** Every code with its status and its texts; `#code` leads to it. */
function codesPage(): string {
  const languages = ["en", "ar", "ku"] as const;
  const rows = errorCodes.toSorted().map((code) => {
    const texts = languages.map((language) =>
      `<td lang="${language === "ku" ? "ckb" : language}" dir="auto">${
        escaped(template(language, code))
      }</td>`
    );
    const fields = publicFieldsOf(code).join(", ");
    return `<tr id="${code}"><td><a href="#${code}"><code>${code}</code></a></td><td>${
      statusOf(code)
    }</td><td>${fields}</td>${texts.join("")}</tr>`;
  });
  return `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <title>Barid: codes of refusals</title>
  <link rel="icon" href="data:,">
  <style>
    body { font: 15px/1.4 system-ui, sans-serif; margin: 2rem; }
    table { border-collapse: collapse; }
    td, th { border-bottom: 1px solid #ddd; padding: .3rem .6rem; text-align: start; vertical-align: top; }
    tr:target { background: #fff3c4; }
  </style>
</head>
<body>
  <h1>Codes of refusals</h1>
  <p>A refusal is <code>{"success": false, "code": …, "message": …}</code> with the fields named here. Codes never change; messages do,
  and come in the language asked for. <code>{…}</code> is filled in. <a href="/docs">The calls</a></p>
  <table>
    <thead><tr><th>code</th><th>status</th><th>fields</th><th>en</th><th>ar</th><th>ku</th></tr></thead>
    <tbody>
${rows.join("\n")}
    </tbody>
  </table>
</body>
</html>
`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

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
  app.get("/codes", (c) => c.html(codesPage()));
  app.get("/openapi.json", async (c) => {
    const { everyFunction } = await import("./endpoints.ts");
    const { describeAll } = await import("../../shared/http/openapi.ts");
    return c.json(describeAll(await everyFunction()));
  });
  app.get("/start.js", (c) => c.body(start, 200, { "content-type": "text/javascript" }));
  for (const [file, type] of Object.entries(assets)) {
    app.get(`/${file}`, async (c) => {
      const body = await readFile(join(dir, file), "utf8");
      return c.body(body, 200, { "content-type": type, "cache-control": "max-age=3600" });
    });
  }
  return app;
}
