import { beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newBranch } from "../../support/make.ts";
import { fundWallet } from "../../support/money.ts";
import { newPerson, newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectNoSuch, expectPaged } from "../../support/promises.ts";

const path = "/delivery/institutions";
const feature = "transfer_manifest";

let tenant: Tenant;
let other: Tenant;

beforeAll(async () => {
  tenant = await newTenant();
  other = await newTenant();
});

async function rename(id: string, full_name: string, more: Record<string, unknown> = {}) {
  await sql`update tenancy.profiles set ${sql({ full_name, ...more })} where id = ${id}`;
}

test("an institution is shown with its branches in use and its wallet", async () => {
  await newBranch(tenant);
  await newBranch(tenant);
  await sql`update delivery.institution_branches set is_active = false
    where id = ${await newBranch(tenant)}`;
  await newBranch(tenant, { institution: tenant.institution2.id });
  await fundWallet(tenant, "institution", tenant.institution.id, 7, "USD");
  await fundWallet(tenant, "institution", tenant.institution.id, 125_000, "IQD");
  await rename(tenant.institution.id, "Post of Iraq", {
    email: "post@example.com",
    phone: "+9647701112233",
    avatar_url: "https://example.com/post.png",
  });
  const answer = await tenant.staff.get(`${path}/${tenant.institution.id}`);
  expect(answer).toSucceed(200);
  expect(answer.body).toEqual({
    success: true,
    message: expect.any(String),
    data: {
      id: tenant.institution.id,
      full_name: "Post of Iraq",
      email: "post@example.com",
      phone: "+9647701112233",
      avatar: "https://example.com/post.png",
      branches_count: 2,
      wallet: { balance: 125_000, currency: "IQD" },
      is_active: true,
    },
  });
  const second = await tenant.staff.get(`${path}/${tenant.institution2.id}`);
  expect(second.body.data).toMatchObject({ branches_count: 1, wallet: null });
});

test("the wallet is the one in the tenant's currency", async () => {
  const dollars = await newTenant({ settings: { "general.currency": { currency_code: "USD" } } });
  await fundWallet(dollars, "institution", dollars.institution.id, 5000, "IQD");
  await fundWallet(dollars, "institution", dollars.institution.id, 12, "USD");
  const answer = await dollars.ops.get(`${path}/${dollars.institution.id}`);
  expect(answer.body.data.wallet).toEqual({ balance: 12, currency: "USD" });
});

test("a member who leaves is still shown, as not active", async () => {
  const left = await newPerson(tenant.id, "institution", "institution");
  await sql`update tenancy.tenant_users set is_active = false
    where tenant_id = ${tenant.id} and user_id = ${left.id}`;
  const answer = await tenant.ops.get(`${path}/${left.id}`);
  expect(answer.body.data.is_active).toBe(false);
});

test("people of other kinds and of other tenants are no institutions", async () => {
  for (const id of [tenant.customer.id, tenant.driver.id, tenant.ops.id]) {
    expect(await tenant.ops.get(`${path}/${id}`)).toFailWith(404, "institution_not_found");
  }
  await expectNoSuch(
    tenant.ops,
    { method: "GET", path: `${path}/{id}` },
    "institution_user_id",
    "institution_not_found",
    other.institution.id,
  );
  const arabic = await tenant.ops.in("ar").get(`${path}/${other.institution.id}`);
  expect(arabic.body.message).toBe("هذه المؤسسة غير موجودة.");
  const kurdish = await tenant.ops.in("ku").get(`${path}/${other.institution.id}`);
  expect(kurdish.body.message).toBe("ئەم دامەزراوەیە بوونی نییە.");
});

test("the list pages, sorts by name, and searches name, email and phone", async () => {
  const listed = await newTenant();
  await rename(listed.institution.id, "Alpha 100%");
  await rename(listed.institution2.id, "Beta");
  const third = await newPerson(listed.id, "institution", "institution");
  await rename(third.id, "Gamma", { email: "gamma@example.com", phone: "0750 555 1234" });
  const names = async (search: string) =>
    (await listed.ops.get(path, { query: { search } })).body.data.map((
      row: { full_name: string },
    ) => row.full_name);
  const whole = await listed.ops.get(path);
  expect(whole.body.data.map((row: { full_name: string }) => row.full_name)).toEqual([
    "Alpha 100%",
    "Beta",
    "Gamma",
  ]);
  expect(await names("bet")).toEqual(["Beta"]);
  expect(await names("0%")).toEqual(["Alpha 100%"]);
  expect(await names("gamma@EXAMPLE")).toEqual(["Gamma"]);
  expect(await names("555 1")).toEqual(["Gamma"]);
  expect(await names("_")).toEqual([]);
  await rename(listed.institution.id, "Alpha");
  await expectPaged(listed.ops, path, "full_name");
});

test("an institution finds itself and nobody else", async () => {
  const list = await tenant.institution2.get(path);
  expect(list.body.data.map((row: { id: string }) => row.id)).toEqual([tenant.institution2.id]);
  expect(list.body.pagination.total).toBe(1);
  expect(await tenant.institution2.get(`${path}/${tenant.institution2.id}`)).toSucceed(200);
  expect(await tenant.institution2.get(`${path}/${tenant.institution.id}`)).toFailWith(
    404,
    "institution_not_found",
  );
});

test("drivers and customers are not asked in, nobody without a token, and the switch counts", async () => {
  for (const at of [path, `${path}/${tenant.institution.id}`]) {
    await expectGuarded({ method: "GET", path: at }, {
      denied: [tenant.driver, tenant.customer],
      feature,
    });
  }
});
