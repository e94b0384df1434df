/** The books themselves, driven in SQL as the cores drive them. */
import postgres from "postgres";
import { beforeAll, expect, test } from "vitest";
import { newMigratedDatabase } from "../support/database.ts";
import { sql } from "../support/db.ts";
import {
  asAdminOf,
  balance,
  fundedWallet,
  newAccount,
  post,
  posting,
  type Sql,
} from "../support/ledger.ts";
import { newTenant, type Tenant } from "../support/people.ts";
import { booksOf } from "../support/reconciled.ts";

let tenant: Tenant;
let other: Tenant;
beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
});

const asTenant = <T>(
  work: (tx: postgres.TransactionSql) => Promise<T>,
  pool?: Sql,
  id?: string,
) => asAdminOf(tenant, work, pool, id);
const account = (kind?: string, floor?: number | null, currency?: string) =>
  newAccount(tenant, kind, floor, currency);
const funded = (amount: number) => fundedWallet(tenant, amount);

test("a journal that does not sum to zero fails at commit and leaves nothing", async () => {
  const { wallet, outside } = await funded(100);
  await expect(
    asTenant((tx) => post(tx, [{ account: wallet, amount: 5 }, { account: outside, amount: -4 }])),
  )
    .rejects.toMatchObject({ constraint_name: "journal_balances" });
  await expect(asTenant((tx) => post(tx, [{ account: wallet, amount: 5 }])))
    .rejects.toMatchObject({ constraint_name: "journal_balances" });
  expect(await balance(wallet)).toBe(100);
});

test("the sum is checked in each currency, and for each journal of a call", async () => {
  const { wallet } = await funded(100);
  const dollars = await account("external", null, "USD");
  await expect(
    asTenant((tx) => post(tx, [{ account: wallet, amount: 5 }, { account: dollars, amount: -5 }])),
  )
    .rejects.toMatchObject({ constraint_name: "journal_balances" });
  const { outside } = await funded(1);
  await expect(asTenant((tx) =>
    post(tx, [
      { account: wallet, amount: 5, journal: "a", reference: crypto.randomUUID() },
      { account: outside, amount: -5, journal: "b", reference: crypto.randomUUID() },
    ])
  )).rejects.toMatchObject({ constraint_name: "journal_balances" });
});

test("several journals in one call run balances and versions through the list", async () => {
  const { wallet, outside } = await funded(100);
  await asTenant((tx) =>
    post(
      tx,
      ["a", "b", "c"].flatMap((journal) => {
        const reference = crypto.randomUUID();
        return [{ account: wallet, amount: -10, journal, reference }, {
          account: outside,
          amount: 10,
          journal,
          reference,
        }];
      }),
    )
  );
  const entries = await sql`select amount, balance_after, version from money.ledger_entries
    where account_id = ${wallet} order by version`;
  expect(entries.map((e) => [e.amount, e.balance_after, Number(e.version)]))
    .toEqual([[100, 100, 1], [-10, 90, 2], [-10, 80, 3], [-10, 70, 4]]);
  expect(await balance(wallet)).toBe(70);
});

test("no entry is lost when the lines of a journal name different kinds", async () => {
  const { wallet, outside } = await funded(100);
  await asTenant((tx) =>
    post(tx, [
      { account: wallet, amount: -10, kind: "FIRST" },
      { account: outside, amount: 10, kind: "FIRST" },
      { account: wallet, amount: -1, kind: "SECOND" },
      { account: outside, amount: 1, kind: "SECOND" },
    ])
  );
  expect(await balance(wallet)).toBe(89);
  expect(await sql`select from money.ledger_entries where account_id = ${wallet}`).toHaveLength(3);
});

test("an amount that would be rounded is refused instead", async () => {
  const { wallet, outside } = await funded(100);
  await expect(
    asTenant((tx) =>
      post(tx, [{ account: wallet, amount: "0.0004" }, { account: outside, amount: "-0.0004" }])
    ),
  )
    .rejects.toThrow("more than three decimals");
  expect(await balance(wallet)).toBe(100);
});

test("the floor holds in the database, for an insert of any kind", async () => {
  const { wallet, outside } = await funded(10);
  await expect(
    asTenant((tx) =>
      post(tx, [{ account: wallet, amount: -10.001 }, { account: outside, amount: 10.001 }])
    ),
  )
    .rejects.toMatchObject({ message: "insufficient_wallet_balance" });
  await expect(sql`update money.accounts set balance = -1 where id = ${wallet}`)
    .rejects.toMatchObject({ constraint_name: "insufficient_wallet_balance" });
  await expect(
    sql`insert into money.accounts (tenant_id, kind, owner_type, currency) values (${tenant.id}, 'wallet', 'tenant', 'IQD')`,
  )
    .rejects.toMatchObject({ constraint_name: "wallets_have_a_floor" });
  expect(await balance(wallet)).toBe(10);
});

test("nobody changes, removes or truncates what is booked, not even the owner", async () => {
  const { wallet } = await funded(10);
  for (
    const statement of [
      `update money.ledger_entries set amount = 11 where account_id = '${wallet}'`,
      `delete from money.ledger_entries where account_id = '${wallet}'`,
      `update money.ledger_transactions set kind = 'X' where tenant_id = '${tenant.id}'`,
      `delete from money.ledger_transactions where tenant_id = '${tenant.id}'`,
    ]
  ) {
    await expect(sql.unsafe(statement), statement).rejects.toThrow("never changed or removed");
  }
  // Where nobody else is at work: a table that is truncated is locked, and so are those that refer to it.
  const alone = await newMigratedDatabase();
  try {
    for (const table of ["ledger_entries", "ledger_transactions cascade"]) {
      await expect(alone.sql.unsafe(`truncate money.${table}`), table)
        .rejects.toThrow("never changed or removed");
    }
  } finally {
    await alone.close();
  }
});

test("an old journal takes no entry, even a pair that balances", async () => {
  const { wallet, outside } = await funded(10);
  const [{ transaction_id }] =
    await sql`select transaction_id from money.ledger_entries where account_id = ${wallet}`;
  const add = (tx: Sql, id: string, amount: number) =>
    tx`insert into money.ledger_entries (tenant_id, transaction_id, account_id, amount, currency, balance_after, version)
      values (${tenant.id}, ${transaction_id}, ${id}, ${amount}, 'IQD', 0, 99)`;
  await expect(sql.begin(async (tx) => {
    await add(tx, wallet, 5);
    await add(tx, outside, -5);
  })).rejects.toMatchObject({ constraint_name: "journal_open" });
  await expect(asTenant((tx) => add(tx, wallet, 5))).rejects.toThrow("permission denied");
});

test("an entry in another currency than its account's is refused", async () => {
  const { wallet } = await funded(10);
  await expect(sql.begin(async (tx) => {
    const [journal] =
      await tx`insert into money.ledger_transactions (tenant_id, kind, reference_type, reference_id)
      values (${tenant.id}, 'TEST', 'test', gen_random_uuid()) returning id`;
    await tx`insert into money.ledger_entries (tenant_id, transaction_id, account_id, amount, currency, balance_after, version)
      values (${tenant.id}, ${journal.id}, ${wallet}, 5, 'USD', 15, 2)`;
  })).rejects.toMatchObject({ constraint_name: "entry_currency" });
});

test("a journal without entries fails at commit", async () => {
  await expect(
    sql`insert into money.ledger_transactions (tenant_id, kind, reference_type, reference_id)
    values (${tenant.id}, 'TEST', 'test', gen_random_uuid())`,
  ).rejects.toMatchObject({ constraint_name: "journal_balances" });
});

test("a tenant's postings reach no account of another tenant", async () => {
  const { outside } = await funded(10);
  const foreign = await newAccount(other);
  await expect(
    asTenant((tx) => post(tx, [{ account: foreign, amount: 5 }, { account: outside, amount: -5 }])),
  )
    .rejects.toMatchObject({ message: "wallet_not_found" });
  expect(await balance(foreign)).toBe(0);
  await expect(asTenant((tx) => tx`update money.accounts set balance = 1000`)).rejects.toThrow(
    "permission denied",
  );
});

test("verify_books finds nothing in right books and names every kind of fault", async () => {
  expect(await booksOf(tenant)).toEqual([]);
  const { wallet } = await funded(10);
  const seen = await sql.begin(async (tx) => {
    // Only with its guards taken away can a book be wrong; all of this is undone.
    await tx`set local session_replication_role = replica`;
    await tx`update money.accounts set balance = 11, version = 5 where id = ${wallet}`;
    await tx`update money.ledger_entries set amount = 12, currency = 'USD' where account_id = ${wallet}`;
    const rows = await tx`select distinct problem from money.verify_books() order by 1`;
    throw Object.assign(new Error("undo"), { seen: rows.map((row) => row.problem) });
  }).catch((error) => error.seen);
  expect(seen).toEqual(["balance", "currency", "journal", "running", "version"]);
  await expect(asTenant((tx) => tx`select from money.verify_books()`)).rejects.toThrow(
    "permission denied",
  );
});

test("a caller who is not entered by a core books nothing and reads no balance, whatever stands around the call", async () => {
  const mine = await account();
  const outside = await account("external", null);
  const before = await sql`select balance from money.accounts where id = ${mine}`;
  const entered = (work: (tx: postgres.TransactionSql) => Promise<unknown>) =>
    sql.begin(async (tx) => {
      await tx`select set_config('app.tenant_id', ${tenant.id}, true), set_config('app.sees_tenant', 'on', true),
        set_config('app.user_id', ${tenant.customer.id}, true), set_config('app.grants', '{anyone,role:customer}', true),
        set_config('role', 'barid_caller', true)`;
      await work(tx);
    });
  const journal = (tx: postgres.TransactionSql) =>
    tx`select money.post_journal('TEST', 'test', gen_random_uuid(), 'mine', array[${mine}, ${outside}]::uuid[], array[5000, -5000]::numeric[])`;
  const pretended = "PL/pgSQL function private.call(jsonb,jsonb,text,jsonb) line 1 at EXECUTE";
  const ways: ((tx: postgres.TransactionSql) => Promise<unknown>)[] = [
    journal,
    (tx) => posting(tx, [{ account: mine, amount: 5000 }, { account: outside, amount: -5000 }]),
    (tx) => tx`select money.reverse('TEST', 'test', gen_random_uuid(), 'mine')`,
    (tx) => tx`select money.lock_balances(array[${mine}]::uuid[])`,
    // A core itself, called by nobody who was let in.
    (tx) =>
      tx`select delivery.wallet_adjust(${
        tx.json({ id: mine, amount: 5000, direction: "credit", reason: "mine" })
      })`,
    (tx) =>
      tx.unsafe(
        `do $do$ begin perform money.post_journal('TEST', 'test', gen_random_uuid(), E'x\\n${pretended}',
        array['${mine}', '${outside}']::uuid[], array[5000, -5000]::numeric[]); end $do$`,
      ),
  ];
  for (const way of ways) await expect(entered(way)).rejects.toThrow(/forbidden|wallet_not_found/);
  for (const way of [ways[0], ways[1], ways[2], ways[3], ways[5]]) {
    await expect(entered(way)).rejects.toThrow("forbidden");
  }
  expect(await sql`select balance from money.accounts where id = ${mine}`).toEqual(before);
});
