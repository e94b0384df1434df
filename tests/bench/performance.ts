/** The figures of drivers with 1,000,000 deliveries: a refresh after 1,000 changes, and all of it anew. */
import { performance } from "node:perf_hooks";
import { startBench } from "./bench-stack.ts";
import { median } from "./load.ts";
import type { Report } from "./report.ts";

const deliveries = 1_000_000;
const changed = 1_000;

export async function benchPerformance(report: Report): Promise<void> {
  const bench = await startBench();
  const { stack: { sql }, tenantId } = bench;
  try {
    console.log(`       loading ${deliveries} deliveries ...`);
    await sql.begin(async (tx) => {
      await tx`set local session_replication_role = replica`;
      await tx`insert into delivery.drivers (tenant_id, user_id)
        select tenant_id, user_id from tenancy.tenant_users
        where tenant_id = ${tenantId} and tenant_user_type = 'driver' on conflict do nothing`;
      await tx`insert into delivery.deliveries (tenant_id, delivery_code, barcode, status, delivery_service_id, payer_type,
          payment_method, delivery_fee, currency, unit_size, unit_size_source, pickup_address_id, dropoff_address_id,
          pickup_snapshot, dropoff_snapshot, service_snapshot, distance_km, created_at, picked_up_at, delivered_at, promised_at)
        select ${tenantId}, 900000000 + n, 'BENCH' || n, case when n % 10 = 0 then 'failed' else 'delivered' end, s.id, 'sender',
          'wallet', 1000, 'IQD', 1, 'unit_size', a.id, a.id, '{}', '{}', '{}', n % 30, t.at, t.at, t.at + n % 90 * interval '1 minute',
          t.at + interval '1 hour'
        from generate_series(1, ${deliveries}::int) n
        cross join lateral (select now() - n * interval '40 seconds' as at) t,
          (select id from delivery.delivery_services where tenant_id = ${tenantId} limit 1) s,
          (select id from delivery.addresses where tenant_id = ${tenantId} limit 1) a`;
      await tx`insert into delivery.assignments (tenant_id, delivery_id, driver_id, status, units, assignment_time)
        select d.tenant_id, d.id, r.ids[1 + d.delivery_code % array_length(r.ids, 1)], 'completed', 1, d.created_at
        from delivery.deliveries d,
          (select array_agg(user_id) as ids from delivery.drivers where tenant_id = ${tenantId}) r
        where d.tenant_id = ${tenantId} and d.barcode like 'BENCH%'`;
    });
    await sql`vacuum analyze delivery.deliveries`;
    await sql`vacuum analyze delivery.assignments`;

    let start = performance.now();
    await sql`select delivery.performance_recompute(${tenantId})`;
    report.ratio({
      what: "all figures of drivers anew, 1,000,000 deliveries",
      value: (performance.now() - start) / 1000,
      atMost: 30,
      unit: "s",
    });
    await sql`vacuum analyze delivery.performance_deliveries`;

    const took: number[] = [];
    for (let round = 0; round < 5; round++) {
      await sql`update delivery.deliveries set promised_at = promised_at + interval '5 minutes'
        where id in (select id from delivery.deliveries where tenant_id = ${tenantId} and barcode like 'BENCH%'
          and delivery_code % ${deliveries / changed}::bigint = ${round}::bigint)`;
      start = performance.now();
      const [{ n }] = await sql`select delivery.performance_refresh()::int as n`;
      if (n !== changed) throw new Error(`${n} were refreshed`);
      took.push(performance.now() - start);
    }
    report.ratio({
      what: "refresh of drivers' figures, 1,000 of 1,000,000 changed",
      value: median(took) / 1000,
      atMost: 1,
      unit: "s",
    });
  } finally {
    await bench.stop();
  }
}
