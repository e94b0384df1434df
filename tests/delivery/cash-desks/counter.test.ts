/** Cash at the counter: wallets that are paid in and out at a desk, expenses, and cash that comes from the bank. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { Person } from "../../support/api.ts";
import {
  desks,
  heldBy,
  key,
  reverse,
  sound,
  transfer,
  withCash,
} from "../../support/cash-desks.ts";
import { sql } from "../../support/db.ts";
import { newPerson, newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectRefused, expectReplayed } from "../../support/promises.ts";
import { adjust, balanceOf, newWallet } from "../../support/wallets.ts";

const path = `${desks}/transfers`;
const deposit = (wallet_id: string, amount: number) => ({
  kind: "wallet_deposit",
  wallet_id,
  amount,
});
const payout = (wallet_id: string, amount: number) => ({
  kind: "wallet_payout",
  wallet_id,
  amount,
  reference: "Receipt 5",
});

/** A company whose dispatcher has 5,000, and a customer with a wallet of 2,000. */
async function withWallet(): Promise<{ tenant: Tenant; customer: Person; wallet: string }> {
  const tenant = await withCash(5_000);
  const customer = await newPerson(tenant.id, "customer", "customer");
  const wallet = await newWallet(tenant, customer, "customer");
  expect(await adjust(tenant.admin, wallet, 2_000)).toSucceed(200);
  return { tenant, customer, wallet };
}

const notified = async (person: Person) =>
  (await person.get("/tenants/me/notifications")).body.data
    .map(({ type, message }: { type: string; message: string }) => [type, message]);

let other: Tenant;
beforeAll(async () => {
  other = await newTenant();
});

describe("a wallet at the counter", () => {
  test("gains what its owner pays in, with the desk, and both lose it when that is reversed", async () => {
    const { tenant, customer, wallet } = await withWallet();
    const made = await transfer(tenant.dispatcher, deposit(wallet, 700));
    expect(made).toSucceed(201);
    const { id } = made.body.data;
    expect(made.body.data).toMatchObject({
      kind: "wallet_deposit",
      from_owner_type: null,
      from_user: null,
      to_owner_type: "staff",
      to_user: { id: tenant.dispatcher.id },
      wallet: { id: wallet, owner_type: "customer", owner: { id: customer.id } },
      amount: 700,
      currency: "IQD",
    });
    expect(await heldBy(tenant, tenant.dispatcher)).toBe(5_700);
    expect(await balanceOf(wallet)).toBe(2_700);
    await sound(tenant);
    expect(await reverse(tenant.dispatcher, id)).toSucceed(200);
    expect(await heldBy(tenant, tenant.dispatcher)).toBe(5_000);
    expect(await balanceOf(wallet)).toBe(2_000);
    expect(await reverse(tenant.dispatcher, id)).toFailWith(409, "cash_transfer_already_reversed");
    expect(await notified(customer)).toEqual([
      [
        "wallet_cash_reversed",
        "A cash payment of 700 IQD at a desk was reversed in your wallet.",
      ],
      ["wallet_cash_paid_in", "700 IQD in cash were paid into your wallet."],
    ]);
    await sound(tenant);
  });

  test("loses what its owner is paid in cash, never more than it or the desk has", async () => {
    const { tenant, customer, wallet } = await withWallet();
    expect(await transfer(tenant.dispatcher, payout(wallet, 2_001)))
      .toFailWith(400, "insufficient_wallet_balance");
    expect(await transfer(tenant.admin, payout(wallet, 10)))
      .toFailWith(404, "cash_desk_not_found");
    expect(await adjust(tenant.admin, wallet, 9_000)).toSucceed(200);
    const tooMuch = await transfer(tenant.dispatcher, payout(wallet, 5_001));
    expect(tooMuch).toFailWith(409, "insufficient_desk_cash");
    expect(tooMuch.body.held).toBe(5_000);
    const made = await transfer(tenant.dispatcher, payout(wallet, 4_000));
    expect(made).toSucceed(201);
    expect(await heldBy(tenant, tenant.dispatcher)).toBe(1_000);
    expect(await balanceOf(wallet)).toBe(7_000);
    const { body } = await customer.get(`/delivery/wallets/${wallet}/transactions`);
    expect(body.data[0]).toMatchObject({
      kind: "WALLET_ADJUSTMENT",
      direction: "debit",
      description: "Cash paid out: Receipt 5",
    });
    expect((await notified(customer))[0]).toEqual([
      "wallet_cash_paid_out",
      "4000 IQD were paid out to you in cash from your wallet.",
    ]);
    await sound(tenant);
    expect(await reverse(tenant.admin, made.body.data.id)).toSucceed(200);
    expect(await heldBy(tenant, tenant.dispatcher)).toBe(5_000);
    expect(await balanceOf(wallet)).toBe(11_000);
    expect((await customer.get(`/delivery/wallets/${wallet}/transactions`)).body.data[0])
      .toMatchObject({ direction: "credit", description: "Cash paid out: Receipt 5: Typed twice" });
    await sound(tenant);
  });

  test("is reversed with its transfer alone, and not once its money is spent", async () => {
    const { tenant, wallet } = await withWallet();
    const { body } = await transfer(tenant.dispatcher, deposit(wallet, 700));
    const [{ payment_id }] = await sql`select payment_id from money.cash_transfers
      where id = ${body.data.id}`;
    const alone = await tenant.admin.post(
      `/delivery/wallets/${wallet}/adjustments/${payment_id}/reverse`,
      { reason: "Typed twice" },
      key(),
    );
    expect(alone).toFailWith(409, "adjustment_has_cash");
    expect(await adjust(tenant.admin, wallet, 2_500, "debit")).toSucceed(200);
    expect(await reverse(tenant.dispatcher, body.data.id))
      .toFailWith(400, "insufficient_wallet_balance");
    expect(await heldBy(tenant, tenant.dispatcher)).toBe(5_700);
    await sound(tenant);
  });

  test("twenty who pay out of one wallet at once, from two desks: it never gives more than it has", async () => {
    const { tenant, wallet } = await withWallet();
    const given = { kind: "handover", to_user_id: tenant.admin.id, amount: 2_500 };
    expect(await transfer(tenant.dispatcher, given)).toSucceed(201);
    const answers = await Promise.all(
      Array.from(
        { length: 20 },
        (_, n) =>
          transfer(
            n % 2 ? tenant.dispatcher : tenant.admin,
            n % 5 ? payout(wallet, 400) : deposit(wallet, 100),
          ),
      ),
    );
    const paid = answers.filter(({ status }, n) => n % 5 && status === 201).length;
    for (const answer of answers.filter(({ status }) => status !== 201)) {
      expect(answer).toFailWith(400, "insufficient_wallet_balance");
    }
    expect([5, 6]).toContain(paid);
    expect(await balanceOf(wallet)).toBe(2_400 - paid * 400);
    expect(await heldBy(tenant, tenant.dispatcher) + await heldBy(tenant, tenant.admin))
      .toBe(5_400 - paid * 400);
    await sound(tenant);
  });

  test("under one key is paid once, and another input is a conflict", async () => {
    const { tenant, wallet } = await withWallet();
    await expectReplayed(tenant.dispatcher, path, payout(wallet, 300), payout(wallet, 301));
    expect(await balanceOf(wallet)).toBe(1_700);
    const once = key();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => transfer(tenant.dispatcher, deposit(wallet, 50), once)),
    );
    for (const answer of answers) expect(answer.body).toEqual(answers[0]!.body);
    expect(await balanceOf(wallet)).toBe(1_750);
    await sound(tenant);
  });

  test("of another company is not found, and the company's own is its administrators'", async () => {
    const { tenant } = await withWallet();
    const theirs = await newWallet(other, other.driver, "driver");
    for (const wallet of [theirs, randomUUID()]) {
      expect(await transfer(tenant.dispatcher, deposit(wallet, 10)))
        .toFailWith(404, "wallet_not_found");
    }
    const company = await newWallet(tenant, null, "tenant");
    expect(await transfer(tenant.dispatcher, deposit(company, 10))).toFailWith(403, "forbidden");
    const till = await transfer(tenant.admin, {
      ...deposit(company, 900),
      to_owner_type: "tenant",
    });
    expect(till).toSucceed(201);
    expect(till.body.data).toMatchObject({
      to_owner_type: "tenant",
      to_user: null,
      wallet: { owner_type: "tenant", owner: null },
    });
    expect(await heldBy(tenant, null)).toBe(900);
    await sound(tenant);
  });
});

describe("a desk", () => {
  test("spends on expenses, says for what, and gets cash from the bank; what it has given on does not go back", async () => {
    const tenant = await withCash(1_000);
    const spent = await transfer(tenant.dispatcher, {
      kind: "expense",
      amount: 250,
      notes: "Fuel of the blue van",
      reference: "Station 12",
    });
    expect(spent).toSucceed(201);
    expect(await heldBy(tenant, tenant.dispatcher)).toBe(750);
    const fetched = await transfer(tenant.dispatcher, {
      kind: "bank_withdrawal",
      amount: 4_000,
      reference: "Cheque 3",
    });
    expect(fetched).toSucceed(201);
    expect(await heldBy(tenant, tenant.dispatcher)).toBe(4_750);
    expect(await transfer(tenant.dispatcher, { amount: 1_000 })).toSucceed(201);
    const back = await reverse(tenant.dispatcher, fetched.body.data.id);
    expect(back).toFailWith(409, "insufficient_desk_cash");
    expect(back.body.held).toBe(3_750);
    expect(await reverse(tenant.dispatcher, spent.body.data.id)).toSucceed(200);
    expect(await reverse(tenant.dispatcher, fetched.body.data.id)).toSucceed(200);
    expect(await heldBy(tenant, tenant.dispatcher)).toBe(0);
    await sound(tenant);
  });

  test("of somebody who never held cash begins with what comes to it; another's is an administrator's to fill", async () => {
    const tenant = await newTenant();
    const fetched = { kind: "bank_withdrawal", amount: 500 };
    expect(await transfer(tenant.ops, fetched)).toSucceed(201);
    expect(await heldBy(tenant, tenant.ops)).toBe(500);
    const forDispatcher = { ...fetched, to_user_id: tenant.dispatcher.id };
    expect(await transfer(tenant.ops, forDispatcher)).toFailWith(403, "forbidden");
    expect(await transfer(tenant.ops, { ...fetched, to_owner_type: "tenant" }))
      .toFailWith(403, "forbidden");
    const made = await transfer(tenant.admin, forDispatcher);
    expect(made).toSucceed(201);
    // Whose desk it came to may reverse it; a colleague may not.
    expect(await reverse(tenant.ops, made.body.data.id)).toFailWith(403, "forbidden");
    expect(await reverse(tenant.dispatcher, made.body.data.id)).toSucceed(200);
    for (const to_user_id of [tenant.driver.id, other.dispatcher.id, randomUUID()]) {
      const answer = await transfer(tenant.admin, { ...fetched, to_user_id });
      expect(answer).toFailWith(400, "invalid_receiver");
    }
    await sound(tenant);
  });

  test("has each kind of movement in its list, with sums that leave out what was reversed", async () => {
    const { tenant, customer, wallet } = await withWallet();
    for (
      const body of [
        deposit(wallet, 700),
        payout(wallet, 200),
        payout(wallet, 100),
        { kind: "expense", amount: 50, notes: "Tape" },
        { kind: "bank_withdrawal", amount: 900 },
      ]
    ) expect(await transfer(tenant.dispatcher, body)).toSucceed(201);
    const { body: page } = await tenant.dispatcher.get(path, { query: { kind: "expense" } });
    expect(page.data).toHaveLength(1);
    expect(await reverse(tenant.dispatcher, page.data[0].id)).toSucceed(200);
    const { body } = await tenant.admin.get(path);
    expect(body.summary).toEqual([
      { kind: "bank_withdrawal", currency: "IQD", amount: 900, transfers: 1 },
      { kind: "wallet_deposit", currency: "IQD", amount: 700, transfers: 1 },
      { kind: "wallet_payout", currency: "IQD", amount: 300, transfers: 2 },
    ]);
    const of = async (query: Record<string, string | object>) =>
      (await tenant.admin.get(path, { query })).body.data.length;
    expect(await of({ wallet_id: wallet })).toBe(3);
    expect(await of({ to_user_id: tenant.dispatcher.id })).toBe(2);
    const [{ full_name }] =
      await sql`select full_name from tenancy.profiles where id = ${customer.id}`;
    expect(await of({ column_filters: { wallet_owner_name: full_name } })).toBe(3);
    const { body: proof } = await tenant.admin.get("/delivery/cod-reconciliation");
    expect(proof.desks).toMatchObject([{
      remitted: 5_000,
      transferred_in: 1_600,
      transferred_out: 300,
      in_hand: 6_300,
      ledger: 6_300,
    }]);
    expect(proof.differences).toEqual([]);
  });

  test("refuses what a kind does not have, or lacks, and who has no desk", async () => {
    const { tenant, wallet } = await withWallet();
    const call = { method: "POST", path, options: key() } as const;
    await expectRefused(tenant.dispatcher, call, [
      [{ ...payout(wallet, 10), reference: null }, "reference"],
      [{ ...payout(wallet, 10), wallet_id: null }, "wallet_id"],
      [{ ...payout(wallet, 10), currency: "IQD" }, "currency"],
      [{ ...payout(wallet, 10), to_user_id: tenant.admin.id }, "to_user_id"],
      [{ ...deposit(wallet, 10), from_user_id: tenant.dispatcher.id }, "from_user_id"],
      [{ ...deposit(wallet, 10), from_owner_type: "tenant" }, "from_owner_type"],
      [{ ...deposit(wallet, 10), to_owner_type: "driver" }, "to_owner_type"],
      [
        { ...deposit(wallet, 10), to_owner_type: "tenant", to_user_id: tenant.admin.id },
        "to_user_id",
      ],
      [{ kind: "expense", amount: 10 }, "notes"],
      [{ kind: "expense", amount: 10, notes: "Tape", wallet_id: wallet }, "wallet_id"],
      [{ kind: "bank_deposit", amount: 10, to_owner_type: "tenant" }, "to_owner_type"],
      [{ kind: "refund", amount: 10 }, "kind"],
      [deposit(wallet, 0), "amount"],
      [deposit(wallet, 0.5), "amount", "too_many_decimals"],
    ]);
    const bare = await transfer(tenant.dispatcher, { kind: "expense", amount: 10 });
    expect(bare.body.message).toBe("notes is required.");
    await expectGuarded({ ...call, body: deposit(wallet, 10) }, {
      denied: [tenant.driver, tenant.customer, tenant.warehouse].filter(Boolean),
    });
    expect(await balanceOf(wallet)).toBe(2_000);
    await sound(tenant);
  });

  test("is guarded by the database: a wallet's transfer needs the wallet's journal", async () => {
    const { tenant, wallet } = await withWallet();
    const { body } = await transfer(tenant.dispatcher, deposit(wallet, 700));
    const write =
      sql`update money.cash_transfers set reversed_at = now(), reversed_by = actor_id, reversal_reason = 'x'
      where id = ${body.data.id}`;
    await expect(write).rejects.toThrow(/has no journal of its amount/);
    const other = sql`update money.cash_transfers set amount = 800 where id = ${body.data.id}`;
    await expect(other).rejects.toThrow();
    await sound(tenant);
  });
});
