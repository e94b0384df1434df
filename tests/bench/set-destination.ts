/** set-destination with 20, 200 and 1,000 items against the same orders made by one SQL call. */
import { performance } from "node:perf_hooks";
import { type Bench, memoryMb, startBench } from "./bench-stack.ts";
import { cpuMs } from "./cpu.ts";
import { median } from "./load.ts";
import type { Report } from "./report.ts";

const sizes = [20, 200, 1000];
const rounds = 5;
// Below the serials of the items that other parts load.
let serial = 10_000_000;

export async function benchSetDestination(report: Report): Promise<void> {
  const bench = await startBench();
  try {
    await fund(bench);
    // As in a database that has been in use: connections keep plans, and those made before the first
    // statistics read whole tables. Autovacuum sees to that within minutes; here it is done at once.
    await oneCall(bench, await newItems(bench, 1000));
    await bench.stack.sql`vacuum analyze`;
    for (const size of sizes) await compare(bench, size, report);
    const memory = memoryMb(bench.stack.workers.pids[0]!);
    report.ratio({
      what: "Most memory the worker ever held",
      value: memory.peak,
      atMost: 150,
      unit: "MB",
    });
  } finally {
    await bench.stop();
  }
}

async function compare(bench: Bench, size: number, report: Report): Promise<void> {
  const { stack, token } = bench;
  const pid = stack.workers.pids[0]!;
  const ratios: number[] = [];
  let cpuPerPart = 0;
  for (let round = 0; round < rounds; round++) {
    const overHttp = await newItems(bench, size);
    const cpuBefore = cpuMs(pid);
    const httpStart = performance.now();
    const response = await fetch(
      `${stack.url}/functions/v1/delivery/transfer-manifest-items/bulk/set-destination`,
      {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify({
          item_ids: overHttp,
          destination_address_id: await destination(bench),
        }),
      },
    );
    const body = await response.json();
    const httpMs = performance.now() - httpStart;
    cpuPerPart = Math.max(cpuPerPart, (cpuMs(pid) - cpuBefore) / Math.ceil(size / 20));
    if (body.data?.created_count !== size) {
      throw new Error(
        `made ${body.data?.created_count} of ${size}: ${JSON.stringify(body).slice(0, 300)}`,
      );
    }
    const sqlMs = await oneCall(bench, await newItems(bench, size));
    ratios.push(sqlMs / httpMs);
    if (round === rounds - 1) {
      report.note(
        `${size} items: ${(size / httpMs * 1000).toFixed(0)} orders/s over HTTP, ${
          (size / sqlMs * 1000).toFixed(0)
        } by one SQL call`,
      );
    }
  }
  if (size === 1000) {
    report.ratio({
      what: "set-destination of 1,000, orders per second against one SQL call",
      value: median(ratios),
      atLeast: 0.5,
    });
  }
  report.ratio({
    what: `CPU of the worker per part of 20, ${size} items`,
    value: cpuPerPart,
    atMost: 200,
    unit: "ms",
  });
}

/** The same orders without HTTP: the core in one statement, as the functions' own login and role. */
async function oneCall(bench: Bench, items: string[]): Promise<number> {
  const { default: postgres } = await import("postgres");
  const sql = postgres(bench.stack.apiDbUrl, { max: 1, fetch_types: false });
  try {
    await sql`select 1`;
    const claims = {
      tenant_mode: "required",
      request_id: "bench",
      operation: "bench",
      sub: bench.userId,
      tenant_id: bench.tenantId,
      call_id: "1",
    };
    const rule = { access: ["permission:manage:operations:tenant"] };
    const input = {
      item_ids: items,
      destination_address_id: await destination(bench),
      orders_max: items.length,
    };
    const start = performance.now();
    const [row] = await sql`select private.call(${JSON.stringify(claims)}::text::jsonb, ${
      JSON.stringify(rule)
    }::text::jsonb,
      'delivery.manifest_receive_and_order', ${JSON.stringify(input)}::text::jsonb) as answer`;
    const took = performance.now() - start;
    const made = row!.answer.data.answer.created.length;
    if (made !== items.length) throw new Error(`the SQL call made ${made} of ${items.length}`);
    return took;
  } finally {
    await sql.end();
  }
}

/** A manifest of `size` items, arrived and proven, as the demo's are. */
export async function newItems({ stack, tenantId }: Bench, size: number): Promise<string[]> {
  serial += 2_000;
  const rows = await stack.sql`
    with template as (select * from delivery.transfer_manifests where tenant_id = ${tenantId} and status = 'awaiting_receipt' limit 1),
    manifest as (
      insert into delivery.transfer_manifests (tenant_id, manifest_number, status, institution_user_id, source_branch_id,
        source_address_id, source_snapshot, processing_point_id, driver_id, creation_source, driver_arrived_at)
      select tenant_id, 'TM-' || ${
    "B" + serial
  }::text, 'awaiting_receipt', institution_user_id, source_branch_id, source_address_id,
        source_snapshot, processing_point_id, driver_id, 'form', now() from template
      returning id, tenant_id),
    proof as (
      insert into delivery.transfer_manifest_proofs (tenant_id, manifest_id, stage, kind, url)
      select m.tenant_id, m.id, 'delivery', k, 'proof' from manifest m, unnest(array['photo', 'signature']) k)
    insert into delivery.transfer_manifest_items (tenant_id, manifest_id, barcode_value, status, position)
    select m.tenant_id, m.id, delivery.barcode_build('DM', ${serial}::integer + n, 'IQ'), 'in_transit', n
    from manifest m, generate_series(1, ${size}::integer) n
    returning id`;
  return rows.map((row) => row.id);
}

export async function destination({ stack, tenantId }: Bench): Promise<string> {
  const [row] = await stack
    .sql`select id from delivery.addresses where tenant_id = ${tenantId} and city = 'Sulaymaniyah'`;
  return row!.id;
}

/** Institutions that can pay for what their items cost. */
export async function fund({ stack, tenantId }: Bench): Promise<void> {
  await stack
    .sql`update money.accounts set balance = 1000000000 where tenant_id = ${tenantId} and kind = 'wallet' and owner_type = 'institution'`;
}
