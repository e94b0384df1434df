import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded } from "../../support/promises.ts";
import { newWarehouse } from "../../support/warehouses.ts";

let tenant: Tenant;
let other: Tenant;
let warehouse: string;
let carrier: string;

beforeAll(async () => {
  [tenant, other] = [await newTenant(), await newTenant()];
  warehouse = await newWarehouse(tenant);
  await newWarehouse(tenant);
  [{ code: carrier }] = await sql`select code from integration.carriers
    where is_active and not is_internal order by position limit 1` as unknown as [{ code: string }];
});

const path = (id = warehouse, code = carrier) => `/warehousing/warehouses/${id}/carriers/${code}`;
const named = async () =>
  (await tenant.ops.get("/warehousing/warehouses", { query: { carrier_code: carrier } })).body
    .warehouses as Record<string, unknown>[];

test("a warehouse is called by a carrier as was recorded last, until that is forgotten", async () => {
  const set = await tenant.ops.put(path(), { external_id: "HUB-1", external_name: "Main hub" });
  expect(set).toSucceed(200);
  expect(set.body.carrier_warehouse).toEqual({
    warehouse_id: warehouse,
    carrier_code: carrier,
    external_id: "HUB-1",
    external_name: "Main hub",
  });
  expect(await tenant.ops.put(path(), { external_id: "HUB-2" })).toSucceed(200);
  expect(await named()).toMatchObject([
    { id: warehouse, carrier_warehouse: { external_id: "HUB-2", external_name: null } },
  ]);
  for (let i = 0; i < 2; i++) expect(await tenant.ops.delete(path())).toSucceed(200);
  expect(await named()).toEqual([]);
});

test("twenty at once leave one name", async () => {
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) => tenant.ops.put(path(), { external_id: `HUB-${i}` })),
  );
  for (const answer of answers) expect(answer).toSucceed(200);
  expect(await named()).toHaveLength(1);
});

test("unknown warehouses and carriers, wrong input and the wrong people are refused", async () => {
  const body = { external_id: "HUB-1" };
  expect(await tenant.ops.put(path(randomUUID()), body)).toFailWith(404, "warehouse_not_found");
  expect(await other.ops.put(path(), body)).toFailWith(404, "warehouse_not_found");
  expect(await other.ops.delete(path())).toFailWith(404, "warehouse_not_found");
  expect(await tenant.ops.put(path(warehouse, "nobody"), body)).toFailWith(
    404,
    "carrier_not_found",
  );
  expect(await tenant.ops.put(path(), {})).toFailWith(400, "validation_failed");
  expect(await tenant.ops.put(path(), { external_id: " " })).toFailWith(400, "validation_failed");
  const denied = [tenant.warehouse, tenant.staff, tenant.driver, tenant.customer];
  await expectGuarded({ method: "PUT", path: path(), body }, { denied });
  await expectGuarded({ method: "DELETE", path: path() }, { denied });
});

test("once per key", async () => {
  const options = { headers: { "idempotency-key": randomUUID() } };
  const first = await tenant.ops.put(path(), { external_id: "HUB-1" }, options);
  expect(await tenant.ops.put(path(), { external_id: "HUB-2" })).toSucceed(200);
  const again = await tenant.ops.put(path(), { external_id: "HUB-1" }, options);
  expect(again.body).toEqual(first.body);
  expect(again.headers.get("idempotency-replayed")).toBe("true");
  expect(await named()).toMatchObject([{ carrier_warehouse: { external_id: "HUB-2" } }]);
});
