/** The office hears of a person who leaves, of all that they have still to hand in, and of what is still due to them. */
import { beforeEach, expect, test } from "vitest";
import { type Body, type Person, signedIn } from "../../support/api.ts";
import { expires_at, path as keysPath, scopes } from "../../support/api-keys.ts";
import { deleteSoftly } from "../../support/auth.ts";
import { makeDrivers, newCash, remit, selected } from "../../support/cod.ts";
import { sql } from "../../support/db.ts";
import { deliveryIn, newDelivery, newGround } from "../../support/deliveries.ts";
import { brought, newPayer, payPath } from "../../support/driver-pay.ts";
import { newManifest } from "../../support/manifests.ts";
import { fundWallet } from "../../support/money.ts";
import { newPicking } from "../../support/picking.ts";
import { newPerson, newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
beforeEach(async () => {
  tenant = await newTenant();
});

const leave = (who: Person, of = tenant) => who.post(`/tenants/${of.id}/leave`);
const noticesOf = async (who: Person, language = "en"): Promise<Body[]> =>
  (await who.get("/tenants/me/notifications", { query: { type: "member_left", language } })).body
    .data;
const nameOf = async ({ id }: Person) =>
  (await sql`select full_name from tenancy.profiles where id = ${id}`)[0]!.full_name;

test("of a driver their parcels, cash and manifests, also to dispatchers, in three languages", async () => {
  const { driver } = tenant;
  const ground = await newGround(tenant);
  await deliveryIn(ground, "in_transit");
  await deliveryIn(ground, "failed");
  await newCash(tenant, { driver: driver.id });
  await newManifest(tenant, { status: "picked_up" });
  await newManifest(tenant, { status: "awaiting_receipt" });
  const [{ cash }] = await sql`select sum(balance)::float8 as cash from money.accounts
    where tenant_id = ${tenant.id} and kind = 'driver_cash' and owner_user_id = ${driver.id}`;
  expect(await leave(driver)).toSucceed(200);
  const full_name = await nameOf(driver);
  for (const who of [tenant.admin, tenant.ops, tenant.dispatcher]) {
    expect(await noticesOf(who)).toMatchObject([{
      message:
        `${full_name} has left the company. Parcels in hand: 2. Cash in hand: ${cash} IQD. Manifests that have not arrived: 1.`,
      payload: {
        user_id: driver.id,
        full_name,
        tenant_user_type: "driver",
        parcels: 2,
        cash_in_hand: [{ amount: cash, currency: "IQD" }],
        manifests: 1,
      },
    }]);
  }
  for (const who of [tenant.warehouse, tenant.staff, tenant.driver2, tenant.customer]) {
    expect(await noticesOf(who)).toEqual([]);
  }
  expect((await noticesOf(tenant.ops, "ar"))[0]!.message).toMatch(/غادر .* طرود في العهدة: 2\./);
  expect((await noticesOf(tenant.ops, "ku"))[0]!.message).toMatch(/بەجێهێشت\. .* 2\./);
});

test("is asked of their own company alone: a key in another one does not keep them", async () => {
  const [here, there] = await Promise.all([newTenant(), newTenant()]);
  const admin = await newPerson(here.id, "staff", "tenant_admin");
  await sql`insert into tenancy.tenant_users (tenant_id, user_id, tenant_user_type)
    values (${there.id}, ${admin.id}, 'staff')`;
  await sql`insert into tenancy.tenant_user_roles (tenant_id, user_id, role_key)
    values (${there.id}, ${admin.id}, 'tenant_admin')`;
  const elsewhere = signedIn(admin.id, there.id);
  expect(await elsewhere.post(keysPath, { name: "Shop", scopes, expires_at })).toSucceed(201);
  expect(await leave(admin, here)).toSucceed(200);
  const [notice] = await noticesOf(here.admin);
  expect(notice!.payload).not.toHaveProperty("api_keys");
});

test("of staff their desk, picks and stopped keys, not to dispatchers", async () => {
  const { tenant: company, newOrder } = await newPicking();
  const admin = await newPerson(company.id, "staff", "tenant_admin");
  await makeDrivers(company);
  const { id } = await newCash(company);
  const body = { driver_id: company.driver.id, ...selected(id) };
  expect(await admin.post(remit, body)).toSucceed();
  await newOrder({ assigned_to: admin.id });
  const key = { name: "Shop", scopes, expires_at };
  expect(await admin.post(keysPath, key)).toSucceed(201);
  expect(await leave(admin, company)).toSucceed(200);
  const [notice] = await noticesOf(company.admin);
  expect(notice).toMatchObject({
    message: `${await nameOf(admin)} has left the company. Cash on the desk: 1250 IQD. ` +
      "Open picking orders: 1. API keys that stopped: 1.",
    payload: { cash_on_desk: [{ amount: 1250, currency: "IQD" }], picking_orders: 1, api_keys: 1 },
  });
  expect(await noticesOf(company.ops)).toHaveLength(1);
  expect(await noticesOf(company.dispatcher)).toEqual([]);
  expect(await noticesOf(company.staff)).toEqual([]);
});

test("of a colleague with empty hands that they have left, of a customer nothing", async () => {
  expect(await leave(tenant.staff)).toSucceed(200);
  expect(await leave(tenant.customer)).toSucceed(200);
  expect(await noticesOf(tenant.admin)).toMatchObject([{
    message: `${await nameOf(tenant.staff)} has left the company.`,
    payload: { user_id: tenant.staff.id, tenant_user_type: "staff" },
  }]);
});

test("of a deleted account in each of its companies, and of nobody whom an administrator shuts out", async () => {
  const ground = await newGround(tenant);
  await deliveryIn(ground, "picked_up");
  await deleteSoftly(tenant.driver.id);
  expect(await noticesOf(tenant.ops)).toMatchObject([{ payload: { parcels: 1 } }]);
  const path = `/tenants/${tenant.id}/users/${tenant.staff.id}`;
  expect(await tenant.admin.put(path, { is_active: false })).toSucceed(200);
  expect(await noticesOf(tenant.admin)).toHaveLength(1);
  expect(await leave(tenant.staff)).toSucceed(200);
  expect(await noticesOf(tenant.admin)).toHaveLength(2);
});

test("nobody hears of it when the last administrator may not leave", async () => {
  expect(await leave(tenant.admin)).toFailWith(409, "last_tenant_admin");
  expect(await noticesOf(tenant.ops)).toEqual([]);
});

test("of a customer what is in their wallet, and nothing of one without any", async () => {
  await fundWallet(tenant, "customer", tenant.customer.id, 2_500);
  expect(await leave(tenant.customer)).toSucceed(200);
  expect(await noticesOf(tenant.ops)).toMatchObject([{
    message: `${await nameOf(tenant.customer)} has left the company. In their wallet: 2500 IQD.`,
    payload: { wallet: [{ amount: 2_500, currency: "IQD" }], tenant_user_type: "customer" },
  }]);
  expect((await noticesOf(tenant.ops, "ar"))[0]!.message).toContain("في المحفظة: 2500 IQD.");
  expect(await leave(tenant.institution)).toSucceed(200);
  expect(await noticesOf(tenant.ops)).toHaveLength(1);
});

test("of a driver the pay that was not paid out", async () => {
  const ground = await newPayer();
  const { tenant: company } = ground;
  const { driver, driver2, admin } = company;
  for (const who of [driver, driver, driver2]) await brought(ground, who);
  const body = { driver_id: driver2.id, method: "wallet" };
  expect(await admin.post(`${payPath}/payouts`, body)).toSucceed(201);
  expect(await leave(driver, company)).toSucceed(200);
  expect(await leave(driver2, company)).toSucceed(200);
  const [second, first] = await noticesOf(company.dispatcher);
  expect(first).toMatchObject({
    message: `${await nameOf(driver)} has left the company. Cash in hand: 4000 IQD. ` +
      "Pay not paid out: 1000 IQD.",
    payload: { pay: [{ amount: 1_000, currency: "IQD" }] },
  });
  expect(second!.payload).not.toHaveProperty("pay");
  expect((await noticesOf(company.ops, "ar"))[1]!.message).toContain("أجر لم يُصرف: 1000 IQD.");
  expect((await noticesOf(company.ops, "ku"))[1]!.message).toContain("کرێی نەدراو: 1000 IQD.");
});

test("of a customer and an institution their parcels that have not ended", async () => {
  const ground = await newGround(tenant);
  await newDelivery(ground);
  await deliveryIn(ground, "in_transit");
  await deliveryIn(ground, "delivered");
  await deliveryIn(ground, "cancelled");
  const { id } = await newDelivery(ground);
  await sql`update delivery.deliveries set customer_id = null, institution_user_id = ${tenant.institution.id}
    where id = ${id}`;
  expect(await leave(tenant.customer)).toSucceed(200);
  expect(await leave(tenant.institution)).toSucceed(200);
  const [institution, customer] = await noticesOf(tenant.ops);
  expect(customer).toMatchObject({
    message: `${await nameOf(tenant.customer)} has left the company. Their parcels on the way: 2.`,
    payload: { open_parcels: 2, tenant_user_type: "customer" },
  });
  expect(institution!.payload).toMatchObject({ open_parcels: 1, tenant_user_type: "institution" });
  expect((await noticesOf(tenant.ops, "ar"))[1]!.message).toMatch(/شحناتها: 2\./);
  expect((await noticesOf(tenant.ops, "ku"))[1]!.message).toMatch(/لە ڕێگادان: 2\./);
});
