/** Fees are booked with wallets last: after the drivers who are freed, and after the counter that gives legs their codes. */
import type { TransactionSql } from "postgres";
import { expect, test } from "vitest";
import { nobody } from "../support/api.ts";
import { sql, stack } from "../support/db.ts";
import {
  assign,
  newDelivery,
  newGround,
  newWarehouse,
  order,
  path,
} from "../support/deliveries.ts";
import "../support/expect.ts";
import { sendFile } from "../support/files.ts";
import { fundWallet } from "../support/money.ts";
import { newManifest } from "../support/manifests.ts";
import { locksBefore } from "../support/overlapping.ts";
import { newTenant, saveSettings, type Tenant } from "../support/people.ts";
import { type Destination, newDestination } from "../support/set-destination.ts";

const wallets = (tenant: { id: string }) => (tx: TransactionSql) =>
  tx`select from money.accounts where tenant_id = ${tenant.id} order by id for no key update nowait`;
const counter = (tenant: { id: string }) => (tx: TransactionSql) =>
  tx`select from app.counters where tenant_id = ${tenant.id} and counter = 'delivery_code' for no key update`;
const byWallet = { payer_type: "sender", payment_method: "wallet" };

/** Orders of a company are staged in its warehouse. */
async function staging(tenant: Tenant, from: string) {
  const { warehouse } = await newWarehouse(tenant, from);
  await saveSettings(tenant.id, "general.warehouse", {
    handoff_required: true,
    default_warehouse_id: warehouse,
  });
  await sql`insert into app.counters (tenant_id, counter) values (${tenant.id}, 'delivery_code') on conflict do nothing`;
}

test("a part of a large scan takes the codes of its legs before the wallets", async () => {
  const made: Destination = await newDestination();
  const { tenant } = made;
  await staging(tenant, (await newGround(tenant)).from);
  const { itemIds: item_ids } = await newManifest(tenant, { items: 1, status: "received" });
  const [item] = item_ids;
  await sql`insert into delivery.delivery_code_reservations (tenant_id, manifest_item_id, delivery_code)
    values (${tenant.id}, ${item}, 1)`;
  await sql`update app.counters set value = 1 where tenant_id = ${tenant.id} and counter = 'delivery_code'`;
  const [{ address_id }] =
    await sql`select address_id from delivery.institution_branches where id = ${made.branch}`;
  const body = {
    item_ids,
    destination: {
      branch_id: made.branch,
      address_id,
      service_id: made.service,
      recipient: { name: "Lana", phone: null },
    },
  };
  const answer = await locksBefore(
    counter(tenant),
    () =>
      nobody.post(`/delivery/internal/manifest-order-batches?tenant_id=${tenant.id}`, body, {
        headers: { apikey: stack.secretKey, "x-acting-user": tenant.ops.id },
      }),
    wallets(tenant),
  );
  expect(answer).toSucceed(200);
  expect(answer.body.failures).toEqual([]);
});

test("a staged draft that a wallet pays takes them before it as well", async () => {
  const tenant = await newTenant();
  const ground = await newGround(tenant);
  await fundWallet(tenant, "customer", tenant.customer.id, 10_000);
  await staging(tenant, ground.from);
  const staged = { staged: true, warehouse_id: ground.warehouse, status: "draft" };
  const { id } = await newDelivery(ground, { ...byWallet, ...staged });
  const answer = await locksBefore(
    counter(tenant),
    () => tenant.ops.post(`${path}/${id}/submit`),
    wallets(tenant),
  );
  expect(answer).toSucceed(200);
});

test("the cancellation of a file takes the drivers whom it frees before the wallets that get fees back", async () => {
  const tenant = await newTenant();
  const ground = await newGround(tenant);
  await fundWallet(tenant, "customer", tenant.customer.id, 10_000);
  const { recipient: _, ...line } = order(ground, {
    ...byWallet,
    "recipient.name": "Sara",
    "recipient.phone": "+9647701234567",
  });
  const { body: { import_id } } = await sendFile(tenant.ops, "/delivery/deliveries/import", [line]);
  const [{ delivery_id }] =
    await sql`select delivery_id from delivery.delivery_import_lines where import_id = ${import_id}`;
  await assign(tenant, delivery_id);
  const answer = await locksBefore(
    (tx) => tx`select from delivery.drivers where user_id = ${tenant.driver.id} for no key update`,
    () => tenant.ops.post(`/delivery/deliveries/imports/${import_id}/cancel`, { reason: "no" }),
    wallets(tenant),
  );
  expect(answer.body).toMatchObject({ cancelled: 1, left: [] });
});
