/** A call asks for the id of an account once, not once for each account of its company. */
import type { TransactionSql } from "postgres";
import { expect, test } from "vitest";
import { carried, newSide, payCarried } from "../support/carriers.ts";
import { sql } from "../support/db.ts";
import "../support/expect.ts";
import { newMerchant, opened, pay } from "../support/merchant-statements.ts";
import type { Tenant } from "../support/people.ts";

/** More accounts than any call needs. */
const manyAccounts = (tenant: Tenant) =>
  sql`insert into money.accounts (tenant_id, kind, owner_type, owner_user_id, currency, floor)
    select ${tenant.id}, k, 'driver', u.user_id, 'IQD', 0
    from unnest('{wallet,driver_cash,driver_shortage,driver_payable}'::text[]) k
    cross join tenancy.tenant_users u where u.tenant_id = ${tenant.id} on conflict do nothing`;

/** How often an administrator's call asks for the id of an account; nothing of it stays. */
async function asked(
  tenant: Tenant,
  call: (tx: TransactionSql) => Promise<unknown>,
): Promise<number> {
  let calls = 0;
  await sql.begin(async (tx) => {
    await tx`set local track_functions = 'pl'`;
    await tx`select set_config('app.tenant_id', ${tenant.id}, true), set_config('app.user_id', ${tenant.admin.id}, true),
      set_config('app.sees_tenant', 'on', true),
      set_config('app.grants', '{role:tenant_admin,permission:manage:tenant}', true)`;
    await call(tx);
    const [{ count }] = await tx`select coalesce(
      pg_stat_get_xact_function_calls('money.account_of(text,text,uuid,text,text)'::regprocedure), 0)::int as count`;
    calls = count;
    throw new Error("rolled back");
  }).catch((error: Error) => {
    if (error.message !== "rolled back") throw error;
  });
  return calls;
}

test("the reversal of a payout", async () => {
  const { tenant } = await newMerchant([7_000]);
  const { id } = await opened(tenant);
  expect(await pay(tenant.ops, id)).toSucceed(200);
  await manyAccounts(tenant);
  const reverse = (tx: TransactionSql) =>
    tx`select money.statement_reverse_book(${tx.json({ id, reason: "Typed twice" })})`;
  expect(await asked(tenant, reverse)).toBe(1);
});

test("a carrier's payment, and its reversal", async () => {
  const side = await newSide();
  const { tenant } = side.ground;
  await carried(side, 5_000);
  const paid = await payCarried(tenant.admin, 7_000);
  expect(paid).toSucceed();
  await manyAccounts(tenant);
  const input = {
    carrier_code: "simulated",
    remittance_id: paid.body.remittance.id,
    reason: "Typed twice",
  };
  const reverse = (tx: TransactionSql) =>
    tx`select money.carrier_remittance_take_back(${tx.json(input)})`;
  expect(await asked(tenant, reverse)).toBe(3);
});
