/** Bookings on several accounts lock them in the order of their ids; the debt of a carrier comes before all others. */
import { randomUUID } from "node:crypto";
import type { TransactionSql } from "postgres";
import { describe, expect, test } from "vitest";
import { bookedCash, carriedCash, enable, report } from "../support/carriers.ts";
import { newCash, remit, selected } from "../support/cod.ts";
import { sql } from "../support/db.ts";
import { checkAll, moves, newDelivery, newGround, path } from "../support/deliveries.ts";
import "../support/expect.ts";
import { fundWallet } from "../support/money.ts";
import { undo } from "../support/outcomes.ts";
import { locksBefore } from "../support/overlapping.ts";
import { newPerson, newTenant, saveSettings, type Tenant } from "../support/people.ts";
import { broughtInto, received } from "../support/send-back.ts";
import { takeBack } from "../support/settlements.ts";
import { newHauling } from "../support/waybills.ts";

/** An account whose id comes before those that are made as usual, or after them. */
async function account(
  tenant: { id: string },
  place: "first" | "last",
  more: Record<string, unknown>,
): Promise<string> {
  const id = (place === "first" ? "00000000" : "ffffffff") + randomUUID().slice(8);
  await sql`insert into money.accounts ${
    sql({ id, tenant_id: tenant.id, kind: "wallet", currency: "IQD", floor: 0, ...more } as never)
  }`;
  return id;
}

const outside = { kind: "external", owner_type: "tenant", floor: null };
const held = (id: string) => (tx: TransactionSql) =>
  tx`select from money.accounts where id = ${id} for no key update`;
const free = (...kinds: string[]) => (tx: TransactionSql, tenant: Tenant) =>
  tx`select from money.accounts where tenant_id = ${tenant.id} and kind = any (${kinds})
    order by id for no key update nowait`;

describe("cash that a carrier takes, where what it comes from has the lowest id", () => {
  async function carried() {
    const tenant = await newTenant();
    const external = await account(tenant, "first", outside);
    await account(tenant, "last", { owner_type: "customer", owner_user_id: tenant.customer.id });
    const ground = await newGround(tenant);
    const { secret } = await enable(tenant);
    const wallets = (tx: TransactionSql) => free("wallet", "cod_clearing")(tx, tenant);
    return { tenant, external, ground, secret, wallets };
  }

  test("its report locks that before wallets", async () => {
    const { tenant, external, ground, secret, wallets } = await carried();
    const { tracking_number } = await bookedCash(ground);
    const delivered = () => report(tenant, secret, { tracking_number, status: "delivered" });
    const { body } = await locksBefore(held(external), delivered, wallets);
    expect(body).toMatchObject({ outcome: "applied" });
    await checkAll(tenant);
  });

  test("so does the office that completes for it", async () => {
    const { tenant, external, ground, wallets } = await carried();
    const { id } = await bookedCash(ground);
    await moves(tenant.ops, id, "depart");
    const complete = () => tenant.ops.post(`${path}/${id}/complete`, {});
    expect(await locksBefore(held(external), complete, wallets)).toSucceed(200);
    await checkAll(tenant);
  });

  test("and an undo of either", async () => {
    const { tenant, external, ground, secret, wallets } = await carried();
    const { id } = await carriedCash(ground, secret);
    expect(await locksBefore(held(external), () => undo(tenant.ops, id), wallets)).toSucceed(200);
    await checkAll(tenant);
  });

  test.each(["report", "undo"])("the carrier's debt comes before them: %s", async (call) => {
    const { tenant, ground, secret } = await carried();
    const { id } = await carriedCash(ground, secret);
    const { tracking_number } = await bookedCash(ground);
    const answer = await locksBefore(
      (tx) =>
        tx`select from money.accounts where tenant_id = ${tenant.id} and kind = 'carrier_cash' for no key update`,
      () =>
        call === "undo"
          ? undo(tenant.ops, id)
          : report(tenant, secret, { tracking_number, status: "delivered" }),
      (tx) => free("wallet", "cod_clearing", "external")(tx, tenant),
    );
    expect(answer).toSucceed(200);
    await checkAll(tenant);
  });
});

test("the reversal of a remittance locks who bore its shortage with the desk, by their ids", async () => {
  const tenant = await newTenant();
  const external = await account(tenant, "first", outside);
  const { id } = await newCash(tenant);
  const counted = await tenant.dispatcher.post("/delivery/cod-collections/handover", {
    driver_id: tenant.driver.id,
    amount: 1250,
    counted_amount: 1000,
  });
  const handover = `/delivery/cod-collections/handovers/${counted.body.data.id}`;
  expect(await tenant.dispatcher.post(`${handover}/resolve`, { resolution: "written_off" }))
    .toSucceed(200);
  const remitted = await tenant.dispatcher.post(remit, selected(id));
  expect(remitted).toSucceed(200);
  const answer = await locksBefore(
    held(external),
    () => takeBack(tenant.admin, remitted.body.data.settlement_payment_id),
    (tx) => free("cash_on_hand", "driver_cash")(tx, tenant),
  );
  expect(answer).toSucceed(200);
  await checkAll(tenant);
});

test.each([0, 1])(
  "a waybill that brings back parcels of two senders locks their wallets by their ids: %i",
  async (lowest) => {
    const { tenant, yard, create, step } = await newHauling();
    await sql`update delivery.delivery_services set policy_mode = 'custom',
      policy_overrides = '{"payment_policies": {"refund_delivery_fee_on_return": true}}' where id = ${yard.service}`;
    await saveSettings(tenant.id, "general.warehouse", { default_warehouse_id: yard.there });
    await saveSettings(tenant.id, "general.delivery", {
      return_requests: { destination_mode: "warehouse" },
    });
    const senders = [tenant.customer, await newPerson(tenant.id, "customer", "customer")];
    await account(tenant, "last", { owner_type: "tenant" });
    const wallets: string[] = [];
    const backs: string[] = [];
    for (const [place, { id: customer_id }] of senders.entries()) {
      const owner = { owner_type: "customer", owner_user_id: customer_id };
      wallets.push(await account(tenant, place === lowest ? "first" : "last", owner));
      await fundWallet(tenant, "customer", customer_id, 2000);
      const paid = { customer_id, payer_type: "sender", payment_method: "wallet" };
      const { id } = await newDelivery(yard, paid);
      await received(yard, await broughtInto(yard, id, yard.warehouse));
      const back = await tenant.ops.post(`${path}/${id}/operational-return`, { reason: "x" });
      expect(back).toSucceed(201);
      backs.push(back.body.id);
    }
    const made = await create({ delivery_ids: backs });
    expect(made).toSucceed(201);
    const { id } = made.body.waybill;
    expect(await step(id, "seal")).toSucceed(200);
    expect(await step(id, "driver-handover", { driver_id: tenant.driver.id })).toSucceed(200);
    const answer = await locksBefore(
      held(wallets[lowest]!),
      () => step(id, "receive"),
      (tx) =>
        tx`select from money.accounts where id = ${wallets[1 - lowest]!} for no key update nowait`,
    );
    expect(answer).toSucceed(200);
    const refunded = await sql`select balance from money.accounts where id = any (${wallets})`;
    expect(refunded.map(({ balance }) => Number(balance))).toEqual([2000, 2000]);
    await checkAll(tenant);
  },
);
