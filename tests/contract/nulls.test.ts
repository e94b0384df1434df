/** Forms send null for what nobody filled in: what is posted with it means what it means without it. */
import { beforeAll, describe, expect, test } from "vitest";
import type { z } from "zod";
import { AppError } from "../../shared/errors/errors.ts";
import { acceptPosted } from "../../shared/schemas/input.ts";
import { newEverything } from "../support/everything.ts";
import type { Things } from "../support/everything.ts";
import { newAddress } from "../support/make.ts";
import { newTenant } from "../support/people.ts";
import { operations } from "./functions.ts";
import { sampleOf } from "./requests.ts";
import { type Schema, schemaOf } from "./slots.ts";

const posts = operations.filter(({ endpoint }) =>
  endpoint.method === "post" && endpoint.body && !endpoint.rawBodyMaxBytes
);
let things: Things;
beforeAll(async () => {
  ({ things } = await newEverything("received"));
}, 120_000);

/** The fields of a schema that may be left out, here and in what it holds, where `sample` has a place for them. */
function* leftOut(
  schema: Schema | undefined,
  sample: unknown,
): Generator<Record<string, unknown>> {
  if (Array.isArray(sample)) {
    for (const one of sample) yield* leftOut(schema?.items, one);
  } else if (sample !== null && typeof sample === "object" && schema?.properties) {
    const holder = sample as Record<string, unknown>;
    for (const [name, within] of Object.entries(schema.properties)) {
      if (name in holder) yield* leftOut(within, holder[name]);
      else if (!schema.required?.includes(name)) {
        holder[name] = null;
        yield holder;
      }
    }
  }
}

/** The result of a body: its value without nulls, or the error's code and field. */
function outcome(schema: z.ZodType, body: unknown): string {
  try {
    return JSON.stringify(acceptPosted(schema, body), (_, value) => value ?? undefined);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return `${error.code} ${JSON.stringify(error.params)}`;
  }
}

test("in every POST null is what leaving out is", () => {
  let fields = 0;
  const different = posts.flatMap((operation) => {
    const { body } = sampleOf(operation, things);
    const schema = operation.endpoint.body as z.ZodType;
    const without = outcome(schema, body);
    fields += [...leftOut(schemaOf(operation, "body"), body)].length;
    return outcome(schema, body) === without ? [] : [operation.name];
  });
  expect(different).toEqual([]);
  expect(fields).toBeGreaterThan(200);
});

describe("over HTTP", () => {
  test("a warehouse is made with its defaults where the form says null", async () => {
    const tenant = await newTenant();
    const { status, body } = await tenant.admin.post("/warehousing/warehouses", {
      name: "Main",
      code: "M",
      address_id: await newAddress(tenant),
      status: null,
      features: null,
      user_ids: null,
    });
    expect([status, body.code]).toEqual([201, undefined]);
  });

  test("what is needed is still missing, and a change to nothing is refused", async () => {
    const tenant = await newTenant();
    const made = await tenant.admin.post("/delivery/transfer-processing-points", {
      name: null,
      code: "P",
      address_id: await newAddress(tenant),
    });
    expect(made.status).toBe(400);
    expect(made.body).toMatchObject({ code: "validation_failed", field: "name" });
    const point = await tenant.admin.post("/delivery/transfer-processing-points", {
      name: "Point",
      code: "P",
      address_id: await newAddress(tenant),
      metadata: null,
    });
    expect(point.status).toBe(201);
    const changed = await tenant.admin.patch(
      `/delivery/transfer-processing-points/${point.body.data.id}`,
      { name: null },
    );
    expect(changed.status).toBe(400);
    expect(changed.body).toMatchObject({ code: "validation_failed", field: "name" });
  });
});
