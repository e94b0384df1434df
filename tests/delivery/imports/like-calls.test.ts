/** A line of a file of deliveries is checked like a call of its own, and what several lines need is locked in one order. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import {
  checkAll,
  deliveryIn,
  type Ground,
  newGround,
  order,
  path as deliveries,
} from "../../support/deliveries.ts";
import { sendFile } from "../../support/files.ts";
import { balanceOf, fundWallet, newService } from "../../support/money.ts";
import { locksBefore } from "../../support/overlapping.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

const path = `${deliveries}/import`;
let tenant: Tenant;
let ground: Ground;
beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});
afterAll(() => checkAll(tenant));

test("null in a cell of JSON is nothing, as in a call", async () => {
  const body = order(ground, {
    dropoff_address_id: undefined,
    delivery_location: { latitude: 33.3, longitude: 44.4, full_address: null, title: null },
    package: { items: [{ name: "Shoes", weight: null }] },
  });
  const made = [await tenant.ops.post(deliveries, body), await sendFile(tenant.ops, path, [body])];
  for (const answer of made) expect(answer).toSucceed(201);
  const rows =
    await sql`select d.dropoff_snapshot - '{id,created_at,updated_at}'::text[] as dropoff, d.package_details, d.delivery_fee
    from delivery.deliveries d where d.id = any (${[made[0].body.id, ...made[1].body.ids]})`;
  expect(rows).toHaveLength(2);
  expect({ ...rows[0] }).toEqual({ ...rows[1] });
});

test("a file of returns locks the wallets of those whose deliveries come back in the order of their ids", async () => {
  const people = [
    { customer_id: tenant.customer.id },
    { customer_id: undefined, institution_user_id: tenant.institution.id },
  ];
  const wallets = [
    await fundWallet(tenant, "customer", tenant.customer.id, 10_000),
    await fundWallet(tenant, "institution", tenant.institution.id, 10_000),
  ];
  const service = await newService(tenant, { allow_returns: true });
  const [low, high] = wallets.toSorted();
  const delivered = new Map<string, string>();
  for (const [index, sender] of people.entries()) {
    delivered.set(wallets[index], (await deliveryIn(ground, "delivered", sender)).id);
  }
  const rows = [high, low].map((wallet) => ({
    delivery_flow: "customer_return",
    original_delivery_id: delivered.get(wallet),
    delivery_service_id: service,
    payer_type: "sender",
    payment_method: "wallet",
    unit_size: 2,
  }));
  const answer = await locksBefore(
    (tx) => tx`select from money.accounts where id = ${low} for no key update`,
    () => sendFile(tenant.ops, path, rows),
    (tx) => tx`select from money.accounts where id = ${high} for no key update nowait`,
  );
  expect(answer).toSucceed(201);
  expect(await Promise.all(wallets.map(balanceOf))).toEqual([8_000, 8_000]);
});
