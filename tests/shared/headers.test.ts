/** The caching and security headers of responses. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { csvLine, unguarded } from "../../shared/api/csv/cells.ts";
import { operations } from "../contract/functions.ts";
import { type Answer, nobody } from "../support/api.ts";
import { stack } from "../support/db.ts";
import { newTenant, type Tenant } from "../support/people.ts";
import { moduleId } from "../support/webhooks.ts";

let tenant: Tenant;
beforeAll(async () => void (tenant = await newTenant()));

/** Deno adds Accept-Encoding, since it compresses by itself. */
const cacheOf = ({ headers }: Answer) => [
  headers.get("cache-control"),
  headers.get("vary")?.replace(/^Accept-Encoding, /, ""),
];
const byCaller = "authorization, x-api-key, apikey, accept-language";

test("a page of another origin may read every header that the documents name", async () => {
  const { headers } = await tenant.ops.get("/delivery/deliveries");
  const exposed = headers.get("access-control-expose-headers")!.split(", ");
  expect(exposed.toSorted()).toEqual([
    "content-disposition",
    "date",
    "etag",
    "idempotency-replayed",
    "retry-after",
    "x-api-version",
    "x-ignored",
    "x-request-id",
  ]);
});

test("a page of another origin may send every header that supabase-js sends", async () => {
  const { status, headers } = await fetch(`${stack.url}/functions/v1/delivery/deliveries`, {
    method: "OPTIONS",
    headers: { origin: "http://localhost:3000", "access-control-request-method": "POST" },
  });
  expect(status).toBe(204);
  const sent = "authorization, apikey, x-client-info, content-type, x-region, traceparent, baggage";
  const allowed = headers.get("access-control-allow-headers")!.split(", ");
  expect(allowed).toEqual(expect.arrayContaining(sent.split(", ")));
});

describe("caching", () => {
  test("what a token was needed for is no shared cache's, and asked again with its ETag", async () => {
    const list = await tenant.ops.get("/delivery/deliveries");
    expect(cacheOf(list)).toEqual(["private, no-cache", byCaller]);
    const again = await tenant.ops.get("/delivery/deliveries", {
      headers: { "if-none-match": list.headers.get("etag")! },
    });
    expect([again.status, ...cacheOf(again)]).toEqual([304, "private, no-cache", byCaller]);
    expect(cacheOf(await tenant.ops.get("/delivery/deliveries", { query: { format: "csv" } })))
      .toEqual(["private, no-cache", byCaller]);
  });

  test("what is compressed for who asks for it is the same, and has a weak tag that is known again", async () => {
    const gzip = { "accept-encoding": "gzip" };
    for (const query of [{}, { format: "csv" }]) {
      const plain = await tenant.ops.get("/delivery/services", { query });
      const small = await tenant.ops.get("/delivery/services", { query, headers: gzip });
      expect([plain, small].map(({ headers }) => headers.get("content-encoding")))
        .toEqual([null, "gzip"]);
      expect(small.body).toEqual(plain.body);
    }
    const { headers } = await tenant.ops.get("/delivery/services", { headers: gzip });
    expect(headers.get("etag")).toMatch(/^W\/"/);
    const again = await tenant.ops.get("/delivery/services", {
      headers: { ...gzip, "if-none-match": headers.get("etag")! },
    });
    expect(again.status).toBe(304);
  });

  test("a refusal likewise", async () => {
    expect(cacheOf(await nobody.get("/delivery/deliveries"))).toEqual([
      "private, no-cache",
      byCaller,
    ]);
    expect(cacheOf(await nobody.get("/delivery/no-such-path"))[0]).toBe("private, no-cache");
  });

  test("a secret and a signed address are kept by nobody", async () => {
    const subscription = await tenant.admin.post("/webhooks/subscriptions", {
      module_id: await moduleId("storefront"),
      url: `http://127.0.0.1:9/${randomUUID()}`,
      event_types: ["*"],
    });
    expect(subscription).toSucceed(201);
    expect(cacheOf(subscription)[0]).toBe("no-store");
    const detail = await tenant.ops.get(`/delivery/deliveries/${randomUUID()}`, {
      query: { include: "proof_links" },
    });
    expect(cacheOf(detail)[0]).toBe("no-store");
  });

  test("what the public reads depends on the language alone", async () => {
    const shop = await nobody.get(`/storefront/public/markets/${randomUUID()}`);
    expect(cacheOf(shop)).toEqual(["no-cache", "accept-language"]);
  });

  test("endpoints that answer with secrets or signed addresses declare it", () => {
    const shown = operations.filter(({ endpoint }) => endpoint.confidential)
      .map(({ endpoint: { method, path } }) => `${method} ${path}`).sort();
    expect(shown).toEqual([
      "get /cod-settlements/:settlement_payment_id/receipt",
      "get /deliveries/:delivery_id",
      "get /transfer-manifests/:manifest_id",
      "patch /tenant/:carrier_code",
      "post /cod-collections/:id/receipt",
      "post /cod-settlements/:settlement_payment_id/receipt",
      "post /deliveries/:delivery_id/proof-uploads",
      "post /me/api-keys",
      "post /own/subscriptions",
      "post /own/subscriptions/:subscription_id/rotate-secret",
      "post /subscriptions",
      "post /subscriptions/:subscription_id/rotate-secret",
      "post /tenant/:carrier_code/rotate-secret",
      "post /tracking-links",
      "post /transfer-manifests/:manifest_id/proof-uploads",
    ]);
  });
});

test("no browser guesses what an answer is", async () => {
  for (const path of ["/delivery/deliveries", "/delivery/health", "/delivery/openapi.json"]) {
    const { headers } = await fetch(stack.functionsUrl + path);
    expect([path, headers.get("x-content-type-options")]).toEqual([path, "nosniff"]);
  }
});

test.each([
  "=1+1",
  "+1",
  "-1",
  "@sum",
  "\t=1",
  "\r=1",
  "\n=1",
  "＝1+1",
  "＋1",
  "－1",
  "＠sum",
  " ＝1",
])(
  "a cell that begins like a formula (%j) runs nowhere and reads back as it was",
  (text) => {
    const line = csvLine([text]).slice(0, -2);
    const cell = line.startsWith('"') ? line.slice(1, -1) : line;
    expect(cell).toMatch(/^ *'/);
    expect(unguarded(cell)).toBe(text);
  },
);
