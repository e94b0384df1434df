import { beforeAll, describe, expect, test } from "vitest";
import { equip, newDriver, newStaged, usedBy } from "../../support/assignments.ts";
import { sql } from "../../support/db.ts";
import { newAddress, newBranch } from "../../support/make.ts";
import { newManifest } from "../../support/manifests.ts";
import { fundWallet, newService } from "../../support/money.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";

const path = "/delivery/transfer-manifest-items/bulk/set-destination";
let tenant: Tenant;
let request: { destination_branch_id: string; delivery_service_id: string };

beforeAll(async () => {
  tenant = await newTenant();
  const address = await newAddress(tenant);
  const [warehouse] =
    await sql`insert into warehousing.warehouses (tenant_id, name, code, address_id)
    values (${tenant.id}, 'Staging', 'STG', ${address}) returning id`;
  await saveSettings(tenant.id, "general.warehouse", {
    handoff_required: true,
    default_warehouse_id: warehouse.id,
  });
  await fundWallet(tenant, "institution", tenant.institution.id, 10_000_000);
  request = {
    destination_branch_id: await newBranch(tenant),
    delivery_service_id: await newService(tenant),
  };
});

async function ordered(items: number): Promise<string> {
  const manifest = await newManifest(tenant, { items });
  const answer = await tenant.ops.post(path, { ...request, item_ids: manifest.itemIds });
  expect(answer).toSucceed(200);
  expect(answer.body.data.created_count).toBe(items);
  return manifest.id;
}

/** The legs into the warehouse, as [status, driver of the live assignment]. */
async function legsOf(manifest: string) {
  const rows = await sql`select l.status, a.driver_id from delivery.deliveries l
    left join delivery.assignments a on a.delivery_id = l.id and a.status in ('pending', 'assigned', 'accepted')
    where l.manifest_id = ${manifest} and l.leg = 'A' order by l.delivery_code`;
  return rows.map((row) => [row.status, row.driver_id]);
}

const choose = (driver: string | null, allowed = true) =>
  Promise.all([
    saveSettings(tenant.id, "delivery.assignment_change_settings", { default_driver_id: driver }),
    saveSettings(tenant.id, "delivery.transfer_manifest", {
      allow_warehouse_staging_without_assigned_driver: allowed,
    }),
  ]);
const waiting = (count: number) => Array(count).fill(["pending", null]);

describe("staged manifest orders", () => {
  test("wait for a dispatcher, unless the tenant has a driver for them and says so", async () => {
    const driver = await newDriver(tenant);
    expect(await legsOf(await ordered(2))).toEqual(waiting(2));
    await choose(driver.id, false);
    expect(await legsOf(await ordered(2))).toEqual(waiting(2));
    await choose(driver.id);
    expect(await legsOf(await ordered(3))).toEqual(Array(3).fill(["assigned", driver.id]));
    expect(await usedBy(tenant, driver.id)).toBe(3);
    const realtime = await sql`select is_bulk, assignment_count
      from public.delivery_realtime_assignments where driver_id = ${driver.id}`;
    expect(realtime).toEqual([{ is_bulk: true, assignment_count: 3 }]);
  });

  test("are created even if the default driver is full: the driver gets what fits, the rest waits", async () => {
    const small = await newDriver(tenant, { capacity: 2 });
    await choose(small.id);
    expect(await legsOf(await ordered(3)))
      .toEqual([["assigned", small.id], ["assigned", small.id], ["pending", null]]);
    const walking = await newDriver(tenant, { capacity: null });
    const resting = await newDriver(tenant);
    await sql`update delivery.drivers set status = 'inactive' where user_id = ${resting.id}`;
    const local = await newDriver(tenant, { zones: [] });
    for (const { id } of [walking, resting, local]) {
      await choose(id);
      expect(await legsOf(await ordered(1))).toEqual(waiting(1));
    }
  });

  test("of successive requests never exceed the driver's vehicle capacity", async () => {
    const driver = await newDriver(tenant, { capacity: 5 });
    await choose(driver.id);
    const manifests = await Promise.all(Array.from({ length: 4 }, () => ordered(3)));
    const legs = (await Promise.all(manifests.map(legsOf))).flat();
    expect(legs.filter(([status]) => status === "assigned")).toHaveLength(5);
    expect(await usedBy(tenant, driver.id)).toBe(5);
  });

  test("can be assigned to the default driver later without naming the driver, if they come from a manifest", async () => {
    await choose(null);
    const manifest = await ordered(1);
    const [leg] = await sql`select id, parent_id from delivery.deliveries
      where manifest_id = ${manifest} and leg = 'A'`;
    const ask = (delivery_id: string) => tenant.ops.post("/delivery/assignments", { delivery_id });
    expect(await ask(leg.parent_id)).toFailWith(400, "assignment_driver_required");
    await equip(tenant, tenant.driver.id);
    await choose(tenant.driver.id);
    const other = await newStaged(tenant);
    expect(await ask(other.parent)).toFailWith(400, "assignment_driver_required");
    const answer = await ask(leg.parent_id);
    expect(answer).toSucceed(201);
    expect(answer.body.resolved_delivery_id).toBe(leg.id);
    expect(await legsOf(manifest)).toEqual([["assigned", tenant.driver.id]]);
  });
});
