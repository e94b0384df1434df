/** Drivers, who work for every tenant of the bench, and what they collected. */
import type { Bench } from "../bench-stack.ts";
import { fillTables } from "../fill.ts";

export const drivers = 1_000;

export async function people({ stack: { sql }, tenants }: Bench): Promise<void> {
  await sql.unsafe(`
    create schema bench;
    create table bench.drivers as select gen_random_uuid() as id, n from generate_series(1, ${drivers}) n;
    insert into auth.users (id, email) select id, 'bench-' || n || '@demo.test' from bench.drivers;
    insert into tenancy.profiles (id, full_name, email) select id, 'Driver ' || n, 'bench-' || n || '@demo.test' from bench.drivers
      on conflict (id) do update set full_name = excluded.full_name;
    create table bench.tenants as select t.id from unnest('{${tenants.join(",")}}'::uuid[]) t (id);
    insert into tenancy.tenant_users (tenant_id, user_id, tenant_user_type) select t.id, d.id, 'driver' from bench.tenants t, bench.drivers d;
    insert into tenancy.tenant_user_roles (tenant_id, user_id, role_key) select t.id, d.id, 'driver' from bench.tenants t, bench.drivers d;
    insert into delivery.drivers (tenant_id, user_id) select t.id, d.id from bench.tenants t, bench.drivers d;
    create table bench.rows (n bigint, id uuid, driver uuid);`);
}

/**
 * Collections, newest last, one in ten settled; bench.rows lists those of the bench's own tenant. Their deliveries are
 * left out: neither the list nor a settlement looks at them.
 */
export async function fill(bench: Bench, from: number, to: number): Promise<void> {
  console.log(`       loading collections ${from} to ${to} ...`);
  const tables = ["money.cod_collections"];
  await fillTables(
    bench,
    { tables, tallies: ["cod_collections"] },
    (tx, tenantId) =>
      tx`with made as materialized (
        select gen_random_uuid() as id, g.n, d.id as driver_id
        from generate_series(${from + 1}::int, ${to}::int) g (n)
        join bench.drivers d on d.n = 1 + g.n % ${drivers}::int
      ), listed as (
        insert into bench.rows select n, id, driver_id from made where ${tenantId} = ${bench.tenantId}
      )
      insert into money.cod_collections (id, tenant_id, delivery_id, driver_id, collection_stage, amount, cod_amount, delivery_fee_amount,
        currency, delivery_code, delivery_number, customer_name, delivery_address, collected_at, status, remitted_at)
      select m.id, ${tenantId}, gen_random_uuid(), m.driver_id, 'dropoff', 1000, 900, 100, 'IQD', 500000000 + m.n,
        (500000000 + m.n)::text, 'Customer ' || m.n, 'Street ' || m.n % 977, now() - interval '1 year' + m.n * interval '30 seconds',
        case when m.n % 10 = 0 then 'remitted' else 'collected' end, case when m.n % 10 = 0 then now() end
      from made m`,
  );
}
