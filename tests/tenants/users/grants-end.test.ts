/** The grants of the office to a member end with the membership: a store that anybody may join gives none of them back. */
import { beforeEach, describe, expect, test } from "vitest";
import { signedIn } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { addService, newType } from "../../support/services.ts";
import { newStore, shopPath, type Store } from "../../support/storefront.ts";
import { newWarehouse } from "../../support/warehouses.ts";

const services = "/delivery/services";
const warehouses = "/warehousing/warehouses";

let tenant: Tenant;
let store: Store;
let type: string;
beforeEach(async () => {
  tenant = await newTenant();
  store = await newStore(tenant);
  type = await newType(tenant);
});

/** The services that the customer finds and the warehouses that are the customer's to use, of these. */
async function found(ids: string[]): Promise<string[]> {
  const offered = await tenant.customer.get(services);
  const houses = await tenant.ops.get(warehouses, { query: { customer_id: tenant.customer.id } });
  expect([offered.status, houses.status]).toEqual([200, 200]);
  const all = [...offered.body.deliveryServices, ...houses.body.warehouses];
  return ids.filter((id) => all.some((one: { id: string }) => one.id === id));
}

async function leaveAndJoin() {
  const person = signedIn(tenant.customer.id, null);
  expect(await person.post(`/tenants/${tenant.id}/leave`)).toSucceed(200);
  expect(await person.post(shopPath(store.name, "/join"))).toSucceed(201);
}

async function newHouse(more: Record<string, unknown>) {
  const id = await newWarehouse(tenant);
  expect(await tenant.ops.put(`${warehouses}/${id}`, more)).toSucceed(200);
  return id;
}

describe("a customer who leaves and joins through the store", () => {
  test("finds nothing that was for chosen people, and stays excluded from the rest", async () => {
    const chosen = { access_mode: "select_users", user_ids: [tenant.customer.id] };
    const barred = { access_mode: "exclude_users", user_ids: [tenant.customer.id] };
    const [service, house] = [await addService(tenant, type, chosen), await newHouse(chosen)];
    const open = await addService(tenant, type);
    const bans = [await addService(tenant, type, barred), await newHouse(barred)];
    const all = [service, house, open, ...bans];
    expect(await found(all)).toEqual([service, house, open]);
    await leaveAndJoin();
    expect(await found(all)).toEqual([open]);
    const kept = (await tenant.ops.get(`${warehouses}/${bans[1]}`)).body.warehouse;
    expect(kept.user_ids).toEqual([tenant.customer.id]);
  });

  test("finds nothing that a form of before they left named them for again", async () => {
    const chosen = {
      access_mode: "select_users",
      user_ids: [tenant.customer.id, tenant.institution.id],
    };
    const service = await addService(tenant, type, chosen);
    const person = signedIn(tenant.customer.id, null);
    expect(await person.post(`/tenants/${tenant.id}/leave`)).toSucceed(200);
    expect(await tenant.ops.put(`${services}/${service}`, chosen)).toSucceed(200);
    expect(await person.post(shopPath(store.name, "/join"))).toSucceed(201);
    expect(await found([service])).toEqual([]);
    const left = (await tenant.ops.get(services, { query: { customer_id: tenant.institution.id } }))
      .body.deliveryServices.find((one: { id: string }) => one.id === service);
    expect(left.user_ids).toEqual([tenant.institution.id]);
    // Named again by the office, they find it.
    expect(await tenant.ops.put(`${services}/${service}`, chosen)).toSucceed(200);
    expect(await found([service])).toEqual([service]);
  });
});

describe("a service or warehouse that is for nobody any more", () => {
  test("is changed by a form that sends its empty list back, and by one that sends none", async () => {
    const chosen = { access_mode: "select_users", user_ids: [tenant.customer.id] };
    const [service, house] = [await addService(tenant, type, chosen), await newHouse(chosen)];
    await leaveAndJoin();
    for (const path of [`${services}/${service}`, `${warehouses}/${house}`]) {
      const same = { name: "Same", access_mode: "select_users", user_ids: [] };
      expect(await tenant.ops.put(path, same)).toSucceed(200);
      expect(await tenant.ops.put(path, { name: "Again" })).toSucceed(200);
      // Emptied, or made one for chosen people without any, it is refused as before.
      expect((await tenant.ops.put(path, { access_mode: "exclude_users" })).status).toBe(400);
      expect((await tenant.ops.put(path, { access_mode: "exclude_users", user_ids: [] })).status)
        .toBe(400);
    }
    await sql`update tenancy.tenant_users set is_business = true where user_id = ${tenant.customer.id}`;
    for (const path of [`${services}/${service}`, `${warehouses}/${house}`]) {
      expect(await tenant.ops.put(path, chosen)).toSucceed(200);
      expect((await tenant.ops.put(path, { user_ids: [] })).status).toBe(400);
    }
    expect(await found([service, house])).toEqual([service, house]);
  });
});
