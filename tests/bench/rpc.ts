/** One authenticated endpoint at 16 connections against pgbench sending the same statement. */
import { type Bench, startBench } from "./bench-stack.ts";
import { load, median } from "./load.ts";
import { pgbench } from "./pgbench.ts";
import type { Report } from "./report.ts";

const rounds = 3;
const seconds = 4;
const connections = 16;

export async function benchRpc(report: Report): Promise<void> {
  for (const prepared of [true, false]) {
    const bench = await startBench({ BARID_DB_PREPARE: prepared ? "1" : "0" });
    try {
      await compare(bench, prepared, report);
    } finally {
      await bench.stop();
    }
  }
}

async function compare(bench: Bench, prepared: boolean, report: Report): Promise<void> {
  const { stack, tenantId, userId, token } = bench;
  const [point] = await stack
    .sql`select id from delivery.transfer_processing_points where tenant_id = ${tenantId} limit 1`;
  const url = `${stack.apiUrl}/delivery/transfer-processing-points/${point.id}`;
  const statement = sameStatement(prepared, tenantId, userId, point.id);
  const headers = { authorization: `Bearer ${token}` };
  await load(url, headers, connections, 2);
  const ratios: number[] = [];
  const mode = prepared ? "prepared" : "extended";
  for (let round = 0; round < rounds; round++) {
    const http = await load(url, headers, connections, seconds);
    if (http.notOk) throw new Error(`${http.notOk} answers were not 200`);
    const tps = await pgbench(stack.apiDbUrl, statement, { connections, seconds, mode });
    ratios.push(http.perSecond / tps);
    report.note(
      `${mode}: ${http.perSecond.toFixed(0)} requests/s (p99 ${http.p99.toFixed(1)} ms), pgbench ${
        tps.toFixed(0)
      }/s`,
    );
  }
  const what = `One endpoint over HTTP against pgbench -M ${mode}, 16 connections`;
  // Functions are deployed without prepared statements; the other way is for comparison.
  if (prepared) report.note(`${what}: ${median(ratios).toFixed(2)}`);
  else report.ratio({ what, value: median(ratios), atLeast: 0.6 });
}

/** The exact statements that the functions send, with the request in its place. */
function sameStatement(prepared: boolean, tenantId: string, userId: string, id: string): string {
  const request = JSON.stringify({
    claims: {
      tenant_mode: "required",
      request_id: crypto.randomUUID(),
      operation: "GET /delivery/transfer-processing-points/:processing_point_id",
      sub: userId,
      tenant_id: tenantId,
      call_id: `${crypto.randomUUID()}/1`,
    },
    rule: {
      access: ["permission:view:tenant", "role:system_admin", "role:driver", "role:institution"],
      feature: "transfer_manifest",
      reads_only: true,
    },
    work: "delivery.processing_point_get",
    input: { id },
  });
  // pgbench takes `:word` for a variable wherever it stands, so a text writes its colons as escapes.
  const value = prepared
    ? `E'${request.replaceAll(":", "\\x3a")}'::text`
    : `convert_from(decode('${Buffer.from(request).toString("base64")}', 'base64'), 'UTF8')`;
  return `select private.call(r.q -> 'claims', r.q -> 'rule', r.q ->> 'work', r.q -> 'input') as answer
    from (select ${value}::jsonb as q offset 0) r;\n`.replace(/\n +/, " ");
}
