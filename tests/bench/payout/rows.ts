/** Merchants with a million movements on their wallets: the older ones before the upgrade to statements, the newest in the hands of drivers. */
import type { Bench } from "../bench-stack.ts";
import { people } from "../cod/rows.ts";
import { hold } from "../cod/settlements.ts";
import { fillTables } from "../fill.ts";

export interface Merchants {
  /** Owners of the million. */
  owners: number;
  /** Movements of each. */
  each: number;
  /** The newest of each that no statement was made of. */
  unstated: number;
  /** The newest of these, whose cash drivers have. */
  inHand: number;
  /** Of the owners: those with something to state. The others' unstated COD is all in hand. */
  due: number;
  /** Movements of one owner more, all of them to state. */
  long: number;
}

/**
 * Fills the books of the bench's tenant. Each movement is a row of cash with its COD of 900, its journal on the wallet and
 * its holds; the other side of the journals is left out, since nothing here looks at it. bench.rows lists what is
 * in hand of owners with something to state.
 */
export async function fillMerchants(bench: Bench, of: Merchants): Promise<void> {
  const { stack: { sql }, tenantId } = bench;
  await people(bench);
  console.log(`       loading ${of.owners * of.each + of.long} movements ...`);
  await sql.unsafe(`
    create table bench.owners as select gen_random_uuid() as id, gen_random_uuid() as wallet, n, case when n > ${of.owners} then ${of.long} else ${of.each} end as each
      from generate_series(1, ${of.owners + 1}) n;
    insert into auth.users (id, email) select id, 'owner-' || n || '@demo.test' from bench.owners;
    insert into tenancy.profiles (id, full_name, email) select id, 'Merchant ' || n, 'owner-' || n || '@demo.test' from bench.owners
      on conflict (id) do update set full_name = excluded.full_name;
    insert into tenancy.tenant_users (tenant_id, user_id, tenant_user_type) select '${tenantId}', id, 'customer' from bench.owners;
    insert into money.accounts (id, tenant_id, kind, owner_type, owner_user_id, currency, floor, balance, version)
      select wallet, '${tenantId}', 'wallet', 'customer', id, 'IQD', 0, 900 * each, each from bench.owners;
    create table bench.movements as
      select o.wallet, v as version, gen_random_uuid() as row, gen_random_uuid() as journal, gen_random_uuid() as delivery,
        o.n <= ${of.owners} and (v > ${of.each - of.inHand} or o.n > ${of.due} and v > ${
    of.each - of.unstated
  }) as in_hand,
        o.n > ${of.owners} or v > ${of.each - of.unstated} as unstated,
        row_number() over (order by v, o.n) as n, now() - interval '30 days' + v * interval '30 days' / (o.each + 1) as at
      from bench.owners o cross join lateral generate_series(1, o.each) v`);
  await fillTables(bench, {
    tables: [
      "delivery.deliveries",
      "money.cod_collections",
      "money.ledger_transactions",
      "money.ledger_entries",
      "money.wallet_holds",
    ],
    tallies: ["cod_collections", "wallet_holds", "held_cash"],
  }, (tx) =>
    tx.unsafe(`
      insert into delivery.deliveries (id, tenant_id, delivery_code, barcode, status, delivery_service_id, payer_type, payment_method, delivery_fee,
        currency, unit_size, unit_size_source, pickup_address_id, dropoff_address_id, pickup_snapshot, dropoff_snapshot, service_snapshot)
      select m.delivery, '${tenantId}', 900000000 + m.n, 'BENCH' || m.n, 'delivered', s.id, 'sender', 'wallet', 1000, 'IQD', 1, 'unit_size', a.id, a.id,
        '{}', '{}', '{}'
      from bench.movements m, (select id from delivery.delivery_services where tenant_id = '${tenantId}' limit 1) s,
        (select id from delivery.addresses where tenant_id = '${tenantId}' limit 1) a
      where m.unstated;
      insert into money.cod_collections (id, tenant_id, delivery_id, driver_id, collection_stage, amount, cod_amount, delivery_fee_amount, currency,
        delivery_code, delivery_number, customer_name, delivery_address, collected_at, status, remitted_at)
      select m.row, '${tenantId}', m.delivery, d.id, 'dropoff', 1000, 900, 100, 'IQD', 900000000 + m.n, (900000000 + m.n)::text, 'Customer ' || m.n,
        'Street ' || m.n % 977, m.at, case when m.in_hand then 'collected' else 'remitted' end, case when not m.in_hand then m.at end
      from bench.movements m join bench.drivers d on d.n = 1 + m.n % 1000;
      insert into money.ledger_transactions (id, tenant_id, kind, reference_type, reference_id, created_at)
      select m.journal, '${tenantId}', 'cod_credit', 'cod_collection', m.row, m.at from bench.movements m;
      insert into money.ledger_entries (tenant_id, transaction_id, account_id, amount, currency, balance_after, version, created_at)
      select '${tenantId}', m.journal, m.wallet, 900, 'IQD', 900 * m.version, m.version, m.at from bench.movements m order by m.n;
      insert into money.wallet_holds (tenant_id, account_id, reference_type, reference_id, step, amount, release, due_at, counts_from, created_at)
      select '${tenantId}', m.wallet, 'cod_collection', m.row, s.step, s.sign * 900, 'on_remit', m.at, m.at, m.at
      from bench.movements m cross join (values (1, 1), (2, -1)) s (step, sign) where s.step = 1 or not m.in_hand order by m.n`));
  await sql.unsafe(`
    insert into money.merchant_accounts (tenant_id, account_id, opening, opening_movement, looked_to)
      select '${tenantId}', wallet, 900 * (each - ${of.unstated}), each - ${of.unstated}, case when n > ${of.due} then each else each - ${of.unstated} end
      from bench.owners where n <= ${of.owners};
    insert into money.merchant_pending (tenant_id, account_id, movement)
      select tenant_id, account_id, 0 from money.merchant_accounts where tenant_id = '${tenantId}' and opening <> 0
      union all
      select '${tenantId}', m.wallet, m.version from bench.movements m
      join bench.owners o on o.wallet = m.wallet where o.n > ${of.due} and o.n <= ${of.owners} and m.in_hand;
    insert into bench.rows select m.n, m.row, d.id from bench.movements m
      join bench.owners o on o.wallet = m.wallet and o.n <= ${of.due} join bench.drivers d on d.n = 1 + m.n % 1000 where m.in_hand`);
  for (const table of ["money.accounts", "money.merchant_accounts", "money.merchant_pending"]) {
    await sql.unsafe(`vacuum analyze ${table}`);
  }
  await hold(bench);
}
