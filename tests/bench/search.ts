/** Search and validate on 10,000 and on 1,000,000 items of one tenant. */
import { compareRows, get, p95, p95s, post } from "./ask.ts";
import { type Bench, startBench } from "./bench-stack.ts";
import { fillTables } from "./fill.ts";
import type { Report } from "./report.ts";

const small = 10_000;
const large = 1_000_000;
const perManifest = 1_000;

export async function benchSearch(report: Report): Promise<void> {
  const bench = await startBench();
  try {
    await fillItems(bench, 0, small);
    const few = await measure(bench, small);
    await fillItems(bench, small, large);
    const many = await measure(bench, large);
    compareRows(report, { few, many, rows: [small, large], of: "items" });
  } finally {
    await bench.stop();
  }
}

async function measure(bench: Bench, total: number): Promise<Record<string, number>> {
  // Barcodes spread over the whole table, the same for every kind of question.
  const sample = (await bench.stack.sql`select barcode_value from delivery.transfer_manifest_items
    where tenant_id = ${bench.tenantId} and position % ${
    Math.max(1, Math.floor(total / 2_000))
  } = 1 and metadata ? 'bench' limit 1000`)
    .map((row) => row.barcode_value as string);
  const items = "/delivery/transfer-manifest-items";
  const search = (q: string) => get(bench, `${items}/search?q=${q}`);
  const validate = (i: number) =>
    post(bench, `${items}/bulk/validate`, {
      barcodes: Array.from({ length: 500 }, (_, n) => sample[(i * 7 + n) % sample.length]),
    });
  return {
    ...await p95s({
      "found by barcode": (i) => search(sample[i % sample.length]!),
      "found by part": (i) => search(sample[i % sample.length]!.slice(3 + i % 3, 11)),
      newest: () => search(""),
    }),
    "validate 500": await p95(validate, 60),
  };
}

/** Items on their way, in manifests that wait to be received. */
export async function fillItems(bench: Bench, from: number, to: number): Promise<void> {
  console.log(`       loading items ${from} to ${to} ...`);
  const tables = ["delivery.transfer_manifests", "delivery.transfer_manifest_items"];
  await fillTables(bench, { tables }, async (tx, tenantId) => {
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
}
