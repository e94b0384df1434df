/** The transfer that stands for a waybill has what the waybill has. */
import { beforeAll, expect, test } from "vitest";
import { move } from "../../support/deliveries.ts";
import { sql } from "../../support/db.ts";
import { checkTallies, newPackage, newYard, type Yard } from "../../support/packages.ts";
import { packageTransfers } from "../../support/package-transfers.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { waybills, waybillSteps } from "../../support/waybills.ts";

let tenant: Tenant;
let yard: Yard;

beforeAll(async () => {
  tenant = await newTenant();
  yard = await newYard(tenant);
});

const transfersOf = async (search: string) =>
  (await tenant.ops.get(packageTransfers, { query: { search } })).body.package_transfers;

test("a package that is cancelled leaves both, and an empty waybill has no transfer", async () => {
  const [one, two] = [await newPackage(yard), await newPackage(yard)];
  const { waybill_number } = await waybillSteps(tenant, yard).draft(one.id, two.id);
  expect(await transfersOf(waybill_number)).toMatchObject([{ delivery_ids: [one.id, two.id] }]);
  expect(await move(tenant.customer, one.id, "cancel", { reason: "no" })).toSucceed(200);
  expect(await transfersOf(waybill_number)).toMatchObject([{ delivery_ids: [two.id] }]);
  expect(await move(tenant.customer, two.id, "cancel", { reason: "no" })).toSucceed(200);
  expect(await transfersOf(waybill_number)).toEqual([]);
  await sql`select warehousing.package_transfers_backfill()`;
  expect(await transfersOf(waybill_number)).toEqual([]);
  await checkTallies(tenant);
});

test("what validating infers is refused where creating refuses it", async () => {
  const parcel = await newPackage(yard, {
    dropoff_address_id: undefined,
    dropoff_warehouse_id: yard.there,
  });
  await sql`update warehousing.warehouses set deleted_at = now() where id = ${yard.there}`;
  const answer = await tenant.warehouse.post(`${packageTransfers}/validate`, {
    source_warehouse_id: yard.warehouse,
    delivery_ids: [parcel.id],
  });
  expect(answer).toFailWith(404, "warehouse_not_found");
  expect(answer.body.field).toBe("destination_warehouse_id");
});

test("the list of waybills finds those of a driver", async () => {
  const own = await newYard(tenant);
  const { onTheRoad, draft } = waybillSteps(tenant, own);
  const id = await onTheRoad((await newPackage(own)).id);
  await draft((await newPackage(own)).id);
  const query = { driver_id: tenant.driver.id.toUpperCase(), source_warehouse_id: own.warehouse };
  const found = await tenant.ops.get(waybills, { query });
  expect(found.body.data).toMatchObject([{ id, driver: { id: tenant.driver.id } }]);
  expect(found.body.data[0]).not.toHaveProperty("driver_id");
  expect((await tenant.ops.get(`${waybills}/${id}`)).body.waybill).not.toHaveProperty("driver_id");
});
