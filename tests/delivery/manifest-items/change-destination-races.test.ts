/** Changes of destination beside pickups, cancellations and each other. */
import { beforeAll, expect, test } from "vitest";
import { equip } from "../../support/assignments.ts";
import { sql } from "../../support/db.ts";
import { path as deliveries } from "../../support/deliveries.ts";
import { newBranch } from "../../support/make.ts";
import { balanceOf, checkBooks, newService } from "../../support/money.ts";
import type { Tenant } from "../../support/people.ts";
import {
  changeDestination,
  type Destination,
  newDestination,
  ordered,
  requestTo,
  setDestination,
} from "../../support/set-destination.ts";

let made: Destination;
let tenant: Tenant;
let services: string[];

beforeAll(async () => {
  made = await newDestination();
  tenant = made.tenant;
  services = await Promise.all(
    [1_700, 400].map((default_price) => newService(tenant, { default_price })),
  );
  await equip(tenant, tenant.driver.id);
});

const change = (item_ids: string[], delivery_service_id: string, branch = made.branch) =>
  tenant.dispatcher.post(changeDestination, {
    item_ids,
    destination_branch_id: branch,
    delivery_service_id,
  });

/** The payments for deliveries, and the institution's ledger debits for them. */
async function paid(ids: string[]) {
  const rows = await sql`select d.delivery_fee, p.amount from delivery.deliveries d
    join money.payments p on p.delivery_id = d.id and p.type = 'DELIVERY_FEE' and p.status = 'SUCCESS'
    where d.id = any (${ids})`;
  expect(rows).toHaveLength(ids.length);
  for (const row of rows) expect(row.amount).toBe(row.delivery_fee);
  return rows.reduce((sum, row) => sum + Number(row.amount), 0);
}

test("two changes: one after the other, and the wallet bears the price that stands", async () => {
  const before = await balanceOf(made.wallet);
  const { itemIds, orders } = await ordered(made, 4);
  for (let round = 0; round < 5; round++) {
    const answers = await Promise.all([
      change(itemIds, services[0]),
      change([...itemIds].reverse(), services[1]),
      change(itemIds, made.service),
    ]);
    for (const answer of answers) expect(answer.body.data.changed_count).toBe(4);
    const [{ n }] = await sql`select count(distinct delivery_service_id)::int as n
      from delivery.deliveries where id = any (${orders.map(({ id }) => id)})`;
    expect(n).toBe(1);
    expect(await balanceOf(made.wallet)).toBe(before - await paid(orders.map(({ id }) => id)));
  }
  expect(await checkBooks(tenant)).toEqual([]);
});

test("a change and a pickup: what is picked up first stays as it was", async () => {
  const branch = await newBranch(tenant);
  for (let round = 0; round < 6; round++) {
    const { itemIds, orders: [order] } = await ordered(made, 1);
    expect(
      await tenant.ops.post("/delivery/assignments", {
        delivery_id: order.id,
        driver_id: tenant.driver.id,
      }),
    ).toSucceed(201);
    const [{ id: assignment }] =
      await sql`select id from delivery.assignments where delivery_id = ${order.id}`;
    await sql`update delivery.assignments set status = 'accepted' where id = ${assignment}`;
    await sql`update delivery.deliveries set status = 'accepted' where id = ${order.id}
      and status = 'assigned'`;
    const [changed, pickup] = await Promise.all([
      change(itemIds, made.service, branch),
      tenant.ops.post(`${deliveries}/${order.id}/pickup`, {}),
    ]);
    expect(pickup).toSucceed(200);
    const [row] = await sql`select i.destination_branch_id, d.recipient ->> 'name' = b.name as there
      from delivery.transfer_manifest_items i
      join delivery.deliveries d on d.id = i.delivery_id
      join delivery.institution_branches b on b.id = ${branch}
      where i.id = ${itemIds[0]}`;
    const done = changed.body.data.changed_count === 1;
    if (!done) expect(changed.body.data.failed[0].error_key).toBe("delivery_already_picked_up");
    expect(row).toEqual({ destination_branch_id: done ? branch : made.branch, there: done });
    await sql`update delivery.deliveries set status = 'delivered' where id = ${order.id}`;
    await sql`update delivery.assignments set status = 'completed', ended_at = now()
      where id = ${assignment}`;
  }
});

test("a change, a cancellation and an order anew: each fee is paid and given back once", async () => {
  const before = await balanceOf(made.wallet);
  for (let round = 0; round < 6; round++) {
    const { itemIds, orders: [order] } = await ordered(made, 1);
    const [changed, cancelled] = await Promise.all([
      change(itemIds, services[round % 2]),
      tenant.dispatcher.post(`${deliveries}/${order.id}/cancel`, { reason: "no" }),
      tenant.dispatcher.post(setDestination, requestTo(made)(itemIds)),
    ]);
    expect(cancelled).toSucceed(200);
    expect(changed.status).toBe(200);
    const live = await sql`select id from delivery.deliveries
      where manifest_item_id = ${itemIds[0]} and status <> 'cancelled'`;
    expect(live.length).toBeLessThanOrEqual(1);
    for (const { id } of live) {
      expect(await tenant.dispatcher.post(`${deliveries}/${id}/cancel`, { reason: "no" }))
        .toSucceed(200);
    }
    expect(await balanceOf(made.wallet)).toBe(before);
  }
  expect(await checkBooks(tenant)).toEqual([]);
});
