import { beforeAll, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newSystemAdmin, newTenant, saveSettings, type Tenant } from "../../support/people.ts";
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
      held: false,
      released_at: null,
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

test("a sum that a client added up is its amount, which the books have without what is beside its decimals", async () => {
  const dollars = await newTenant({ settings: { "general.currency": { currency_code: "USD" } } });
  const id = await newWallet(dollars, dollars.institution, "institution", "USD");
  const answer = await adjust(dollars.admin, id, 0.1 + 0.2);
  expect(answer).toSucceed(200);
  expect(answer.body.transaction).toMatchObject({ amount: 0.3, balance_after: 0.3 });
  const finer = await adjust(dollars.admin, id, 0.125);
  expect(finer).toFailWith(400, "too_many_decimals");
  expect(finer.body).toMatchObject({ field: "amount", decimals: 2 });
});
