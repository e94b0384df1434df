/** Money and services for tests. */
import { randomUUID } from "node:crypto";
import { sql } from "./db.ts";
import type { Tenant } from "./people.ts";

/** Puts money into a person's wallet through the ledger, as an adjustment would. */
export async function fundWallet(
  tenant: { id: string },
  ownerType: "institution" | "customer" | "driver",
  userId: string,
  amount: number,
  currency = "IQD",
): Promise<string> {
  return await sql.begin(async (tx) => {
    await tx`select set_config('app.tenant_id', ${tenant.id}, true)`;
    const [{ wallet, external }] =
      await tx`select money.account_of('wallet', ${ownerType}, ${userId}, ${currency}) as wallet,
      money.account_of('external', 'tenant', null, ${currency}) as external`;
    if (amount !== 0) {
      const reference = {
        journal: "fund",
        kind: "wallet_adjustment",
        reference_type: "test",
        reference_id: randomUUID(),
      };
      await tx`select money.post(${
        tx.json([
          { ...reference, account_id: wallet, amount },
          { ...reference, account_id: external, amount: -amount },
        ])
      })`;
    }
    return wallet;
  });
}

export interface ServiceOptions {
  name?: { en: string; ar?: string; ku?: string };
  default_price?: number;
  price_per_km?: number;
  free_km?: number;
  unit_min?: number;
  unit_max?: number;
  active?: boolean;
  allow_returns?: boolean;
  access_mode?: string;
  zone_access_mode?: string;
  code?: string;
}

/** A delivery service of the tenant: 1,000 a unit, 1 to 100 units, unless said. */
export async function newService(
  tenant: { id: string },
  options: ServiceOptions = {},
): Promise<string> {
  const [type] = await sql`insert into delivery.delivery_types (tenant_id, code, name)
    values (${tenant.id}, 'parcel', ${sql.json({ en: "Parcel" })})
    on conflict (tenant_id, code) do update set code = excluded.code returning id`;
  const { name = { en: "Standard", ar: "عادي", ku: "ئاسایی" }, ...columns } = options;
  const [service] = await sql`insert into delivery.delivery_services ${
    sql({
      tenant_id: tenant.id,
      code: "S" + randomUUID().slice(0, 8),
      name: sql.json(name) as never,
      service_level: "standard",
      default_price: 1000,
      unit_min: 1,
      unit_max: 100,
      delivery_type_id: type.id,
      ...columns,
    })
  } returning id`;
  return service.id;
}

/** Balance of a wallet. */
export async function balanceOf(walletId: string): Promise<number> {
  const [row] = await sql`select balance from money.accounts where id = ${walletId}`;
  return row.balance;
}

/** Every book of a tenant in order: journals sum to zero, balances equal their entries, versions have no gap. */
export async function checkBooks(tenant: Pick<Tenant, "id">): Promise<string[]> {
  const rows = await sql`
    select 'journal ' || transaction_id as problem from money.ledger_entries where tenant_id = ${tenant.id}
      group by transaction_id, currency having sum(amount) <> 0
    union all
    select 'account ' || a.id from money.accounts a
      cross join lateral (select coalesce(sum(e.amount), 0) as total, count(*) as entries
        from money.ledger_entries e where e.account_id = a.id) e
      where a.tenant_id = ${tenant.id} and (a.balance <> e.total or a.version <> e.entries)
    union all
    select 'chain ' || e.id from money.ledger_entries e
      left join money.ledger_entries b on b.account_id = e.account_id and b.version = e.version - 1
      where e.tenant_id = ${tenant.id} and e.balance_after <> coalesce(b.balance_after, 0) + e.amount`;
  return rows.map((row) => row.problem);
}

/** The payments of a delivery, by type. */
export const paymentsOf = (delivery: string) =>
  sql`select type, status, payment_method, amount from money.payments
    where delivery_id = ${delivery} order by type`;
