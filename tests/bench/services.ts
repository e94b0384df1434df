/** The list of delivery services, as the picker and the table ask for it, with 100 and with 10,000 of them. */
import { compareRows, get, p95s } from "./ask.ts";
import { type Bench, startBench } from "./bench-stack.ts";
import type { Report } from "./report.ts";

const small = 100;
const large = 10_000;
const queries = {
  "services, page 1 with its figures": "",
  "services, a picker's page 1": "?context=g2g&active=true&include_stats=false",
  "services, page 1 by price": "?sort_by=default_price&sort_order=asc",
};

export async function benchServices(report: Report): Promise<void> {
  const bench = await startBench();
  try {
    await fill(bench, 1, small);
    const few = await measure(bench);
    await fill(bench, small + 1, large);
    compareRows(report, { few, many: await measure(bench), rows: [small, large], of: "services" });
  } finally {
    await bench.stop();
  }
}

async function fill({ stack: { sql }, tenantId }: Bench, from: number, to: number): Promise<void> {
  await sql`insert into delivery.delivery_services (tenant_id, code, name, service_level, default_price, unit_min, unit_max, delivery_type_id)
    select ${tenantId}, 'BENCH-' || n, jsonb_build_object('en', 'Service ' || n), 'standard', 1000 + n, 1, 100, t.id
    from generate_series(${from}::int, ${to}::int) n,
      (select id from delivery.delivery_types where tenant_id = ${tenantId} limit 1) t`;
  await sql`vacuum analyze delivery.delivery_services`;
}

function measure(bench: Bench): Promise<Record<string, number>> {
  return p95s(
    Object.fromEntries(
      Object.entries(queries).map(([name, query]) => [
        name,
        () => get(bench, `/delivery/services${query}`),
      ]),
    ),
  );
}
