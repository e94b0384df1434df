/** Cores lock what they share with others in the order that CONTRIBUTING.md gives; one that takes two of them the other way round waits in a circle with the rest. */
import { randomUUID } from "node:crypto";
import type { TransactionSql } from "postgres";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { newDriver } from "../support/assignments.ts";
import { enable, external, newExternal, report } from "../support/carriers.ts";
import { sql } from "../support/db.ts";
import { assign, moves, newGround, newWarehouse, order } from "../support/deliveries.ts";
import { sendFile } from "../support/files.ts";
import { newBranch } from "../support/make.ts";
import { newManifest } from "../support/manifests.ts";
import { fundWallet, newService } from "../support/money.ts";
import { approveOrder, newSplitShop, pick, picksOf } from "../support/order-goods.ts";
import { placeOrder } from "../support/orders.ts";
import { locksBefore } from "../support/overlapping.ts";
import { newTenant, saveSettings, type Tenant } from "../support/people.ts";
import { startReceiver } from "../support/receiver.ts";
import { newYard } from "../support/packages.ts";
import { fromWarehouse } from "../support/send-back.ts";
import { inTenant, newItem, stockIn } from "../support/warehouses.ts";
import { subscribe } from "../support/webhooks.ts";
import { waybillSteps } from "../support/waybills.ts";

let tenant: Tenant;
beforeAll(async () => {
  tenant = await newTenant();
});

/** A step of a call, as its function runs it for operations of the tenant. */
const step = <Row>(name: string, input: Record<string, unknown>): Promise<Row> =>
  sql.begin(async (tx) => {
    await tx`select set_config('app.tenant_id', ${tenant.id}, true), set_config('app.user_id', ${tenant.ops.id}, true),
      set_config('app.sees_tenant', 'on', true), set_config('app.operation', 'lock order', true)`;
    const [{ answer }] = await tx.unsafe(`select ${name}($1::text::jsonb) as answer`, [
      JSON.stringify(input),
    ]);
    return answer;
  }) as Promise<Row>;

test("a file of orders takes the counter of codes before wallets, also where nobody has taken a code", async () => {
  const own = await newTenant();
  const ground = await newGround(own);
  await fundWallet(own, "customer", own.customer.id, 10_000);
  const { recipient: _, ...line } = order(ground, {
    payer_type: "sender",
    payment_method: "wallet",
    "recipient.name": "Sara",
    "recipient.phone": "+9647701234567",
  });
  const answer = await locksBefore(
    (tx) =>
      tx`insert into app.counters (tenant_id, counter, value) values (${own.id}, 'delivery_code', 1)`,
    () => sendFile(own.ops, "/delivery/deliveries/import", [line]),
    (tx) =>
      tx`select from money.accounts where tenant_id = ${own.id} order by id for no key update nowait`,
  );
  expect(answer).toSucceed(201);
});

test("every step of a booking takes its key, the delivery, the shipment", async () => {
  await enable(tenant);
  const { id } = await newExternal(tenant);
  const key = randomUUID();
  const claim = await step<{ shipment_id: string; claim_token: string }>(
    "integration.shipment_begin",
    { delivery_id: id, carrier_code: "simulated", collects_cash: true, key },
  );
  const shipment = (tx: TransactionSql) =>
    tx`select from integration.carrier_shipments where delivery_id = ${id} for update nowait`;
  const booked = { ...claim, tracking_number: "T-1", key };
  await expect(locksBefore(
    (tx) => tx`select from app.idempotency_keys where key = ${key} for update`,
    () => step("integration.shipment_booked", { ...booked, claim_token: randomUUID() }),
    async (tx) => {
      await tx`select from delivery.deliveries where id = ${id} for no key update nowait`;
      await shipment(tx);
    },
  )).rejects.toThrow("shipment_in_progress");
  await locksBefore(
    (tx) => tx`select from delivery.deliveries where id = ${id} for no key update`,
    () => step("integration.shipment_booked", booked),
    shipment,
  );
  for (
    const [name, input] of [
      ["shipment_abandon", { ...claim, keep: false, key }],
      ["cancel_finish", { ...claim, cancelled: false, key }],
    ] as const
  ) {
    await locksBefore(
      (tx) => tx`select from app.idempotency_keys where key = ${key} for update`,
      () => step(`integration.${name}`, input).catch(() => {}),
      shipment,
    );
  }
});

test("an attempt by hand takes its key before the event", async () => {
  const { url, close } = await startReceiver();
  onTestFinished(() => close());
  const { id } = await subscribe(tenant, url);
  const key = randomUUID();
  const { claimed } = await step<{ claimed: { id: string; claim_token: string } }>(
    "integration.test_begin",
    { id, key },
  );
  await locksBefore(
    (tx) => tx`select from app.idempotency_keys where key = ${key} for update`,
    () => step("integration.attempt_abandon", { ...claimed, error_message: "none", key }),
    (tx) => tx`select from integration.webhook_events where id = ${claimed.id} for update nowait`,
  );
});

test("orders of a manifest take the default driver before their codes", async () => {
  const driver = await newDriver(tenant);
  const { warehouse } = await newWarehouse(tenant, (await newGround(tenant)).from);
  await Promise.all([
    saveSettings(tenant.id, "general.warehouse", {
      handoff_required: true,
      default_warehouse_id: warehouse,
    }),
    saveSettings(tenant.id, "delivery.assignment_change_settings", {
      default_driver_id: driver.id,
    }),
    saveSettings(tenant.id, "delivery.transfer_manifest", {
      allow_warehouse_staging_without_assigned_driver: true,
    }),
    fundWallet(tenant, "institution", tenant.institution.id, 10_000_000),
  ]);
  const manifest = await newManifest(tenant, { items: 2 });
  await sql`insert into app.counters (tenant_id, counter) values (${tenant.id}, 'delivery_code') on conflict do nothing`;
  const body = {
    item_ids: manifest.itemIds,
    destination_branch_id: await newBranch(tenant),
    delivery_service_id: await newService(tenant),
  };
  const answer = await locksBefore(
    (tx) => tx`select from delivery.drivers where user_id = ${driver.id} for no key update`,
    () => tenant.ops.post("/delivery/transfer-manifest-items/bulk/set-destination", body),
    (tx) =>
      tx`select from app.counters where tenant_id = ${tenant.id} and counter = 'delivery_code' for no key update nowait`,
  );
  expect(answer.body.data.created_count).toBe(2);
});

test("a receipt takes the driver who brings the parcel before the wallet that gets the fee back", async () => {
  const own = await newTenant();
  const yard = await newYard(own);
  await fundWallet(own, "customer", own.customer.id, 10_000);
  await sql`update delivery.delivery_services set policy_mode = 'custom',
    policy_overrides = '{"payment_policies": {"refund_delivery_fee_on_return": true}}' where id = ${yard.service}`;
  const { id } = await fromWarehouse(yard, { payer_type: "sender", payment_method: "wallet" });
  await assign(own, id);
  const { receiving_order_id } = await moves(own.driver, id, "pickup", "depart", [
    "return",
    { warehouse_id: yard.warehouse },
  ]);
  const answer = await locksBefore(
    (tx) => tx`select from delivery.drivers where user_id = ${own.driver.id} for no key update`,
    () =>
      own.ops.put(`/warehousing/receiving-orders/${receiving_order_id}`, { status: "received" }),
    (tx) =>
      tx`select from money.accounts where tenant_id = ${own.id} order by id for no key update nowait`,
  );
  expect(answer).toSucceed(200);
});

test("a waybill of raw inventory takes its stock before the codes of its deliveries", async () => {
  const own = await newTenant();
  const yard = await newYard(own);
  const item_id = await newItem(own);
  await stockIn(own, { item_id, warehouse_id: yard.warehouse, bin_id: yard.bin!, quantity: 2 });
  await sql`insert into app.counters (tenant_id, counter) values (${own.id}, 'delivery_code') on conflict do nothing`;
  const answer = await locksBefore(
    (tx) => tx`select from warehousing.stock where item_id = ${item_id} for no key update`,
    () =>
      waybillSteps(own, yard).create({
        inventory_item_ids: [item_id],
        new_delivery_defaults: {
          customer_id: own.customer.id,
          delivery_service_id: yard.service,
          payer_type: "sender",
          payment_method: "cash",
        },
      }),
    (tx) =>
      tx`select from app.counters where tenant_id = ${own.id} and counter = 'delivery_code' for no key update nowait`,
  );
  expect(answer).toSucceed(201);
});

test.each(
  [
    ["cash", "delivered"],
    ["wallet", "delivered"],
    ["wallet", "returned"],
  ] as const,
)(
  "a carrier's report on an order by %s that it %s takes wallets before the stock that leaves by it",
  async (method, status) => {
    const shop = await newSplitShop({ first: 20, second: 0, picking: true });
    const { secret } = await enable(shop.tenant);
    await inTenant(shop.tenant, "select money.account_of('wallet', 'tenant', null, 'IQD')");
    const { id } = await placeOrder(shop, method, 2);
    const { deliveries: [{ delivery_id }] } = await approveOrder(shop, id);
    expect(await pick(shop, (await picksOf(id))[0]!.id)).toSucceed(200);
    const path = `/delivery/deliveries/${delivery_id}/carrier`;
    expect(await shop.tenant.ops.patch(path, external)).toSucceed(200);
    const booked = await shop.tenant.ops.post(`/carriers/shipments/${delivery_id}`, {
      carrier_code: "simulated",
    });
    expect(booked).toSucceed(200);
    const { tracking_number } = booked.body.shipment;
    const wallets = (tx: TransactionSql) =>
      tx`select from money.accounts where tenant_id = ${shop.tenant.id} and kind = 'wallet' order by id for no key update`;
    const { body } = await locksBefore(
      wallets,
      () => report(shop.tenant, secret, { tracking_number, status }),
      (tx) =>
        tx`select from warehousing.stock where tenant_id = ${shop.tenant.id} order by id for no key update nowait`,
    );
    expect(body).toMatchObject({ outcome: "applied" });
  },
);
