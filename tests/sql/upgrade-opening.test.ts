/** The balance of an owner's wallet when a company was upgraded to statements is one movement of the first statement. */
import { randomUUID } from "node:crypto";
import type postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { OwnDatabase } from "../support/database.ts";
import { releasedDatabase, upgrade } from "../support/released-database.ts";

let old: OwnDatabase;
let tenant: string;
beforeAll(async () => {
  old = await releasedDatabase("1.1.0");
}, 300_000);
afterAll(() => old.close());

/** As a core of this company works. */
const within = <T>(work: (tx: postgres.TransactionSql) => Promise<T>) =>
  old.sql.begin(async (tx) => {
    await tx`select set_config('app.tenant_id', ${tenant}, true)`;
    return await work(tx);
  }) as Promise<T>;

/** Books these amounts on a wallet, each for itself. Answers the wallet. */
const booked = (owner: string, type: string, amounts: number[], currency = "IQD") =>
  within(async (tx) => {
    const [{ wallet, outside }] =
      await tx`select money.account_of('wallet', ${type}, ${owner}, ${currency}) as wallet,
      money.account_of('external', 'tenant', null, ${currency}) as outside`;
    for (const amount of amounts) {
      const reference_id = randomUUID();
      await tx`select money.post(${
        tx.json([[wallet, amount], [outside, -amount]].map(([account_id, amount]) => ({
          ...{ journal: "fund", kind: "wallet_adjustment", reference_type: "test" },
          ...{ reference_id, account_id, amount },
        })))
      })`;
    }
    return wallet as string;
  });

/** A customer or an institution of the company. */
async function newOwner(type: "customer" | "institution" | "driver"): Promise<string> {
  const id = randomUUID();
  await old.sql`insert into auth.users (id, email) values (${id}, ${`${id}@barid.test`})`;
  await old
    .sql`insert into tenancy.profiles (id, email, full_name) values (${id}, ${`${id}@barid.test`}, 'Owner')
    on conflict (id) do nothing`;
  await old
    .sql`insert into tenancy.tenant_users (tenant_id, user_id, tenant_user_type) values (${tenant}, ${id}, ${type})`;
  return id;
}

test(
  "each owner's wallet with movements has its balance and version as the opening; what is not 0 waits for a statement",
  async () => {
    const { sql } = old;
    [{ id: tenant }] =
      await sql`select id from tenancy.tenants order by created_at, id limit 1` as [{ id: string }];
    const [years, spent, driver, unused] = await Promise.all([
      newOwner("customer"),
      newOwner("institution"),
      newOwner("driver"),
      newOwner("customer"),
    ]);
    const wallets = {
      years: await booked(years, "customer", [10_000, 2_500, -155]),
      dollars: await booked(years, "customer", [12.5], "USD"),
      spent: await booked(spent, "institution", [700, -700]),
      driver: await booked(driver, "driver", [900]),
      unused: await booked(unused, "customer", []),
    };
    const before =
      await sql`select tenant_id, id as account_id, balance, version from money.accounts
    where kind = 'wallet' and owner_type in ('customer', 'institution') and version > 0 order by id`;
    expect(before.length).toBeGreaterThan(3);
    expect(before.map(({ account_id }) => account_id)).toEqual(
      expect.arrayContaining([wallets.years, wallets.dollars, wallets.spent]),
    );

    await upgrade(old);

    expect(
      await sql`select tenant_id, account_id, opening, opening_movement, looked_to from money.merchant_accounts order by account_id`,
    ).toEqual(before.map(({ tenant_id, account_id, balance, version }) => ({
      ...{ tenant_id, account_id },
      ...{ opening: balance, opening_movement: version, looked_to: version },
    })));
    expect(
      await sql`select tenant_id, account_id, movement from money.merchant_pending order by account_id`,
    ).toEqual(
      before.filter(({ balance }) => Number(balance) !== 0).map(({ tenant_id, account_id }) => ({
        ...{ tenant_id, account_id },
        movement: "0",
      })),
    );
    for (const gone of [wallets.driver, wallets.unused]) {
      expect(before.map(({ account_id }) => account_id)).not.toContain(gone);
    }

    await booked(years, "customer", [1_000]);
    await booked(spent, "institution", [40]);
    const state = (wallet: string) =>
      within(async (tx) => {
        const [{ id }] = await tx`select money.statement_make(${wallet}, 'infinity') as id`;
        return (await tx`select l.movement, l.kind, l.amount, l.delivery_id, l.collected_at = m.opened_at as opening
        from money.merchant_statement_lines l
        join money.merchant_accounts m on m.account_id = l.account_id
        where l.statement_id = ${id} order by l.position`).map((line) => ({ ...line }));
      });
    const line = (movement: string, amount: string, opening: boolean) => ({
      ...{ movement, kind: "adjustment", amount, delivery_id: null, opening },
    });
    expect(await state(wallets.years)).toEqual([
      line("0", "12345.000", true),
      line("4", "1000.000", false),
    ]);
    expect(await state(wallets.dollars)).toEqual([line("0", "12.500", true)]);
    expect(await state(wallets.spent)).toEqual([line("3", "40.000", false)]);
    expect(
      await sql`select d.* from tenancy.tenants t cross join money.statement_differences(t.id, 'infinity') d`,
    ).toEqual([]);
  },
  300_000,
);
