/** A driver reads the parcels that they carry or carried, and no other: not one that was withdrawn first, nor any once they drive no more. */
import { beforeEach, expect, test } from "vitest";
import type { Person } from "../../support/api.ts";
import { handOver, newDriver } from "../../support/assignments.ts";
import { newSearching, onDuty, ordered, timePasses } from "../../support/auto-assignment.ts";
import { sql } from "../../support/db.ts";
import {
  assign,
  type Ground,
  moves,
  newDelivery,
  newGround,
  path,
} from "../../support/deliveries.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let ground: Ground;
let tenant: Tenant;
beforeEach(async () => {
  ground = await newGround(await newTenant());
  tenant = ground.tenant;
});

/** Whether a person finds a delivery, by itself, in the list, and as the driver whose deliveries are listed. */
async function reads(person: Person, id: string): Promise<boolean[]> {
  const one = await person.get(`${path}/${id}?include=proof_links`);
  if (one.status !== 200) expect(one).toFailWith(404, "delivery_not_found");
  const list = await person.get(path);
  const office = await tenant.ops.get(path, { query: { driver_id: person.id } });
  const has = ({ body }: typeof list) => body.data.some((row: { id: string }) => row.id === id);
  return [one.status === 200, has(list), has(office)];
}
const all = [true, true, true];
const none = [false, false, false];
const assignmentOf = async (id: string) =>
  (await sql`select id from delivery.assignments where delivery_id = ${id}
    and status in ('pending', 'assigned', 'accepted')`)[0].id as string;

test("one that the office withdraws before it was picked up is read no more; one that was carried is", async () => {
  const other = await newDriver(tenant);
  const { id } = await newDelivery(ground);
  await assign(tenant, id);
  expect(await reads(tenant.driver, id)).toEqual(all);
  const back = await tenant.ops.post(`/delivery/assignments/${await assignmentOf(id)}/unassign`);
  expect(back).toSucceed(200);
  expect(await reads(tenant.driver, id)).toEqual(none);
  await assign(tenant, id, other);
  await moves(other, id, "pickup", "depart", "complete");
  expect(await reads(tenant.driver, id)).toEqual(none);
  expect(await reads(other, id)).toEqual(all);
});

test("one that is handed over waits for who confirms it: who never did reads it no more, who had it does", async () => {
  const [second, third] = [await newDriver(tenant), await newDriver(tenant)];
  const { id } = await newDelivery(ground);
  await assign(tenant, id);
  await moves(tenant.driver, id, "pickup", "depart");
  await handOver(tenant.ops, tenant.driver, second, [id]);
  expect(await reads(second, id)).toEqual(all);
  await handOver(tenant.ops, second, third, [id]);
  expect(await reads(second, id)).toEqual(none);
  expect(await reads(tenant.driver, id)).toEqual(all);
});

test("an offer that was not answered in time is read no more than one that was rejected", async () => {
  const searching = await newSearching({ retry_after_minutes: 5 });
  ground = searching;
  tenant = searching.tenant;
  const [one, two] = [await onDuty(tenant), await onDuty(tenant)];
  const { id } = await ordered(searching);
  const [{ driver_id }] =
    await sql`select driver_id from delivery.assignments where delivery_id = ${id}`;
  const [silent, next] = driver_id === one.id ? [one, two] : [two, one];
  expect(await reads(silent, id)).toEqual(all);
  await timePasses(tenant);
  expect(await reads(silent, id)).toEqual(none);
  expect(await reads(next, id)).toEqual(all);
});

test("who drove once and is a customer now reads none of it, and asks for no other amount", async () => {
  const { id } = await newDelivery(ground, { cod_amount: 5_000 });
  await assign(tenant, id);
  await moves(tenant.driver, id, "pickup");
  const change = { cod_amount: 4_000, reason: "Damaged" };
  await sql`update tenancy.tenant_users set tenant_user_type = 'customer'
    where tenant_id = ${tenant.id} and user_id = ${tenant.driver.id}`;
  await sql`delete from tenancy.tenant_user_roles where tenant_id = ${tenant.id} and user_id = ${tenant.driver.id}`;
  await sql`insert into tenancy.tenant_user_roles (tenant_id, user_id, role_key)
    values (${tenant.id}, ${tenant.driver.id}, 'customer')`;
  expect(await reads(tenant.driver, id)).toEqual([false, false, true]);
  expect(await tenant.driver.post(`${path}/${id}/amount-changes`, change))
    .toFailWith(404, "delivery_not_found");
});
