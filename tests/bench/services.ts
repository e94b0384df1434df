/** The list of delivery services, as the picker and the table ask for it, with 100 and with 10,000 of them. */
import { performance } from "node:perf_hooks";
import { type Bench, startBench } from "./bench-stack.ts";
import { percentiles } from "./load.ts";
import type { Report } from "./report.ts";

const small = 100;
const large = 10_000;
const asks = 200;
const queries = {
  "page 1 with its figures": "",
  "a picker's page 1": "?context=g2g&active=true&include_stats=false",
  "page 1 by price": "?sort_by=default_price&sort_order=asc",
};

export async function benchServices(report: Report): Promise<void> {
  const bench = await startBench();
  try {
    await fill(bench, 1, small);
    const few = await measure(bench);
    await fill(bench, small + 1, large);
    const many = await measure(bench);
    for (const [name, before] of Object.entries(few)) {
      const after = many[name]!;
      report.note(
        `services, ${name}: p95 ${before.toFixed(1)} ms on 100, ${after.toFixed(1)} ms on 10,000`,
      );
      report.ratio({
        what: `services, ${name}: p95 on 10,000 against 100`,
        value: after / before,
        atMost: 2,
      });
    }
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

async function measure({ stack, token }: Bench): Promise<Record<string, number>> {
  const headers = { authorization: `Bearer ${token}` };
  const figures: Record<string, number> = {};
  for (const [name, query] of Object.entries(queries)) {
    const took: number[] = [];
    for (let i = -20; i < asks; i++) {
      const start = performance.now();
      const response = await fetch(`${stack.apiUrl}/delivery/services${query}`, { headers });
      await response.arrayBuffer();
      if (!response.ok) throw new Error(`${response.status}`);
      if (i >= 0) took.push(performance.now() - start);
    }
    figures[name] = percentiles(took).p95;
  }
  return figures;
}
