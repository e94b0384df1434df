/** An order whose customer has left the company meanwhile, or become something else there, is sent or given back as agreed. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { Body, Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { assign, moves, newGround, order as deliveryOf } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { newService } from "../../support/money.ts";
import { accept, invited } from "../../support/invitations.ts";
import { approveOrder, withDriver } from "../../support/order-goods.ts";
import {
  checkAll,
  home,
  newShop,
  placeOrder,
  type Shop,
  standing,
  walletOf,
} from "../../support/orders.ts";
import { newPerson } from "../../support/people.ts";

let shop: Shop;
beforeAll(async () => {
  shop = await newShop({ stock: 1_000 });
  await withDriver(shop);
});

/** The wallets of a person as a customer, as the office lists them. */
async function pursesOf({ id }: Person): Promise<Body[]> {
  const answer = await shop.tenant.admin.get("/delivery/wallets", {
    query: { owner_id: id, owner_type: "customer" },
  });
  expect(answer).toSucceed(200);
  return answer.body.data;
}

/** The customer leaves the company. */
async function leaves(customer: Person): Promise<void> {
  expect(await customer.post(`/tenants/${shop.tenant.id}/leave`)).toSucceed(200);
}

/** The customer leaves, and comes back as something else. */
async function returnsAs(customer: Person, type: string, role: string): Promise<void> {
  await leaves(customer);
  const [{ email }] = await sql`update auth.users set email_confirmed_at = now()
    where id = ${customer.id} returning email`;
  const { id } = await invited(shop.tenant, email, { tenant_user_type: type, roles: [role] });
  expect(await accept(customer, id)).toSucceed(200);
}

const fates: [string, (customer: Person) => Promise<void>][] = [
  ["has left", leaves],
  ["is staff now", (customer) => returnsAs(customer, "staff", "dispatcher")],
  ["is a driver now", (customer) => returnsAs(customer, "driver", "driver")],
  ["is an institution now", (customer) => returnsAs(customer, "institution", "institution")],
];

describe.each(fates)("a customer who %s", (_fate, befalls) => {
  async function ordered(method: "wallet" | "cash") {
    const customer = await newPerson(shop.tenant.id, "customer", "customer");
    const { id } = await placeOrder(shop, method, 1, customer);
    await befalls(customer);
    return { id, customer };
  }
  const change = (id: string, step: string, body = {}) =>
    shop.tenant.admin.put(`/storefront/orders/${id}/${step}`, body);
  /** Approved and on its way. */
  async function underWay(id: string): Promise<string> {
    const { delivery_id } = (await approveOrder(shop, id)).delivery_assigned;
    await assign(shop.tenant, delivery_id);
    await moves(shop.tenant.driver, delivery_id, "pickup", "depart");
    return delivery_id;
  }

  test.each(["wallet", "cash"] as const)("gets what they paid by %s", async (method) => {
    const { id, customer } = await ordered(method);
    const before = await walletOf(shop.tenant, null);
    const delivery = await underWay(id);
    const read = await shop.tenant.ops.get(`/delivery/deliveries/${delivery}`);
    expect(read).toSucceed(200);
    const [{ full_name }] =
      await sql`select full_name from tenancy.profiles where id = ${customer.id}`;
    expect(read.body.delivery).toMatchObject({
      customer_id: customer.id,
      institution_user_id: null,
      recipient: { name: full_name, phone: home.contact_info.phone },
    });
    await moves(shop.tenant.driver, delivery, "complete");
    expect(await standing(id)).toMatchObject({
      status: "delivered",
      payment_status: "paid",
      paid: 1,
    });
    const shown = await shop.tenant.admin.get(`/storefront/orders/${id}`);
    expect(shown).toSucceed(200);
    expect(shown.body.data.order.customer).toMatchObject({ id: customer.id, full_name });
    // Cash taken at the door is the shop's from then on; the wallet has paid before.
    expect(await walletOf(shop.tenant, null) - before).toBe(method === "cash" ? 6_000 : 0);
    await checkAll(shop.tenant);
  });

  test("sends back what they got, at a call of the office", async () => {
    const { id, customer } = await ordered("wallet");
    const delivery = await underWay(id);
    await moves(shop.tenant.driver, delivery, "complete");
    const answer = await shop.tenant.ops.post("/delivery/deliveries", {
      delivery_flow: "customer_return",
      original_delivery_id: delivery,
      delivery_service_id: await newService(shop.tenant, { allow_returns: true }),
      payer_type: "receiver",
      payment_method: "cash",
      unit_size: 1,
      status: "draft",
    });
    expect(answer).toSucceed(201);
    const path = `/delivery/deliveries/${answer.body.delivery.id}`;
    expect(await shop.tenant.ops.patch(path, { notes: "Ring twice" })).toSucceed(200);
    expect(await shop.tenant.ops.post(`${path}/submit`)).toSucceed(200);
    expect((await shop.tenant.ops.get(path)).body.delivery)
      .toMatchObject({ customer_id: customer.id, notes: "Ring twice", status: "pending" });
    await checkAll(shop.tenant);
  });

  test("gets back what they paid when it is cancelled", async () => {
    const { id, customer } = await ordered("wallet");
    await approveOrder(shop, id);
    const answer = await change(id, "cancel", { reason: "other" });
    expect(answer).toSucceed(200);
    expect(answer.body.data).toMatchObject({ delivery_cancelled: true, refund: { amount: 6_000 } });
    // It can be paid out, as every wallet can.
    const [purse] = await pursesOf(customer);
    expect(purse).toMatchObject({ balance: 6_000, owner_id: customer.id });
    const paid = await shop.tenant.admin.post(`/delivery/wallets/${purse.id}/adjust`, {
      amount: 6_000,
      direction: "debit",
      reason: "Paid out at the desk",
    }, { headers: { "idempotency-key": randomUUID() } });
    expect(paid).toSucceed(200);
    expect(await pursesOf(customer)).toMatchObject([{ balance: 0 }]);
    await checkAll(shop.tenant);
  });

  test("gets back what they paid when the parcel comes back", async () => {
    const { id, customer } = await ordered("wallet");
    const delivery = await underWay(id);
    await moves(shop.tenant.driver, delivery, "fail", "return");
    expect(await standing(id)).toMatchObject({ status: "cancelled", refunds: 1 });
    expect(await pursesOf(customer)).toMatchObject([{ balance: 6_000 }]);
    await checkAll(shop.tenant);
  });
});

test("no request makes a delivery an order's, to name somebody who is no customer any more", async () => {
  const ground = await newGround(shop.tenant);
  const customer = await newPerson(shop.tenant.id, "customer", "customer");
  const { id } = await placeOrder(shop, "wallet", 1, customer);
  await leaves(customer);
  const { ops, institution } = shop.tenant;
  const body = deliveryOf(ground, { order_id: id });
  expect(await ops.post("/delivery/deliveries", { ...body, customer_id: customer.id }))
    .toFailWith(404, "customer_not_found");
  expect(await institution.post("/delivery/deliveries", { ...body, customer_id: customer.id }))
    .toFailWith(403, "forbidden");
  const made = await ops.post("/delivery/deliveries", { ...body, status: "draft" });
  const path = `/delivery/deliveries/${made.body.delivery.id}`;
  expect(await ops.patch(path, { order_id: id, customer_id: customer.id }))
    .toFailWith(404, "customer_not_found");
  expect(await ops.patch(path, { order_id: randomUUID(), notes: "Ring" })).toSucceed(200);
  expect(
    await sql`select from delivery.deliveries where tenant_id = ${shop.tenant.id} and order_id = ${id}`,
  )
    .toHaveLength(0);
});
