/** Drivers and what they collected. */
import type { Bench } from "../bench-stack.ts";

export const drivers = 1_000;

export async function people({ stack: { sql }, tenantId }: Bench): Promise<void> {
  await sql.unsafe(`
    create schema bench;
    create table bench.drivers as select gen_random_uuid() as id, n from generate_series(1, ${drivers}) n;
    insert into auth.users (id, email) select id, 'bench-' || n || '@demo.test' from bench.drivers;
    insert into tenancy.profiles (id, full_name, email) select id, 'Driver ' || n, 'bench-' || n || '@demo.test' from bench.drivers
      on conflict (id) do update set full_name = excluded.full_name;
    insert into tenancy.tenant_users (tenant_id, user_id, tenant_user_type) select '${tenantId}', id, 'driver' from bench.drivers;
    insert into tenancy.tenant_user_roles (tenant_id, user_id, role_key) select '${tenantId}', id, 'driver' from bench.drivers;
    insert into delivery.drivers (tenant_id, user_id) select '${tenantId}', id from bench.drivers;
    create table bench.rows (n bigint, id uuid, driver uuid);`);
}

/**
 * Collections, newest last, one in ten settled; written behind the triggers, with the indexes made afterwards.
 * Their deliveries are left out: neither the list nor a settlement looks at them.
 */
export async function fill({ stack: { sql }, tenantId }: Bench, from: number, to: number) {
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await tx`set local maintenance_work_mem = '512MB'`;
    const indexes = await tx`
      select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as definition
      from pg_index i where i.indrelid = 'money.cod_collections'::regclass and not i.indisunique`;
    for (const { name } of indexes) await tx.unsafe(`drop index ${name}`);
    await tx.unsafe(`
      with made as materialized (
        select gen_random_uuid() as id, g.n, d.id as driver_id
        from generate_series(${
      from + 1
    }, ${to}) g (n) join bench.drivers d on d.n = 1 + g.n % ${drivers}
      ), listed as (
        insert into bench.rows select n, id, driver_id from made
      )
      insert into money.cod_collections (id, tenant_id, delivery_id, driver_id, collection_stage, amount, cod_amount, delivery_fee_amount,
        currency, delivery_code, delivery_number, customer_name, delivery_address, collected_at, status, remitted_at)
      select m.id, '${tenantId}', gen_random_uuid(), m.driver_id, 'dropoff', 1000, 900, 100, 'IQD', 500000000 + m.n,
        (500000000 + m.n)::text, 'Customer ' || m.n, 'Street ' || m.n % 977, now() - interval '1 year' + m.n * interval '30 seconds',
        case when m.n % 10 = 0 then 'remitted' else 'collected' end, case when m.n % 10 = 0 then now() end
      from made m`);
    for (const { definition } of indexes) await tx.unsafe(definition);
  });
  await sql`select private.tally_rebuild('cod_collections')`;
  await sql`vacuum analyze money.cod_collections`;
}
