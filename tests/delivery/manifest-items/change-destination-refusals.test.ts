/** Obstacles to a change of destination, and callers who may not make one. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { equip, move } from "../../support/assignments.ts";
import { sql, stack } from "../../support/db.ts";
import { newWarehouse } from "../../support/deliveries.ts";
import { newAddress, newBranch } from "../../support/make.ts";
import { newManifest } from "../../support/manifests.ts";
import { newService } from "../../support/money.ts";
import { newTenant, saveSettings } from "../../support/people.ts";
import {
  type Change,
  changeDestination,
  newChange,
  newDestination,
  ordered,
} from "../../support/set-destination.ts";

let { made, tenant, other, change } = {} as Change;

beforeAll(async () => {
  ({ made, tenant, other, change } = await newChange());
});

describe("change-destination", () => {
  test("says of each item why it cannot go elsewhere", async () => {
    const { itemIds, orders } = await ordered(made, 2);
    await equip(tenant, tenant.driver.id);
    await move(orders[0].id, "assigned", "accepted", "picked_up");
    await move(orders[1].id, "assigned", "accepted", "picked_up", "delivered");
    const plain = await newManifest(tenant, {
      status: "received",
      items: [{}, { status: "void" }],
    });
    const stranger = await newDestination();
    const theirs = await ordered(stranger, 1);
    const ids = [...itemIds, ...plain.itemIds, theirs.itemIds[0], randomUUID()];
    for (const dry_run of [false, true]) {
      const answer = await change(ids, { dry_run });
      expect(answer.body.success).toBe(false);
      expect(answer.body.data.failed.map((f: { error_key: string }) => f.error_key)).toEqual([
        "delivery_already_picked_up",
        "delivery_ended",
        "item_has_no_order",
        "item_void",
        "item_not_found",
        "item_not_found",
      ]);
    }
  });

  test("of an assigned order asks whether its driver may go there, and tells them", async () => {
    const { orders: [order], itemIds } = await ordered(made, 1);
    await equip(tenant, tenant.driver.id);
    expect(
      await tenant.ops.post("/delivery/assignments", {
        delivery_id: order.id,
        driver_id: tenant.driver.id,
      }),
    )
      .toSucceed(201);
    await sql`update delivery.drivers set all_zones = false where user_id = ${tenant.driver.id}`;
    const refused = await change(itemIds);
    expect(refused.body.data.failed[0].error_key).toBe("driver_not_allowed_in_delivery_zone");
    await sql`update delivery.drivers set all_zones = true where user_id = ${tenant.driver.id}`;
    expect(await change(itemIds)).toSucceed(200);
    const [{ n }] = await sql`select count(*)::int as n from tenancy.notifications
      where user_id = ${tenant.driver.id} and type = 'delivery_changed' and payload ->> 'delivery_id' = ${order.id}`;
    expect(n).toBe(1);
  });

  test("of a staged order goes into the leg that brings it there", async () => {
    const staged = await newDestination();
    const { warehouse } = await newWarehouse(staged.tenant, await newAddress(staged.tenant));
    await saveSettings(staged.tenant.id, "general.warehouse", {
      handoff_required: true,
      default_warehouse_id: warehouse,
    });
    const { itemIds, orders: [order] } = await ordered(staged, 1);
    const branch = await newBranch(staged.tenant);
    const answer = await staged.tenant.dispatcher.post(changeDestination, {
      item_ids: itemIds,
      destination_branch_id: branch,
    });
    expect(answer).toSucceed(200);
    const [{ address_id, name }] =
      await sql`select * from delivery.institution_branches where id = ${branch}`;
    const legs =
      await sql`select leg, dropoff_address_id, recipient ->> 'name' as name, delivery_fee
      from delivery.deliveries where parent_id = ${order.id} order by leg`;
    const [{ address_id: warehouseAddress }] =
      await sql`select address_id from warehousing.warehouses where id = ${warehouse}`;
    expect(legs).toEqual([
      { leg: "A", dropoff_address_id: warehouseAddress, name, delivery_fee: 0 },
      { leg: "B", dropoff_address_id: address_id, name, delivery_fee: 0 },
    ]);
  });

  test("refuses destinations that no item can have, and callers who are not staff", async () => {
    const { itemIds } = await ordered(made, 1);
    const stranger = await newDestination();
    expect(await change(itemIds, { destination_branch_id: stranger.branch })).toFailWith(
      404,
      "branch_not_found",
    );
    expect(
      await change(itemIds, {
        destination_branch_id: undefined,
        destination_address_id: randomUUID(),
      }),
    ).toFailWith(404, "address_not_found");
    expect(await change(itemIds, { delivery_service_id: stranger.service })).toFailWith(
      404,
      "service_not_found",
    );
    const off = await newService(tenant, { active: false });
    expect(await change(itemIds, { delivery_service_id: off })).toFailWith(
      400,
      "delivery_service_not_available",
    );
    expect(await change(itemIds, { destination_branch_id: undefined })).toFailWith(
      400,
      "one_destination_required",
    );
    const body = { item_ids: itemIds, destination_branch_id: other };
    for (
      const person of [
        tenant.warehouse,
        tenant.driver,
        tenant.institution,
        tenant.customer,
        tenant.staff,
      ]
    ) {
      expect(await person.post(changeDestination, body)).toFailWith(403, "forbidden");
    }
    expect(await nobody.post(changeDestination, body)).toFailWith(401, "unauthorized");
    const few = await newService(tenant, { access_mode: "select_users" });
    const answer = await change(itemIds, { delivery_service_id: few });
    expect(answer.body.data.failed[0].error_key).toBe("delivery_service_not_available");
  });

  test("with manifests switched off is answered by the gate", async () => {
    const off = await newTenant({ settings: { "delivery.transfer_manifest": { enabled: false } } });
    expect(await off.ops.post(changeDestination, {})).toFailWith(403, "transfer_manifest_disabled");
  });

  test("a batch is made for the system alone", async () => {
    const batch = "/delivery/internal/manifest-change-batches";
    expect(await nobody.post(batch, {})).toFailWith(401, "unauthorized");
    expect(await tenant.admin.post(batch, {})).toFailWith(403, "forbidden");
  });

  test.for(
    [
      ["address_not_found", () => ({ address_id: randomUUID() })],
      ["branch_not_found", () => ({ branch_id: randomUUID() })],
      ["delivery_service_not_available", () => ({ service_id: randomUUID() })],
    ] as const,
  )("what is gone when a batch is made fails the item (%s) and writes nothing", async ([
    code,
    gone,
  ]) => {
    const { itemIds, orders } = await ordered(made, 1);
    const read = () =>
      sql`select delivery_service_id, delivery_fee, recipient, dropoff_address_id from delivery.deliveries
        where tenant_id = ${tenant.id} and id = ${orders[0].id}`;
    const before = await read();
    const answer = await nobody.post(
      `/delivery/internal/manifest-change-batches?tenant_id=${tenant.id}`,
      {
        item_ids: itemIds,
        destination: {
          branch_id: null,
          address_id: await newAddress(tenant),
          service_id: null,
          recipient: { name: "Lana", phone: null },
          ...gone(),
        },
      },
      { headers: { apikey: stack.secretKey } },
    );
    expect(answer.body.failures).toEqual([
      expect.objectContaining({ item_id: itemIds[0], code }),
    ]);
    expect(await read()).toEqual(before);
  });
});
