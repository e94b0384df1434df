/** Unknown fields of requests: reported, and refused where money or evidence would be lost. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { ignoredFields, keptAs } from "../../shared/schemas/unknown-fields.ts";
import { newTenant, type Tenant } from "../support/people.ts";

let tenant: Tenant;
beforeAll(async () => void (tenant = await newTenant()));

describe("which fields are unknown", () => {
  const Point = z.object({ latitude: z.number(), longitude: z.number() });
  const cases: [string, z.ZodType, unknown, string[]][] = [
    ["a name beside others", z.object({ a: z.string() }), { a: "1", b: 2 }, ["b"]],
    ["within an object", z.object({ a: Point.nullish() }), { a: { lat: 1 } }, ["a.lat"]],
    ["within a list", z.object({ a: z.array(Point) }), { a: [{ x: 1 }, {}] }, ["a.0.x"]],
    ["within a record", z.record(z.string(), Point), { k: { x: 1 } }, ["k.x"]],
    ["none where more is taken", z.looseObject({}), { anything: { at: "all" } }, []],
    ["where others are kept", z.object({ a: z.any() }).catchall(keptAs(z.unknown())), {
      a: 1,
      b: 2,
    }, ["b"]],
    ["none in free JSON", z.object({ a: z.record(z.string(), z.unknown()) }), { a: { b: {} } }, []],
    [
      "through what is transformed, defaulted or refined",
      z.object({ a: Point.optional() }).refine(() => true).transform((value) => value.a),
      { a: { x: 1 }, y: 2 },
      ["a.x", "y"],
    ],
    ["none before a preprocessor", z.preprocess((x) => x, z.object({ a: z.any() })), { b: 1 }, [
      "b",
    ]],
    ["what no form of a union knows", z.union([Point, z.object({ id: z.string() })]), {
      id: "1",
      latitude: 1,
      other: 1,
    }, ["other"]],
    ["a list beside an object", z.union([z.array(Point), Point]), [{ x: 1 }], ["0.x"]],
    ["both sides of an intersection", z.intersection(Point, z.object({ b: z.any() })), {
      latitude: 1,
      b: 1,
      c: 1,
    }, ["c"]],
    ["no inherited name", z.object({ a: z.any() }), JSON.parse('{"constructor": 1}'), [
      "constructor",
    ]],
  ];
  test.each(cases)("%s", (_, schema, value, unknown) => {
    expect(ignoredFields(schema, value)).toEqual(unknown);
  });

  test("of thousands the first fifty, and of a long name its beginning", () => {
    const sent = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`k${i}`, i]));
    expect(ignoredFields(z.object({}), sent)).toHaveLength(50);
    expect(ignoredFields(z.object({}), { ["x".repeat(5_000)]: 1 })).toEqual(["x".repeat(100)]);
  });
});

test.each([
  ["POST", `/delivery/deliveries/${randomUUID()}/pickup`, { proofs: [{}] }, "proofs", "proof"],
  ["POST", `/delivery/deliveries/${randomUUID()}/pickup`, { photos: ["a"] }, "photos", "proof"],
  [
    "POST",
    `/delivery/deliveries/${randomUUID()}/complete`,
    { cash: { cod: 1 } },
    "cash",
    "cash_collected",
  ],
  [
    "POST",
    `/delivery/deliveries/${randomUUID()}/complete`,
    { cash_collected: { amount: 5 } },
    "cash_collected.amount",
    "cod",
  ],
  [
    "POST",
    `/delivery/deliveries/${randomUUID()}/complete`,
    { proof: { photos: ["a"] } },
    "proof.photos",
    "photo_urls",
  ],
  ["POST", "/delivery/deliveries", { codAmount: 5 }, "codAmount", "cod_amount"],
])("%s %s with %j is refused by the right name", async (method, path, body, field, right) => {
  for (const language of ["en", "ar", "ku"] as const) {
    const caller = path.endsWith("/deliveries") ? tenant.ops : tenant.driver;
    const answer = await caller.in(language).send(method, path, body);
    expect(answer).toFailWith(400, "unknown_field");
    expect([answer.body.field, answer.body.expected_field]).toEqual([field, right]);
    expect(answer.body.message).toContain(right);
  }
});

test.each([
  [
    "/delivery/cod-collections/remit",
    { scope: "all", drivers: [randomUUID()] },
    "drivers",
    "unknown_field",
  ],
  [
    "/delivery/driver-pay/payouts",
    { driver_id: randomUUID(), method: "cash", until: "2026-01-01" },
    "until",
  ],
  ["/delivery/merchant-statements", { owner_user_id: randomUUID(), to: "2026-01-01" }, "to"],
  [`/delivery/merchant-statements/${randomUUID()}/pay`, { method: "cash", amount: 5 }, "amount"],
  [`/delivery/merchant-statements/${randomUUID()}/reverse`, { reason: "x", amount: 5 }, "amount"],
  [`/delivery/driver-pay/payouts/${randomUUID()}/reverse`, { reason: "x", amount: 5 }, "amount"],
  [
    `/payment/webhook-events/${randomUUID()}/resolve`,
    { resolution: "dismissed", acton: "refund" },
    "acton",
  ],
])(
  "POST %s with %j would move other money than is meant, and is refused",
  async (path, body, field, code = "validation_failed") => {
    const answer = await tenant.admin.post(path, body);
    expect(answer).toFailWith(400, code);
    expect(answer.body.field).toBe(field);
  },
);

test("who may not call is refused for that, whatever the fields are called", async () => {
  const path = `/delivery/deliveries/${randomUUID()}/pickup`;
  const answer = await tenant.customer.post(path, { proofs: [] });
  expect(answer).toFailWith(403, "forbidden");
});

test("every other unknown field is named in the answer, once, and changes nothing", async () => {
  const code = () => `V${randomUUID().slice(0, 8).toUpperCase()}`;
  const body = { name: "Van", code: code(), colour: "red", tag: { x: 1 } };
  const made = await tenant.ops.post("/delivery/delivery-types", body);
  expect(made, JSON.stringify(made.body)).toSucceed();
  expect(made.body.ignored).toEqual(["colour", "tag"]);
  const plain = await tenant.ops.post("/delivery/delivery-types", { name: "Van", code: code() });
  expect(plain.body).not.toHaveProperty("ignored");
});

test("unknown parameters of a list are named, those of every call are not", async () => {
  const query = { delivery_code: 1315, lmit: 5, limit: 5, language: "en", tenant_id: tenant.id };
  const { body } = await tenant.ops.get("/delivery/deliveries", { query });
  expect(body.ignored).toEqual(["delivery_code", "lmit"]);
  const known = await tenant.ops.get("/delivery/deliveries", { query: { limit: 5 } });
  expect(known.body).not.toHaveProperty("ignored");
});

test("a file says it in a header, whatever the names hold", async () => {
  const query = { format: "csv", "a\r\nb": "1", "ب": "1" };
  const file = await tenant.ops.get("/delivery/deliveries", { query });
  expect(file.status).toBe(200);
  expect(file.headers.get("x-ignored")).toBe("a%0D%0Ab, %D8%A8");
});

test("a name of half a letter is told, as it is or cut in two", async () => {
  const long = "a".repeat(99);
  const query = { format: "csv", [`${long}😀`]: "1" };
  const file = await tenant.ops.get("/delivery/deliveries", { query });
  expect([file.status, file.headers.get("x-ignored")]).toEqual([200, `${long}%EF%BF%BD`]);
  const { body } = await tenant.ops.post(`/tenants/${tenant.id}/switch`, { "\ud83d": 1 });
  expect(body.ignored).toEqual(["\ufffd"]);
});

test("the body of a call that takes none is named too", async () => {
  const read = await tenant.ops.post(`/tenants/${tenant.id}/switch`, { before: "2026" });
  expect(read.body.ignored).toEqual(["before"]);
});
