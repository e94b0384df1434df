/**
 * Packages: the scan of a warehouse over 1,000,000 deliveries of one tenant, and the first page of the
 * transfers of packages on 10,000 and on 1,000,000 rows.
 */
import { type Ask, compareRows, get, p95, p95s, post, timed } from "./ask.ts";
import { type Bench, startBench } from "./bench-stack.ts";
import { fillTables } from "./fill.ts";
import type { Report } from "./report.ts";

const small = 10_000;
const large = 1_000_000;

export async function benchScan(report: Report, deliveries = large): Promise<void> {
  const bench = await startBench();
  try {
    await openWarehouses(bench);
    await fillDeliveries(bench, 0, deliveries);
    await measureScans(bench, report, deliveries);
    await fillTransfers(bench, 0, small);
    const few = await measureTransfers(bench);
    await fillTransfers(bench, small, deliveries);
    const many = await measureTransfers(bench);
    compareRows(report, { few, many, rows: [small, deliveries], of: "package transfers" });
  } finally {
    await bench.stop();
  }
}

/** Four warehouses of each tenant. */
export async function openWarehouses({ stack, tenants }: Bench): Promise<void> {
  await stack.sql`insert into warehousing.warehouses (tenant_id, name, code, address_id)
    select t.id, 'Bench ' || n, 'BENCH-' || n, (select a.id from delivery.addresses a where a.tenant_id = t.id limit 1)
    from unnest(${tenants}::uuid[]) t (id), generate_series(1, 4) n`;
}

/**
 * Nine of ten from door to door; of the staged ones every tenth is coming back to its sender. Each parcel
 * has one thing in it.
 */
export async function fillDeliveries(bench: Bench, from: number, to: number): Promise<void> {
  console.log(`       loading deliveries ${from} to ${to} ...`);
  const tables = ["delivery.deliveries", "delivery.delivery_items"];
  await fillTables(bench, { tables, tallies: ["deliveries"] }, async (tx, tenantId) => {
    await tx`drop table if exists bench_deliveries`;
    await tx`create temporary table bench_deliveries on commit drop as
      select gen_random_uuid() as id, n, 500000000 + n as code, case when n % 30 in (0, 10, 20) then n / 30 * 30 end as family, n % 30 as part
      from generate_series(${from + 1}::int, ${to}::int) n`;
    await tx`create index on bench_deliveries (family) where family is not null`;
    await tx`insert into delivery.deliveries (id, tenant_id, delivery_code, barcode, parent_id, leg, sequence_plan, delivery_flow, status,
        delivery_service_id, payer_type, payment_method, delivery_fee, currency, unit_size, unit_size_source, pickup_address_id,
        dropoff_address_id, pickup_snapshot, dropoff_snapshot, pickup_warehouse_id, current_warehouse_id, service_snapshot,
        created_at, updated_at, changed)
      select b.id, ${tenantId}, b.code, case when b.family is null then 'BENCH' || b.code else 'BENCH-P' || b.family end,
        case when b.part in (10, 20) then p.id end, case b.part when 10 then 'A' when 20 then 'B' end,
        case b.part when 10 then 1 when 20 then 2 end,
        case when b.family is null then 'standard' when b.part = 0 then 'pnd_parent' when b.part = 10 then 'pnd_inbound' else 'pnd_outbound' end,
        case when b.family is null then (array['pending', 'in_transit', 'delivered', 'failed'])[1 + b.n % 4]
          when b.part = 0 then 'in_transit' when b.part = 10 then 'delivered' else 'pending' end,
        s.id, 'sender', 'cash', 1000, 'IQD', 1, 'unit_size', a.id, a.id, '{}', '{}',
        case when b.part in (0, 20) then w.id end, case when b.family is not null then w.id end, '{}', t.at, t.at,
        greatest(1, pg_current_xact_id()::text::bigint - b.n / 1000)
      from bench_deliveries b cross join lateral (select now() - b.n * interval '1 second' as at) t
      left join bench_deliveries p on b.part in (10, 20) and p.family = b.family and p.part = 0,
        (select id from delivery.delivery_services where tenant_id = ${tenantId} limit 1) s,
        (select id from delivery.addresses where tenant_id = ${tenantId} and latitude is not null limit 1) a,
        (select id from warehousing.warehouses where tenant_id = ${tenantId} and code = 'BENCH-1') w
      where b.part not in (10, 20) or p.id is not null`;
    await tx`insert into delivery.delivery_items (tenant_id, delivery_id, position, name)
      select ${tenantId}, b.id, 1, 'Box' from bench_deliveries b where b.part not in (10, 20)`;
    await tx`insert into delivery.deliveries (tenant_id, delivery_code, barcode, original_delivery_id, delivery_flow, status,
        delivery_service_id, payer_type, payment_method, delivery_fee, currency, unit_size, unit_size_source, pickup_address_id,
        dropoff_address_id, pickup_snapshot, dropoff_snapshot, pickup_warehouse_id, current_warehouse_id, service_snapshot)
      select ${tenantId}, 700000000 + b.n, 'BENCH-R' || b.family, b.id, 'operational_return', 'pending', d.delivery_service_id, 'sender', 'cash', 0,
        'IQD', 1, 'unit_size', d.pickup_address_id, d.dropoff_address_id, '{}', '{}', d.current_warehouse_id, d.current_warehouse_id, '{}'
      from bench_deliveries b join delivery.deliveries d on d.id = b.id
      where b.part = 0 and b.family % 300 = 0`;
  });
}

/** Where parcels of each kind are among `count` filled: the i-th of them, spread over the whole table. */
export function parcels(count: number) {
  const spread = (size: number) => (i: number) =>
    size * (1 + (i * 101) % (Math.floor(count / size) - 1));
  return {
    plain: (i: number) => {
      const n = 1 + (i * 7_919) % (count - 1);
      return 500_000_000 + (n % 10 === 0 ? n - 1 : n);
    },
    family: spread(30),
    returned: spread(300),
  };
}

async function measureScans(bench: Bench, report: Report, count: number): Promise<void> {
  const scan = (barcode: string) => get(bench, `/warehousing/package-scan/${barcode}`);
  const { plain, family, returned } = parcels(count);
  const kinds: Record<string, Ask> = {
    "package scan, door to door": (i) => scan(`BENCH${plain(i)}`),
    "package scan by code": (i) => scan(String(plain(i))),
    "package scan of a staged parcel": (i) => scan(`BENCH-P${family(i)}`),
    "package scan with a return": (i) => scan(`BENCH-P${returned(i)}`),
    "package scan of a return": (i) => scan(`BENCH-R${returned(i)}`),
  };
  for (const [what, ask] of Object.entries(kinds)) {
    report.ratio({
      what: `${what}: p95 over ${count} deliveries`,
      value: await p95(ask),
      atMost: 15,
      unit: "ms",
    });
  }
  const barcodes = Array.from({ length: 200 }, (_, i) => `BENCH-P${family(i)}`);
  const took = await timed(() => post(bench, "/warehousing/package-scan", { barcodes }));
  report.note(`200 barcodes of staged parcels in one call: ${took.toFixed(0)} ms`);
}

async function fillTransfers(bench: Bench, from: number, to: number): Promise<void> {
  console.log(`       loading package transfers ${from} to ${to} ...`);
  const tables = [
    "warehousing.package_transfers",
    "warehousing.package_transfer_deliveries",
    "warehousing.waybills",
  ];
  const tallies = ["package_transfers", "waybills"];
  await fillTables(bench, { tables, tallies }, (tx, tenantId) =>
    tx`with made as (
        insert into warehousing.package_transfers (tenant_id, mode, operation_type, source_warehouse_id, destination_warehouse_id, waybill_id, created_at)
        select ${tenantId}, case n % 3 when 0 then 'system_only' else 'delivery_operation' end,
          case n % 3 when 1 then 'single_delivery' when 2 then 'waybill' end, a.id, b.id,
          case n % 3 when 2 then gen_random_uuid() end, now() - n * interval '1 second'
        from generate_series(${from + 1}::int, ${to}::int) n
        join warehousing.warehouses a on a.tenant_id = ${tenantId} and a.code = 'BENCH-' || 1 + n % 4
        join warehousing.warehouses b on b.tenant_id = ${tenantId} and b.code = 'BENCH-' || 1 + (n + 1) % 4
        returning tenant_id, id, waybill_id, source_warehouse_id, destination_warehouse_id, created_at
      ), bills as (
        insert into warehousing.waybills (id, tenant_id, waybill_number, source_warehouse_id, destination_warehouse_id, created_at)
        select m.waybill_id, m.tenant_id, 'WB-BENCH-' || m.waybill_id, m.source_warehouse_id, m.destination_warehouse_id, m.created_at
        from made m where m.waybill_id is not null
      )
      insert into warehousing.package_transfer_deliveries (tenant_id, transfer_id, delivery_id, position)
      select m.tenant_id, m.id, d.id, 1 from made m, (select id from delivery.deliveries where tenant_id = ${tenantId} limit 1) d`);
}

async function measureTransfers(bench: Bench): Promise<Record<string, number>> {
  const [warehouse] = await bench.stack.sql`select id from warehousing.warehouses
    where tenant_id = ${bench.tenantId} and code = 'BENCH-2'`;
  const list = (query: string) => () => get(bench, `/warehousing/package-transfers?${query}`);
  return await p95s({
    "transfers, first page": list(""),
    "transfers of one kind": list("mode=delivery_operation&operation_type=waybill"),
    "transfers out of a warehouse": list(`source_warehouse_id=${warehouse!.id}`),
    "waybills, first page": () => get(bench, "/warehousing/waybills"),
  });
}
