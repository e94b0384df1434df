/** The lists of wallets and of their transactions. */
import { beforeAll, expect, test } from "vitest";
import { type Body, nobody } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newPerson, newTenant, type Tenant } from "../../support/people.ts";
import { adjust, key, newWallet } from "../../support/wallets.ts";

let a: Tenant;
let b: Tenant;
beforeAll(async () => {
  [a, b] = await Promise.all([newTenant(), newTenant()]);
});

test("everybody reads their own wallets, the tenant's currency first", async () => {
  const tenant = await newTenant();
  expect((await tenant.customer.get("/delivery/wallets/me")).body)
    .toMatchObject({ success: true, wallet: null, wallets: [] });
  const usd = await newWallet(tenant, tenant.driver, "driver", "USD");
  const iqd = await newWallet(tenant, tenant.driver, "driver");
  await adjust(tenant.admin, iqd, 250);
  const mine = await tenant.driver.get("/delivery/wallets/me");
  expect(mine).toSucceed(200);
  expect(mine.body.wallet).toMatchObject({ id: iqd, balance: 250, owner_id: tenant.driver.id });
  expect(mine.body.wallets.map((wallet: Body) => wallet.id)).toEqual([iqd, usd]);
  expect((await tenant.driver2.get("/delivery/wallets/me")).body.wallets).toEqual([]);
  expect(await nobody.get("/delivery/wallets/me")).toFailWith(401, "unauthorized");
});

test("of several wallets in one currency the first is that of what the person is here", async () => {
  const tenant = await newTenant();
  for (let round = 0; round < 4; round++) {
    for (const type of ["driver", "customer", "institution"] as const) {
      const person = await newPerson(tenant.id, type, type);
      const wallets: Record<string, string> = {};
      for (const kind of ["institution", "driver", "customer"]) {
        wallets[kind] = await newWallet(tenant, person, kind);
      }
      const dollars = await newWallet(tenant, person, type, "USD");
      const { body } = await person.get("/delivery/wallets/me");
      expect(body.wallet.owner_type).toBe(type);
      const others = ["customer", "driver", "institution"].filter((kind) => kind !== type);
      expect(body.wallets.map(({ id }: Body) => id))
        .toEqual([...[type, ...others].map((kind) => wallets[kind]), dollars]);
    }
  }
});

test("the office lists wallets by owner, kind and currency; nobody else does", async () => {
  const tenant = await newTenant();
  const driver = await newWallet(tenant, tenant.driver, "driver");
  const institution = await newWallet(tenant, tenant.institution, "institution");
  const own = await newWallet(tenant, null, "tenant");
  await adjust(tenant.admin, institution, 100);
  const list = async (query: Record<string, string | number> = {}) =>
    (await tenant.dispatcher.get("/delivery/wallets", { query })).body;
  const ids = (body: Body) => body.data.map((wallet: Body) => wallet.id);
  const all = await list();
  expect(all.pagination).toEqual({ page: 1, limit: 20, total: 3, total_pages: 1 });
  expect(ids(all)).toEqual([own, institution, driver]);
  expect(all.data[0]).toMatchObject({ owner_type: "tenant", owner_id: null, owner: null });
  expect(ids(await list({ owner_type: "driver" }))).toEqual([driver]);
  expect(ids(await list({ owner_id: tenant.institution.id }))).toEqual([institution]);
  expect(ids(await list({ currency: "USD" }))).toEqual([]);
  expect(ids(await list({ search: "institution" }))).toEqual([institution]);
  expect(ids(await list({ search: "%" }))).toEqual([]);
  expect(ids(await list({ sort_by: "balance", limit: 1 }))).toEqual([institution]);
  expect((await list({ limit: 1000 })).pagination.limit).toBe(100);
  expect((await list({ limit: 2, page: 2 })).data).toHaveLength(1);
  const wrong = await tenant.ops.get("/delivery/wallets", { query: { owner_id: "x" } });
  expect(wrong).toFailWith(400, "invalid_uuid");
  expect(wrong.body.field).toBe("owner_id");
  for (
    const person of [
      tenant.staff,
      tenant.warehouse,
      tenant.driver,
      tenant.institution,
      tenant.customer,
    ]
  ) {
    expect(await person.get("/delivery/wallets")).toFailWith(403, "forbidden");
  }
  expect(
    (await b.admin.get("/delivery/wallets", { query: { owner_id: tenant.driver.id } })).body.data,
  ).toEqual([]);
});

test("a statement is in the order of booking, also when one began earlier and was booked later", async () => {
  const owner = await newPerson(a.id, "institution", "institution");
  const id = await newWallet(a, owner, "institution");
  const post = (tx: Pick<typeof sql, "unsafe">, amount: number) =>
    tx.unsafe(
      `select set_config('app.tenant_id', $1, true), money.post(jsonb_build_array(
        j || jsonb_build_object('account_id', $2::text, 'amount', $3::numeric),
        j || jsonb_build_object('account_id', money.account_of('external', 'tenant', null, 'IQD'), 'amount', -$3::numeric)))
      from (select jsonb_build_object('journal', 'j', 'kind', 'fund', 'reference_type', 'test', 'reference_id', gen_random_uuid()) as j) x
      cross join set_config('app.tenant_id', $1, true)`,
      [a.id, id, String(amount)],
    );
  await sql.begin(async (slow) => {
    await slow`select now()`;
    await sql.begin((quick) => post(quick, 100));
    await post(slow, 10);
  });
  const { body } = await a.admin.get(`/delivery/wallets/${id}/transactions`);
  expect(body.data.map((row: Body) => [row.amount, row.balance_after]))
    .toEqual([[10, 110], [100, 100]]);
});

test("the transactions of a wallet are listed newest first, for its owner and the office alone", async () => {
  const id = await newWallet(a, a.institution2, "institution");
  for (const amount of [100, 200, 300]) await adjust(a.admin, id, amount);
  await adjust(a.admin, id, 50, "debit", key(), "100% refund");
  const path = `/delivery/wallets/${id}/transactions`;
  for (const person of [a.institution2, a.admin, a.dispatcher]) {
    const { body } = await person.get(path);
    expect(body.wallet).toMatchObject({ id, balance: 550 });
    expect(body.data.map((row: Body) => [row.amount, row.balance_after]))
      .toEqual([[-50, 550], [300, 600], [200, 300], [100, 100]]);
    expect(body.pagination).toEqual({ page: 1, limit: 20, total: 4, total_pages: 1 });
  }
  const list = async (query: Record<string, string | number | object>) =>
    (await a.admin.get(path, { query })).body.data.map((row: Body) => row.amount);
  expect(await list({ direction: "debit" })).toEqual([-50]);
  expect(await list({ search: "100%" })).toEqual([-50]);
  expect(await list({ limit: 2, page: 2 })).toEqual([200, 100]);
  expect(await list({ sort_by: "amount", sort_order: "asc" })).toEqual([-50, 100, 200, 300]);
  expect(await list({ column_filters: { wallet_id: crypto.randomUUID() } })).toHaveLength(4);
  expect(await list({ column_filters: { created_at: { from: "2999-01-01" } } })).toEqual([]);
  expect(await list({ date_from: "2999-01-01" })).toEqual([]);
  expect(await list({ date_to: "2999-01-01", direction: "debit" })).toEqual([-50]);
  expect(await a.admin.get(path, { query: { column_filters: "[" } })).toFailWith(
    400,
    "invalid_column_filters",
  );
  expect(await a.institution.get(path)).toFailWith(404, "wallet_not_found");
  expect(await a.driver.get(path)).toFailWith(404, "wallet_not_found");
  expect(await a.staff.get(path)).toFailWith(403, "forbidden");
  expect(await b.admin.get(path)).toFailWith(404, "wallet_not_found");
  expect(await nobody.get(path)).toFailWith(401, "unauthorized");
  expect(await a.admin.get("/delivery/wallets/x/transactions")).toFailWith(400, "invalid_uuid");
});
