/** Search and validate on 10,000 and on 1,000,000 items of one tenant. */
import { performance } from "node:perf_hooks";
import { type Bench, startBench } from "./bench-stack.ts";
import { percentiles } from "./load.ts";
import type { Report } from "./report.ts";

const small = 10_000;
const large = 1_000_000;
const asks = 300;
const perManifest = 1_000;

type Times = Record<"found by barcode" | "found by part" | "newest" | "validate 500", number>;

export async function benchSearch(report: Report): Promise<void> {
  const bench = await startBench();
  try {
    await fill(bench, 0, small);
    const few = await measure(bench, small);
    await fill(bench, small, large);
    const many = await measure(bench, large);
    for (const kind of Object.keys(few) as (keyof Times)[]) {
      report.note(
        `${kind}: p95 ${few[kind].toFixed(1)} ms on 10,000, ${
          many[kind].toFixed(1)
        } ms on 1,000,000`,
      );
      report.ratio({
        what: `${kind}: p95 on 1,000,000 items against 10,000`,
        value: many[kind] / few[kind],
        atMost: 2,
      });
    }
  } finally {
    await bench.stop();
  }
}

async function measure({ stack, token, tenantId }: Bench, total: number): Promise<Times> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const base = `${stack.apiUrl}/delivery/transfer-manifest-items`;
  // Barcodes spread over the whole table, the same for every kind of question.
  const sample = (await stack.sql`select barcode_value from delivery.transfer_manifest_items
    where tenant_id = ${tenantId} and position % ${
    Math.max(1, Math.floor(total / 2_000))
  } = 1 and metadata ? 'bench' limit 1000`)
    .map((row) => row.barcode_value as string);
  const time = async (ask: (i: number) => Promise<Response>, times = asks) => {
    const took: number[] = [];
    for (let i = -20; i < times; i++) {
      const start = performance.now();
      const response = await ask(Math.abs(i));
      await response.arrayBuffer();
      if (!response.ok) throw new Error(`${response.status}`);
      if (i >= 0) took.push(performance.now() - start);
    }
    return percentiles(took).p95;
  };
  const search = (q: string) => fetch(`${base}/search?q=${q}`, { headers });
  return {
    "found by barcode": await time((i) => search(sample[i % sample.length]!)),
    "found by part": await time((i) => search(sample[i % sample.length]!.slice(3 + i % 3, 11))),
    newest: await time(() => search("")),
    "validate 500": await time(
      (i) =>
        fetch(`${base}/bulk/validate`, {
          method: "POST",
          headers,
          body: JSON.stringify({
            barcodes: Array.from({ length: 500 }, (_, n) => sample[(i * 7 + n) % sample.length]),
          }),
        }),
      60,
    ),
  };
}

async function fill({ stack, tenantId }: Bench, from: number, to: number): Promise<void> {
  console.log(`       loading items ${from} to ${to} ...`);
  await stack.sql.begin(async (tx) => {
    // Loading, not using: triggers and foreign keys are left out for the time of this transaction.
    await tx`set local session_replication_role = replica`;
    await tx`insert into delivery.transfer_manifests (tenant_id, manifest_number, status, institution_user_id, source_branch_id,
        source_address_id, source_snapshot, processing_point_id, driver_id, creation_source, driver_arrived_at, created_at)
      select t.tenant_id, 'BENCH-' || n, 'awaiting_receipt', t.institution_user_id, t.source_branch_id, t.source_address_id,
        t.source_snapshot, t.processing_point_id, t.driver_id, 'form', now(), now() - n * interval '1 second'
      from (select * from delivery.transfer_manifests where tenant_id = ${tenantId} and status = 'awaiting_receipt' limit 1) t,
        generate_series(${from / perManifest}::int, ${to / perManifest - 1}::int) n`;
    await tx`insert into delivery.transfer_manifest_items (tenant_id, manifest_id, barcode_value, status, position, metadata, created_at)
      select m.tenant_id, m.id, delivery.barcode_build('DM', 100000000 + (s.n::bigint * 7919 % 899999963)::integer, 'IQ'),
        'in_transit', s.n + 1, '{"bench": true}', now() - s.n * interval '10 milliseconds'
      from generate_series(${from}::int, ${to - 1}::int) s (n)
      join delivery.transfer_manifests m on m.tenant_id = ${tenantId} and m.manifest_number = 'BENCH-' || s.n / ${perManifest}::int`;
  });
  await stack.sql`vacuum analyze delivery.transfer_manifest_items`;
  await stack.sql`vacuum analyze delivery.transfer_manifests`;
}
