/** Warehouses for chosen people are for business users only, also when somebody stops being one. */
import type postgres from "postgres";
import { beforeEach, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { overlapping } from "../../support/overlapping.ts";
import { newPerson, newTenant, type Tenant } from "../../support/people.ts";
import { newWarehouse } from "../../support/warehouses.ts";

const warehouses = "/warehousing/warehouses";
let tenant: Tenant;
let second: string;
beforeEach(async () => {
  tenant = await newTenant();
  second = (await newPerson(tenant.id, "customer", "customer")).id;
  await sql`update tenancy.tenant_users set is_business = true where user_id = ${second}`;
});

const change = (id: string, body: Record<string, unknown>) =>
  tenant.ops.put(`${warehouses}/${id}`, body);
async function newHouse(access_mode: string, user_ids: string[]) {
  const id = await newWarehouse(tenant);
  expect(await change(id, { access_mode, user_ids })).toSucceed(200);
  return id;
}
const read = async (id: string) => (await tenant.ops.get(`${warehouses}/${id}`)).body.warehouse;
const isBusiness = (is_business: boolean) =>
  tenant.admin.put(`/tenants/${tenant.id}/users/${tenant.customer.id}`, { is_business });
/** The warehouses that are the customer's to use, of these. */
async function open(...ids: string[]) {
  const query = { customer_id: tenant.customer.id };
  const { body } = await tenant.ops.get(warehouses, { query });
  return ids.filter((id) => body.warehouses.some((one: { id: string }) => one.id === id));
}
/** Sends a warehouse back as it was read. */
async function sendBack(id: string) {
  const { name, code, address_id, status, features, access_mode, user_ids } = await read(id);
  return await change(id, { name, code, address_id, status, features, access_mode, user_ids });
}

describe("a customer who is no business user any more", () => {
  test("finds no warehouse that was for chosen people, and its form can be sent back", async () => {
    const shared = await newHouse("select_users", [tenant.customer.id, second]);
    const alone = await newHouse("select_users", [tenant.customer.id]);
    expect(await open(shared, alone)).toEqual([shared, alone]);
    expect(await isBusiness(false)).toSucceed(200);
    expect(await open(shared, alone)).toEqual([]);
    expect((await read(shared)).user_ids).toEqual([second]);
    expect((await read(alone)).user_ids).toEqual([]);
    expect(await sendBack(shared)).toSucceed(200);
    expect(await sendBack(alone)).toSucceed(200);
    // A business user again, they are named again.
    expect(await isBusiness(true)).toSucceed(200);
    expect(await open(shared, alone)).toEqual([]);
    expect(await change(alone, { user_ids: [tenant.customer.id] })).toSucceed(200);
    expect(await open(shared, alone)).toEqual([alone]);
  });

  test("stays excluded, may be sent back with the list, and is in no list of another mode", async () => {
    const id = await newHouse("exclude_users", [tenant.customer.id, second]);
    expect(await isBusiness(false)).toSucceed(200);
    expect(await open(id)).toEqual([]);
    expect((await read(id)).user_ids.sort()).toEqual([tenant.customer.id, second].sort());
    expect(await sendBack(id)).toSucceed(200);
    const user_ids = [tenant.customer.id, second];
    const chosen = await change(id, { access_mode: "select_users", user_ids });
    expect(chosen).toFailWith(400, "invalid_customer_ids");
    expect(await open(id)).toEqual([]);
    expect(await change(id, { access_mode: "select_users", user_ids: [second] })).toSucceed(200);
    const added = await change(id, { user_ids });
    expect(added).toFailWith(400, "invalid_customer_ids");
    expect(added.body.field).toBe("user_ids");
  });

  test("keeps what another company granted, and every other change keeps the list", async () => {
    const other = await newTenant();
    await sql`insert into tenancy.tenant_users (tenant_id, user_id, tenant_user_type, is_business)
      values (${other.id}, ${tenant.customer.id}, 'customer', true)`;
    const theirs = await newWarehouse(other);
    const body = { access_mode: "select_users", user_ids: [tenant.customer.id] };
    expect(await other.ops.put(`${warehouses}/${theirs}`, body)).toSucceed(200);
    const id = await newHouse("select_users", [tenant.customer.id]);
    expect(await isBusiness(true)).toSucceed(200);
    expect(await open(id)).toEqual([id]);
    expect(await isBusiness(false)).toSucceed(200);
    expect(await open(id)).toEqual([]);
    const kept = (await other.ops.get(`${warehouses}/${theirs}`)).body.warehouse;
    expect(kept.user_ids).toEqual([tenant.customer.id]);
  });
});

describe("of two changes at the same moment", () => {
  const flip = (on: postgres.Sql = sql) =>
    on`update tenancy.tenant_users set is_business = false
      where tenant_id = ${tenant.id} and user_id = ${tenant.customer.id}`;

  test("who stops being a business user first is not added", async () => {
    const id = await newHouse("select_users", [second]);
    const added = await overlapping(
      (session) => flip(session),
      () => change(id, { user_ids: [tenant.customer.id, second] }),
    );
    expect(added).toFailWith(400, "invalid_customer_ids");
    expect((await read(id)).user_ids).toEqual([second]);
  });

  test("who is added first is taken off", async () => {
    const id = await newHouse("select_users", [second]);
    await overlapping(
      (session) =>
        session`select warehousing.warehouse_set_users(w, ${
          sql.json([tenant.customer.id, second])
        }) from warehousing.warehouses w where w.id = ${id}`,
      async () => await flip(),
    );
    expect((await read(id)).user_ids).toEqual([second]);
  });
});
