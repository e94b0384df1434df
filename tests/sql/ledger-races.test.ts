/** Many who book at the same moment: nothing is lost, nothing goes below its floor, nobody waits in a circle. */
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sql, stack } from "../support/db.ts";
import { tries } from "../prove/proof.ts";
import { asAdminOf, balance, fundedWallet, post, type Sql } from "../support/ledger.ts";
import { newTenant, type Tenant } from "../support/people.ts";
import { booksOf } from "../support/reconciled.ts";

let tenant: Tenant;
const crowd = postgres(stack.dbUrl, { max: 16, onnotice: () => {} });
afterAll(() => crowd.end());
beforeAll(async () => {
  tenant = await newTenant();
});

const asTenant = <T>(
  work: (tx: postgres.TransactionSql) => Promise<T>,
  pool?: Sql,
  id?: string,
) => asAdminOf(tenant, work, pool, id);
const funded = (amount: number) => fundedWallet(tenant, amount);

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
    expect(await booksOf(tenant)).toEqual([]);
  },
  120_000,
);

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
