/**
 * The typed client: what integrators hold against the API is generated from it, and every operation answers through a
 * published fetch client what the document says.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import createClient from "openapi-fetch";
import { beforeAll, describe, expect, test } from "vitest";
import type { paths } from "../../shared/client/paths.d.ts";
import { describeAll } from "../../shared/http/openapi.ts";
import { everyFunction } from "../../supabase/local/endpoints.ts";
import { Conformance } from "../support/conformance.ts";
import { stack } from "../support/db.ts";
import { type Everything, newEverything } from "../support/everything.ts";
import { type Operation, operations } from "./functions.ts";
import { runTypeScript } from "../tools/checks/programs.ts";
import { bodyOf, headersOf, sampleOf, urlOf } from "./requests.ts";

// deno-lint-ignore no-explicit-any -- a document of any shape
type Json = any;
const document: Json = JSON.parse(JSON.stringify(describeAll(await everyFunction())));
const conformance = new Conformance(document);

let all: Everything;
let token: string;
beforeAll(async () => {
  all = await newEverything("received");
  token = await tokenOf(all.tenant.admin.id);
});

const tokenOf = (id: string) =>
  stack.jwtSign({ sub: id, app_metadata: { tenant_id: all.tenant.id } });
const client = (bearer = token) =>
  createClient<paths>({
    baseUrl: stack.functionsUrl,
    headers: { authorization: `Bearer ${bearer}` },
  });

test("an integrator's few lines are typed: body, query, answer and code", async () => {
  const barid = client();
  const { data: list } = await barid.GET("/delivery/cod-collections", {
    params: { query: { status: "collected", limit: 5 } },
  });
  const first: number | undefined = list?.cod.collections[0]?.amount;
  expect(["number", "undefined"]).toContain(typeof first);

  const { data, error, response } = await barid.POST("/delivery/cod-collections/remit", {
    body: { scope: "selected", cod_collection_ids: [] },
  });
  expect(data).toBeUndefined();
  expect(response.status).toBe(400);
  const code: string | undefined = error?.code;
  expect(code).toBe("cod_collection_ids_required");
  // @ts-expect-error -- not a code of this call
  const wrong = error?.code === "cage_full";
  expect(wrong).toBe(false);
  // @ts-expect-error -- there is no such scope
  const refused = await barid.POST("/delivery/cod-collections/remit", { body: { scope: "some" } });
  expect(refused.response.status).toBe(400);
});

test("the types are short enough to be read by every editor and every check", () => {
  const lines = readFileSync("shared/client/paths.d.ts", "utf8").split("\n").length;
  expect(lines).toBeLessThan(15_000);
});

test("the lines of the readme are right, and would be wrong with another body", async () => {
  const [, lines] = /```ts\n([\s\S]*?)```/.exec(readFileSync("README.md", "utf8"))!;
  const right = `declare const token: string;\ndeclare const driver_id: string;\n${lines}`;
  const wrong = right.replace('scope: "all"', 'scope: "some"');
  const errors = await typeErrors({ right, wrong });
  expect(errors.filter((line) => !line.startsWith("wrong.ts"))).toEqual([]);
  expect(errors.join("\n")).toContain('"some"');
}, 180_000);

/** The errors that TypeScript reports for files of a project that knows the client by its package's name, a line each. */
async function typeErrors(files: Record<string, string>): Promise<string[]> {
  mkdirSync(".barid", { recursive: true });
  const folder = mkdtempSync(join(".barid", "readme-"));
  try {
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(join(folder, `${name}.ts`), `${text}\nexport {};\n`);
    }
    const project = {
      extends: "../../tsconfig.json",
      compilerOptions: { paths: { barid: ["../../shared/client/index.ts"] } },
      include: ["*.ts"],
    };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(project));
    const { lines } = await runTypeScript(["--project", ".", "--pretty", "false"], {
      cwd: folder,
    });
    return lines;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Calls through the client; what is wrong with the answer, or nothing. */
async function wrongWith(operation: Operation, bearer: string): Promise<string | undefined> {
  const path = operation.path.replace(/:(\w+)/g, "{$1}");
  const { method } = operation.endpoint;
  const { params, query, body } = sampleOf(operation, all.things);
  // A body of no operation in particular: what is sent is validated by the server, not by the types here.
  // deno-lint-ignore no-explicit-any -- a client of all paths at once
  const { data, error, response } = await (client(bearer) as any).request(method, path, {
    params: { path: params, query, header: headersOf(operation) },
    body: method === "get" ? undefined : bodyOf(operation, { params, query, body }),
    ...(operation.endpoint.csv ? { bodySerializer: (text: string) => text } : {}),
    parseAs: "text",
  }) as { data?: string; error?: Json; response: Response };
  const called = decodeURI(new URL(response.url).pathname + new URL(response.url).search);
  if (!called.startsWith(decodeURI(urlOf(operation, { params, query: {}, body })))) {
    return `called ${called}`;
  }
  return conformance.differenceOf({
    method,
    path: urlOf(operation, { params, query: {}, body }),
    status: response.status,
    contentType: response.headers.get("content-type"),
    answer: error === undefined ? data ?? "" : JSON.stringify(error),
  });
}

// Operations that remove or end a record come last, so the record exists for the others.
const clients = operations.filter(({ endpoint }) => !endpoint.internal)
  .sort((a, b) => Number(a.endpoint.method === "delete") - Number(b.endpoint.method === "delete"));

describe.each(["admin", "customer"] as const)("every operation, called by %s", (role) => {
  test("answers what the document says", async () => {
    const bearer = await tokenOf(all.tenant[role].id);
    const wrong: string[] = [];
    for (const operation of clients) {
      const problem = await wrongWith(operation, bearer);
      if (problem) wrong.push(`${operation.name}: ${problem}`);
    }
    expect(wrong).toEqual([]);
    expect(clients.length).toBeGreaterThan(200);
  }, 300_000);
});

test("without a token every operation answers what the document says", async () => {
  const wrong: string[] = [];
  for (const operation of clients) {
    const problem = await wrongWith(operation, "x");
    if (problem) wrong.push(`${operation.name}: ${problem}`);
  }
  expect(wrong).toEqual([]);
}, 180_000);

test("the reference's page of codes has every code, and is about what the functions answer", async () => {
  const page = await (await fetch(`${stack.url}/docs/codes`)).text();
  const listed = [...page.matchAll(/<tr id="(\w+)">/g)].map(([, code]) => code);
  const described = new Set(
    [...JSON.stringify(document).matchAll(/"code":\{"const":"(\w+)"/g)].map(([, code]) => code),
  );
  expect(described.size).toBeGreaterThan(300);
  expect([...described].filter((code) => !listed.includes(code))).toEqual([]);
  expect(page).toContain("هذا");
});
