/** The books themselves, driven in SQL as the cores drive them. */
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sql, stack } from "../support/db.ts";
import { tries } from "../prove/proof.ts";
import { newTenant, type Tenant } from "../support/people.ts";

let tenant: Tenant;
let other: Tenant;
const crowd = postgres(stack.dbUrl, { max: 16, onnotice: () => {} });
afterAll(() => crowd.end());
beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
});

type Sql = postgres.Sql | postgres.TransactionSql;
interface Posting {
  account: string;
  amount: number | string;
  journal?: string;
  kind?: string;
  reference?: string;
}

/** Runs work as a request of the tenant's administrator does. */
function asTenant<T>(
  work: (tx: postgres.TransactionSql) => Promise<T>,
  pool: Sql = sql,
  id = tenant.id,
): Promise<T> {
  return (pool as postgres.Sql).begin(async (tx) => {
    await tx`select set_config('app.tenant_id', ${id}, true), set_config('app.sees_tenant', 'on', true),
      set_config('app.user_id', ${tenant.admin.id}, true),
      set_config('role', 'barid_caller', true)`;
    return await work(tx);
  }) as Promise<T>;
}

/** Books as a core does that private.call runs: the caller's own role may not (see the wall below). */
async function post(tx: Sql, postings: Posting[]) {
  const [{ role }] = await tx`select current_setting('role') as role`;
  await tx`select set_config('role', 'none', true)`;
  await posting(tx, postings);
  await tx`select set_config('role', ${role}, true)`;
}

function posting(tx: Sql, postings: Posting[]) {
  const reference = crypto.randomUUID();
  return tx`select money.post(${
    tx.json(postings.map((posting) => ({
      journal: posting.journal ?? "one",
      kind: posting.kind ?? "TEST",
      reference_type: "test",
      reference_id: posting.reference ?? reference,
      description: "a test",
      account_id: posting.account,
      amount: posting.amount,
    })))
  })`;
}

async function account(
  kind = "wallet",
  floor: number | null = 0,
  currency = "IQD",
  owner = crypto.randomUUID(),
  of = tenant.id,
) {
  await sql`insert into auth.users (id, email) values (${owner}, ${owner + "@barid.test"})`;
  await sql`insert into tenancy.tenant_users (tenant_id, user_id, tenant_user_type) values (${of}, ${owner}, 'institution')`;
  const [row] =
    await sql`insert into money.accounts (tenant_id, kind, owner_type, owner_user_id, currency, floor)
    values (${of}, ${kind}, 'institution', ${owner}, ${currency}, ${floor}) returning id`;
  return row.id as string;
}

/** A wallet with money in it, and the book it came from. */
async function funded(amount: number) {
  const [wallet, outside] = [await account(), await account("external", null)];
  await asTenant((tx) =>
    post(tx, [{ account: wallet, amount }, { account: outside, amount: -amount }])
  );
  return { wallet, outside };
}
const balance = async (id: string) =>
  Number((await sql`select balance from money.accounts where id = ${id}`)[0].balance);
const faults = () => sql`select problem, account_id, transaction_id from money.verify_books()`;

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

test("the sum is judged in each currency, and for each journal of a call", async () => {
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

test("one effect is booked once, also when forty try at the same moment", async () => {
  const { wallet, outside } = await funded(100);
  const reference = crypto.randomUUID();
  const results = await Promise.allSettled(
    Array.from(
      { length: 40 },
      () =>
        asTenant((tx) =>
          post(tx, [{ account: wallet, amount: -1, reference }, {
            account: outside,
            amount: 1,
            reference,
          }]), crowd),
    ),
  );
  expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  for (const result of results) {
    if (result.status === "rejected") {
      expect(result.reason.constraint_name).toBe("journal_already_booked");
    }
  }
  expect(await balance(wallet)).toBe(99);
});

test("forty debits of 1 from a balance of 10: exactly ten succeed", async () => {
  const { wallet, outside } = await funded(10);
  const results = await Promise.allSettled(
    Array.from(
      { length: 40 },
      () =>
        asTenant(
          (tx) => post(tx, [{ account: wallet, amount: -1 }, { account: outside, amount: 1 }]),
          crowd,
        ),
    ),
  );
  expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(10);
  for (const result of results) {
    if (result.status === "rejected") {
      expect(result.reason.message).toBe("insufficient_wallet_balance");
    }
  }
  expect(await balance(wallet)).toBe(0);
  expect(await balance(outside)).toBe(0);
});

const each = tries(200, 15);
test(
  `sixteen connections posting back and forth over two wallets, ${16 * each} times, never deadlock`,
  async () => {
    const [one, two] = [(await funded(100_000)).wallet, (await funded(100_000)).wallet];
    const worker = async (index: number) => {
      const [from, to] = index % 2 ? [one, two] : [two, one];
      for (let i = 0; i < each; i++) {
        await asTenant(
          (tx) => post(tx, [{ account: from, amount: -1 }, { account: to, amount: 1 }]),
          crowd,
        );
      }
    };
    await Promise.all(Array.from({ length: 16 }, (_, index) => worker(index)));
    expect([await balance(one), await balance(two)]).toEqual([100_000, 100_000]);
    for (const id of [one, two]) {
      const [row] =
        await sql`select count(*)::int as entries, max(version)::int as last, min(version)::int as first,
      sum(amount) as total, count(distinct version)::int as versions from money.ledger_entries where account_id = ${id}`;
      expect(row).toMatchObject({
        entries: 16 * each + 1,
        last: 16 * each + 1,
        first: 1,
        versions: 16 * each + 1,
        total: 100_000,
      });
    }
    expect(await faults()).toEqual([]);
  },
  120_000,
);

test("nobody changes, removes or truncates what is booked, not even the owner", async () => {
  const { wallet } = await funded(10);
  for (
    const statement of [
      `update money.ledger_entries set amount = 11 where account_id = '${wallet}'`,
      `delete from money.ledger_entries where account_id = '${wallet}'`,
      `truncate money.ledger_entries`,
      `update money.ledger_transactions set kind = 'X' where tenant_id = '${tenant.id}'`,
      `delete from money.ledger_transactions where tenant_id = '${tenant.id}'`,
      `truncate money.ledger_transactions cascade`,
    ]
  ) {
    await expect(sql.unsafe(statement), statement).rejects.toThrow("never changed or removed");
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
  const foreign = await account("wallet", 0, "IQD", crypto.randomUUID(), other.id);
  await expect(
    asTenant((tx) => post(tx, [{ account: foreign, amount: 5 }, { account: outside, amount: -5 }])),
  )
    .rejects.toMatchObject({ message: "wallet_not_found" });
  expect(await balance(foreign)).toBe(0);
  await expect(asTenant((tx) => tx`update money.accounts set balance = 1000`)).rejects.toThrow(
    "permission denied",
  );
});

test("opening the same account sixteen times at once opens one", async () => {
  const open = () =>
    asTenant(
      async (tx) =>
        (await tx`select money.account_of('wallet', 'driver', ${tenant.driver.id}::uuid, 'IQD') as id`)[
          0
        ].id,
      crowd,
    );
  const ids = await Promise.all(Array.from({ length: 16 }, open));
  expect(new Set(ids).size).toBe(1);
  expect(ids[0]).toBeTruthy();
});

test("verify_books finds nothing in right books and names every kind of fault", async () => {
  expect(await faults()).toEqual([]);
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
