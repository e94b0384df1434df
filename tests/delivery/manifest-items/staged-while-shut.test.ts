/** A default warehouse whose status says that it is shut: deliveries are staged through it all the same. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import {
  checkAll,
  type Ground,
  newDelivery,
  newGround,
  newWarehouse,
  order,
  path,
} from "../../support/deliveries.ts";
import { newAddress, newBranch } from "../../support/make.ts";
import { newManifest } from "../../support/manifests.ts";
import { fundWallet } from "../../support/money.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";
import { setDestination } from "../../support/set-destination.ts";

let ground: Ground;
let tenant: Tenant;
beforeEach(async () => {
  ground = await newGround(await newTenant());
  tenant = ground.tenant;
  await saveSettings(tenant.id, "general.warehouse", {
    handoff_required: true,
    default_warehouse_id: ground.warehouse,
  });
});
afterEach(() => checkAll(tenant));

const shut = async (status: string, id = ground.warehouse) =>
  expect(await tenant.ops.put(`/warehousing/warehouses/${id}`, { status })).toSucceed(200);
const legsOf = (id: string) =>
  sql`select leg, status, dropoff_warehouse_id as into from delivery.deliveries
    where parent_id = ${id} order by sequence_plan`;

describe.each(["maintenance", "inactive", "full"])("while the default is %s", (status) => {
  test("orders of a manifest are parents with two legs", async () => {
    await shut(status);
    const branch = await newBranch(tenant);
    await fundWallet(tenant, "institution", tenant.institution.id, 10_000);
    const manifest = await newManifest(tenant, { items: 1 });
    const ordered = await tenant.dispatcher.post(setDestination, {
      item_ids: manifest.itemIds,
      destination_branch_id: branch,
      delivery_service_id: ground.service,
    });
    expect(ordered.body.data.created_count).toBe(1);
    const { id } = ordered.body.data.created[0].delivery;
    const { delivery } = (await tenant.dispatcher.get(`${path}/${id}`)).body;
    expect(delivery).toMatchObject({
      delivery_flow: "pnd_parent",
      staging_warehouse_id: ground.warehouse,
    });
    expect((await legsOf(id)).map((leg) => ({ ...leg }))).toEqual([
      { leg: "A", status: "pending", into: ground.warehouse },
      { leg: "B", status: "draft", into: null },
    ]);
  });

  test("a staged order that names no warehouse goes through it, and so does its draft", async () => {
    await shut(status);
    for (const more of [{}, { warehouse_id: ground.warehouse }]) {
      const { id } = await newDelivery(ground, { staged: true, ...more });
      expect((await legsOf(id))[0].into).toBe(ground.warehouse);
    }
    const draft = await newDelivery(ground, { staged: true, status: "draft" });
    expect(await tenant.ops.post(`${path}/${draft.id}/submit`)).toSucceed(200);
    expect((await legsOf(draft.id))[0].into).toBe(ground.warehouse);
  });
});

test("another warehouse that is shut stages nothing, nor does a default that was deleted", async () => {
  const { warehouse: other } = await newWarehouse(tenant, await newAddress(tenant));
  await shut("maintenance", other);
  const named = await tenant.ops.post(path, order(ground, { staged: true, warehouse_id: other }));
  expect(named).toFailWith(404, "warehouse_not_found");
  expect(named.body.field).toBe("warehouse_id");
  await sql`update warehousing.warehouses set deleted_at = now() where id = ${ground.warehouse}`;
  expect(await tenant.ops.post(path, order(ground, { staged: true })))
    .toFailWith(400, "staging_warehouse_required");
});
