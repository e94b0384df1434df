import { beforeAll, expect, test } from "vitest";
import { type Body, nobody } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import {
  newPerson,
  newSystemAdmin,
  newTenant,
  saveSettings,
  type Tenant,
} from "../../support/people.ts";
import {
  adjust,
  balanceOf,
  entriesOf,
  freshWallet,
  key,
  newWallet,
} from "../../support/wallets.ts";

let a: Tenant;
let b: Tenant;
beforeAll(async () => {
  [a, b] = await Promise.all([newTenant(), newTenant()]);
});

test("a credit and a debit move the wallet, the books and the payments by the same amount", async () => {
  const id = await newWallet(a, a.institution, "institution");
  const answer = await adjust(a.admin, id, 5000);
  expect(answer).toSucceed(200);
  expect(answer.body).toEqual({
    success: true,
    message: "Done.",
    wallet: {
      id,
      owner_type: "institution",
      owner_id: a.institution.id,
      owner: { id: a.institution.id, full_name: expect.stringContaining("institution") },
      currency: "IQD",
      balance: 5000,
      is_active: true,
      created_at: expect.any(String),
      updated_at: expect.any(String),
      held_balance: 0,
      available_balance: 5000,
      stated_balance: 0,
    },
    transaction: {
      id: expect.any(Number),
      kind: "WALLET_ADJUSTMENT",
      description: "Cash desk",
      direction: "credit",
      amount: 5000,
      currency: "IQD",
      balance_after: 5000,
      reference_type: "payment",
      reference_id: answer.body.payment_id,
      actor_id: a.admin.id,
      created_at: expect.any(String),
    },
    payment_id: expect.any(String),
  });
  const taken = await adjust(a.admin, id, 1500, "debit");
  expect(taken.body).toMatchObject({
    wallet: { balance: 3500 },
    transaction: { direction: "debit", amount: -1500, balance_after: 3500 },
  });
  expect(
    await sql`select category, type, status, payment_method, amount, currency, snapshot, actor_id, processed_at is not null as processed
    from money.payments where account_id = ${id} order by created_at`,
  ).toEqual([
    {
      category: "WALLET",
      type: "WALLET_ADJUSTMENT",
      status: "SUCCESS",
      payment_method: "manual",
      amount: 5000,
      currency: "IQD",
      snapshot: { direction: "credit", reason: "Cash desk" },
      actor_id: a.admin.id,
      processed: true,
    },
    expect.objectContaining({
      amount: 1500,
      snapshot: { direction: "debit", reason: "Cash desk" },
    }),
  ]);
  const [outside] = await sql`select balance, currency, floor from money.accounts
    where tenant_id = ${a.id} and kind = 'external' and owner_type = 'tenant'`;
  expect(outside).toEqual({ balance: -3500, currency: "IQD", floor: null });
});

test("a wallet cannot be overdrawn, and a refusal leaves nothing", async () => {
  const id = await freshWallet(a);
  await adjust(a.admin, id, 10);
  const refused = await adjust(a.admin, id, 11, "debit");
  expect(refused).toFailWith(400, "insufficient_wallet_balance");
  expect((await adjust(a.admin.in("ku"), id, 11, "debit")).body.message)
    .toBe("لە جزدانەکەدا 10 IQD هەیە و 11 IQD پێویستە.");
  expect(await balanceOf(id)).toBe(10);
  expect(await entriesOf(id)).toHaveLength(1);
  expect(await sql`select from money.payments where account_id = ${id}`).toHaveLength(1);
});

test("forty debits of 1 at once from a wallet of 10: ten succeed, and the books agree", async () => {
  const id = await freshWallet(a);
  await adjust(a.admin, id, 10);
  const answers = await Promise.all(
    Array.from({ length: 40 }, () => adjust(a.admin, id, 1, "debit")),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
  for (const answer of answers.filter(({ status }) => status !== 200)) {
    expect(answer).toFailWith(400, "insufficient_wallet_balance");
  }
  expect(await balanceOf(id)).toBe(0);
  const entries =
    await sql`select version, balance_after from money.ledger_entries where account_id = ${id} order by version`;
  expect(entries.map((entry) => Number(entry.version))).toEqual(
    Array.from({ length: 11 }, (_, i) => i + 1),
  );
  expect(entries.map((entry) => entry.balance_after)).toEqual([10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
});

test("an adjustment needs an Idempotency-Key, and happens once under it, however often it is sent", async () => {
  const id = await freshWallet(a);
  expect(await adjust(a.admin, id, 5, "credit", {} as never)).toFailWith(
    400,
    "idempotency_key_required",
  );
  const once = key();
  const answers = await Promise.all(
    Array.from({ length: 12 }, () => adjust(a.admin, id, 5, "credit", once)),
  );
  for (const answer of answers) {
    expect(answer).toSucceed(200);
    expect(answer.body).toEqual(answers[0].body);
  }
  expect(answers.filter(({ headers }) => headers.get("idempotency-replayed") === "true"))
    .toHaveLength(11);
  expect(await balanceOf(id)).toBe(5);
  expect(await adjust(a.admin, id, 6, "credit", once)).toFailWith(409, "idempotency_conflict");
  expect(
    await adjust(a.admin, id, 5, "credit", { headers: { "idempotency-key": "x".repeat(201) } }),
  )
    .toFailWith(400, "invalid_idempotency_key");
  // A refusal is not remembered: with money in the wallet the same call goes through.
  const again = key();
  expect(await adjust(a.admin, id, 9, "debit", again)).toFailWith(
    400,
    "insufficient_wallet_balance",
  );
  await adjust(a.admin, id, 5);
  expect(await adjust(a.admin, id, 9, "debit", again)).toSucceed(200);
  expect(await balanceOf(id)).toBe(1);
});

test("an amount has no more decimals than its currency has here", async () => {
  const tenant = await newTenant();
  const iqd = await freshWallet(tenant);
  const usd = await newWallet(tenant, tenant.driver, "driver", "USD");
  const kwd = await newWallet(tenant, tenant.driver, "driver", "KWD");
  const refused = await adjust(tenant.admin, iqd, 1.5);
  expect(refused).toFailWith(400, "too_many_decimals");
  expect(refused.body).toMatchObject({ field: "amount", decimals: 0 });
  expect(await adjust(tenant.admin, usd, 0.001)).toFailWith(400, "too_many_decimals");
  expect(await adjust(tenant.admin, usd, 0.07)).toSucceed();
  expect(await adjust(tenant.admin, kwd, 0.125)).toSucceed();
  await saveSettings(tenant.id, "general.currency", { decimals: 2 });
  expect(await adjust(tenant.admin, iqd, 1.25)).toSucceed();
  expect(await balanceOf(usd)).toBe(0.07);
});

const bad: [string, unknown, unknown, unknown, string][] = [
  ["no amount", undefined, "credit", "x", "amount"],
  ["nothing", 0, "credit", "x", "amount"],
  ["less than nothing", -5, "credit", "x", "amount"],
  ["four decimals", 0.0001, "credit", "x", "amount"],
  ["an amount as text", "5", "credit", "x", "amount"],
  ["an amount beyond counting", 1e15, "credit", "x", "amount"],
  ["no direction", 5, undefined, "x", "direction"],
  ["another direction", 5, "sideways", "x", "direction"],
  ["no reason", 5, "credit", undefined, "reason"],
  ["a reason of spaces", 5, "credit", "  ", "reason"],
  ["a reason that is too long", 5, "credit", "x".repeat(501), "reason"],
];
test.each(bad)("%s is refused", async (_, amount, direction, reason, field) => {
  const id = await freshWallet(a);
  const body = { amount, direction, reason };
  const answer = await a.admin.post(`/delivery/wallets/${id}/adjust`, body, key());
  expect(answer).toFailWith(400, "validation_failed");
  expect(answer.body.field).toBe(field);
  expect(await entriesOf(id)).toHaveLength(0);
});

test("only tenant administrators adjust, and only wallets of their tenant", async () => {
  const id = await freshWallet(a);
  for (
    const person of [a.ops, a.dispatcher, a.warehouse, a.staff, a.driver, a.institution, a.customer]
  ) {
    expect(await adjust(person, id, 5)).toFailWith(403, "forbidden");
  }
  expect(await adjust(nobody, id, 5)).toFailWith(401, "unauthorized");
  expect(await adjust(b.admin, id, 5)).toFailWith(404, "wallet_not_found");
  expect(await adjust(a.admin, crypto.randomUUID(), 5)).toFailWith(404, "wallet_not_found");
  expect(await adjust(a.admin, "my-wallet", 5)).toFailWith(400, "invalid_uuid");
  const [outside] = await sql`insert into money.accounts (tenant_id, kind, owner_type, currency)
    values (${b.id}, 'cod_clearing', 'tenant', 'IQD') returning id`;
  expect(await adjust(b.admin, outside.id, 5)).toFailWith(404, "wallet_not_found");
  expect(await balanceOf(id)).toBe(0);
  const system = await newSystemAdmin();
  expect(
    await system.post(`/delivery/wallets/${id}/adjust`, {
      amount: 5,
      direction: "credit",
      reason: "x",
    }, {
      ...key(),
      query: { tenant_id: a.id },
    }),
  ).toSucceed();
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

test("the transactions of a wallet, newest first, for its owner and the office alone", async () => {
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
