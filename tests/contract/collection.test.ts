/** The collection for Postman and Bruno: it has every call, and its requests are answered as they stand there. */
import { beforeAll, expect, test } from "vitest";
import { describeAll } from "../../shared/http/openapi.ts";
import { withExamples } from "../../supabase/local/docs/examples.ts";
import { everyFunction } from "../../supabase/local/endpoints.ts";
import { stack } from "../support/db.ts";
import { type Everything, newEverything } from "../support/everything.ts";
import { type Collection, collectionOf, requestsOf } from "../tools/collection.ts";
import { operations } from "./functions.ts";

let collection: Collection;
let all: Everything;
let variables: Record<string, string>;
beforeAll(async () => {
  const document = JSON.parse(JSON.stringify(withExamples(describeAll(await everyFunction()))));
  [collection, all] = await Promise.all([
    collectionOf(document, stack.functionsUrl),
    newEverything("received"),
  ]);
  const claims = { sub: all.tenant.admin.id, app_metadata: { tenant_id: all.tenant.id } };
  variables = {
    ...Object.fromEntries(collection.variable.map(({ key, value }) => [key, value])),
    bearerToken: await stack.jwtSign(claims),
    vehicle_id: all.things.vehicle,
  };
});

test("has every operation for clients once, with a body that is its example", () => {
  const requests = requestsOf(collection);
  const names = requests.map(({ method, url }) => `${method} /${url.path.join("/")}`);
  const clients = operations.filter(({ endpoint }) => !endpoint.internal);
  expect(names.sort()).toEqual(clients.map(({ name }) => name).sort());
  const bodies = requests.filter(({ body }) => body?.raw);
  expect(bodies.length).toBe(
    clients.filter(({ endpoint }) => endpoint.body || endpoint.csv).length,
  );
  expect(collection.info.schema).toContain("/v2.1.0/");
});

/** Sends a request of the collection as a program does that reads it: with its variables filled in. */
async function send(name: string): Promise<{ status: number; body: Record<string, unknown> }> {
  const request = requestsOf(collection)
    .find(({ method, url }) => `${method} /${url.path.join("/")}` === name)!;
  const filled = (text: string): string =>
    text.replace(/\{\{([$\w]+)\}\}/g, (_, key) => variables[key] ?? crypto.randomUUID());
  const values = Object.fromEntries(request.url.variable.map(({ key, value }) => [key, value]));
  const path = request.url.path.map((part) => values[part.slice(1)] ?? part).join("/");
  const response = await fetch(filled(`${request.url.host.join("")}/${path}`), {
    method: request.method,
    headers: {
      authorization: filled("Bearer {{bearerToken}}"),
      ...Object.fromEntries(
        request.header.filter(({ disabled }) => !disabled).map((
          { key, value },
        ) => [key, filled(value)]),
      ),
    },
    body: request.body?.raw,
  });
  return { status: response.status, body: await response.json() };
}

test.each([
  ["GET /tenants/me", 200],
  ["POST /delivery/delivery-types", 201],
  ["PATCH /delivery/vehicles/:vehicle_id", 200],
])("%s runs from the collection", async (name, status) => {
  expect(await send(name)).toMatchObject({ status, body: { success: true } });
});
