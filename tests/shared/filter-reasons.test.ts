/** A filter that is wrong is refused with what is wanted of it, in the caller's language. */
import { beforeAll, expect, test } from "vitest";
import { newTenant, type Tenant } from "../support/people.ts";

let tenant: Tenant;
beforeAll(async () => {
  tenant = await newTenant();
});

const path = "/delivery/deliveries";
const ask = (column_filters: unknown, language = "en") =>
  tenant.ops.get(path, { query: { column_filters: JSON.stringify(column_filters), language } });

test.each([
  [{ created_at: { from: "soon" } }, "created_at", "must be a date, as 2026-12-01"],
  [{ created_at: "soon" }, "created_at", "must be of type object"],
  [{ cod_amount: "much" }, "cod_amount", "must be of type number"],
  [
    { cod_amount: { min: "much" } },
    "cod_amount",
    "must be of type number",
  ],
  [{ status: "lost" }, "status", "must be one of draft, pending"],
])("of a column: %j", async (filters, column, wanted) => {
  const answer = await ask(filters);
  expect(answer).toFailWith(400, "invalid_column_filters");
  expect(answer.body.field).toBe(`column_filters.${column}`);
  expect(answer.body.message).toMatch(new RegExp(`^column_filters\\.${column} ${wanted}`));
});

test("of a column in the other languages", async () => {
  const filters = { created_at: { to: "soon" } };
  expect((await ask(filters, "ar")).body.message).toMatch(
    /^الحقل column_filters\.created_at .*2026-12-01/,
  );
  expect((await ask(filters, "ku")).body.message).toMatch(
    /^خانەی column_filters\.created_at .*2026-12-01/,
  );
});

test("that is no object", async () => {
  for (const column_filters of ["{", "[]", '"status"']) {
    const answer = await tenant.ops.get(path, { query: { column_filters } });
    expect(answer).toFailWith(400, "invalid_column_filters");
    expect(answer.body.message).toBe("column_filters must be of type object.");
  }
});

test("of a number as a parameter", async () => {
  const answer = await tenant.admin.get("/storefront/products", { query: { min_price: "cheap" } });
  expect(answer).toFailWith(400, "validation_failed");
  expect(answer.body.message).toBe("min_price must be of type number.");
});
