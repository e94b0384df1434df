/** Text that no database keeps: a NUL, and half of a character. Whatever takes it names the field as it was sent. */
import { beforeAll, describe, expect, test } from "vitest";
import { newSystemAdmin, newTenant, type Tenant } from "../support/people.ts";

const nul = "a\u0000b";
let tenant: Tenant;
beforeAll(async () => {
  tenant = await newTenant();
});

async function refuses(answer: ReturnType<Tenant["admin"]["get"]>, field: string) {
  const refused = await answer;
  expect(refused).toFailWith(400, "validation_failed");
  expect([refused.body.field, refused.body.message]).toEqual([field, `${field} has a wrong form.`]);
}

describe("a refusal names", () => {
  test.each([
    ["/delivery/cod-collections", "customer_name"],
    ["/delivery/services", "name"],
    ["/delivery/assignments", "external_reference_id"],
    ["/delivery/driver-performance", "driver_name"],
    ["/warehousing/warehouses", "name"],
    ["/storefront/orders", "city"],
  ])("the column of a filter: %s %s", async (path, column) => {
    for (const text of [nul, "\ud800"]) {
      const query = { column_filters: JSON.stringify({ [column]: text }) };
      await refuses(tenant.admin.get(path, { query }), `column_filters.${column}`);
    }
  });

  test.each([
    ["/delivery/services", "delivery_type_code"],
    ["/delivery/services", "search"],
    ["/delivery/transfer-manifest-items/search", "q"],
    ["/warehousing/warehouses", "code"],
    ["/delivery/transfer-manifest-exceptions", "reason"],
  ])("the parameter: %s %s", async (path, name) => {
    await refuses(tenant.admin.get(path, { query: { [name]: nul } }), name);
  });

  test("the parameter of a list of the system", async () => {
    const system = await newSystemAdmin();
    await refuses(
      system.get("/storefront/markets", { query: { directory_category: nul } }),
      "directory_category",
    );
    await refuses(system.get("/system/events", { query: { event_type: nul } }), "event_type");
  });

  test.each([
    ["/warehousing/package-scan/%00", "delivery_barcode"],
    ["/delivery/institution-branches/by-code/%00", "branch_code"],
  ])("the part of the path: %s %s", async (path, name) => {
    await refuses(tenant.admin.get(path), name);
  });

  test("the field of a body as it was sent, however the work wants it", async () => {
    const reasons = [{ value: "a", label: { en: "x", ar: nul } }];
    await refuses(
      tenant.admin.put(`/tenants/${tenant.id}/settings`, {
        delivery: { transfer_manifest: { settings: { reasons } } },
      }),
      "delivery.transfer_manifest.settings.reasons.0.label.ar",
    );
    await refuses(
      tenant.admin.post("/storefront/products", { name: nul, description: "x" }),
      "name",
    );
  });
});

test("what is ignored may hold anything", async () => {
  expect(await tenant.admin.get("/delivery/services", { query: { no_parameter: nul } }))
    .toSucceed(200);
  expect(
    await tenant.admin.get("/delivery/services", {
      query: { column_filters: JSON.stringify({ no_column: nul }) },
    }),
  ).toSucceed(200);
});

test("who has no access hears of that alone", async () => {
  const query = { column_filters: JSON.stringify({ customer_name: nul }) };
  expect(await tenant.customer.get("/delivery/cod-collections", { query }))
    .toFailWith(403, "forbidden");
});

test.each(
  [
    ["patch", "/carriers/tenant/easypost", "credentials.login_id", {
      credentials: { login_id: nul },
    }],
    ["put", "/payment/gateways/razorpay", "secrets.key_id", { secrets: { key_id: nul } }],
  ] as const,
)("nothing of it is sealed either: %s %s", async (method, path, field, body) => {
  await refuses(tenant.admin[method](path, body), field);
});
