/** Cash: settlements a second as SQL and over HTTP, the list at a million rows, one receipt. */
import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { type Bench, run, startBench } from "./bench-stack.ts";
import { percentiles } from "./load.ts";
import type { Report } from "./report.ts";

const small = 10_000;
const large = 1_000_000;
const drivers = 1_000;
const asks = 200;
const connections = 8;

export async function benchCod(report: Report): Promise<void> {
  const bench = await startBench();
  try {
    await people(bench);
    await settlements(bench, report);
    await lists(bench, report);
    receipt(report);
  } finally {
    await bench.stop();
  }
}

/** A thousand drivers, and one delivery that all collections can be copied from. */
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
    create sequence bench.taken;
    create table bench.rows (n bigint, id uuid, driver uuid);`);
}

/** Collections with their deliveries and what the ledger has for them, newest last, written behind the triggers. */
async function fill({ stack: { sql }, tenantId }: Bench, from: number, to: number): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await tx.unsafe(`
      with made as (
        select gen_random_uuid() as delivery_id, gen_random_uuid() as id, g.n, d.id as driver_id
        from generate_series(${
      from + 1
    }, ${to}) g (n) join bench.drivers d on d.n = 1 + g.n % ${drivers}
      ), parcels as (
        insert into delivery.deliveries select (jsonb_populate_record(p, jsonb_build_object('id', m.delivery_id,
          'delivery_code', 500000000 + m.n, 'barcode', 'CASH-' || m.n, 'manifest_item_id', null, 'manifest_id', null,
          'source_snapshot', null, 'snapshot_version', null))).*
        from made m, delivery.deliveries p where p.id = (select id from delivery.deliveries where tenant_id = '${tenantId}' and parent_id is null limit 1)
      ), listed as (
        insert into bench.rows select n, id, driver_id from made
      )
      insert into money.cod_collections (id, tenant_id, delivery_id, driver_id, collection_stage, amount, cod_amount, delivery_fee_amount,
        currency, delivery_code, delivery_number, customer_name, delivery_address, collected_at, status, remitted_at)
      select m.id, '${tenantId}', m.delivery_id, m.driver_id, 'dropoff', 1000, 900, 100, 'IQD', 500000000 + m.n, (500000000 + m.n)::text,
        'Customer ' || m.n, 'Street ' || m.n % 977, now() - interval '1 year' + m.n * interval '30 seconds',
        case when m.n % 10 = 0 then 'remitted' else 'collected' end, case when m.n % 10 = 0 then now() end
      from made m`);
  });
  await sql`select private.tally_rebuild('cod_collections'), private.tally_rebuild('deliveries')`;
  await sql`analyze money.cod_collections`;
}

async function settlements(bench: Bench, report: Report): Promise<void> {
  await prepare(bench, 200_000);
  const hot = await pgbench(bench, statement(bench, "dispatcher"));
  const spread = await pgbench(bench, statement(bench, "driver"));
  const http = await overHttp(bench, 8);
  report.note(
    `settlements a second at ${connections} connections: ${
      hot.toFixed(0)
    } into one cashier's account, ${spread.toFixed(0)} spread over ${drivers} drivers, ${
      http.toFixed(0)
    } over HTTP`,
  );
  report.ratio({
    what: "Settlements into one hot account as SQL",
    value: hot,
    atLeast: 1_400,
    unit: "/s",
  });
  report.ratio({
    what: `Settlements over ${drivers} drivers as SQL`,
    value: spread,
    atLeast: 4_000,
    unit: "/s",
  });
  report.ratio({
    what: "Settlements over HTTP against the same as SQL",
    value: http / hot,
    atLeast: 0.6,
  });
}

/** Collections that wait to be settled one by one, in the ledger as well. */
export async function prepare(bench: Bench, count: number): Promise<void> {
  const { stack: { sql }, tenantId } = bench;
  await fill(bench, 0, count);
  await sql`delete from bench.rows r using money.cod_collections c where c.id = r.id and c.status <> 'collected'`;
  await sql`update bench.rows r set n = p.place from (select id, row_number() over (order by n) as place from bench.rows) p where p.id = r.id`;
  await sql`create unique index on bench.rows (n) include (id, driver)`;
  await sql.unsafe(
    `grant usage on schema bench to barid_api; grant select on bench.rows to barid_api; grant usage on sequence bench.taken to barid_api`,
  );
  // Every driver holds what his rows say.
  await sql.begin(async (tx) => {
    await tx`select set_config('app.tenant_id', ${tenantId}, true)`;
    await tx.unsafe(`
      select money.post(jsonb_agg(l.line)) from (
        select jsonb_build_object('journal', r.driver, 'kind', 'bench', 'reference_type', 'bench', 'reference_id', r.driver,
          'account_id', a.account, 'amount', a.sign * r.held) as line
        from (select driver, count(*) * 1000 as held from bench.rows group by driver) r
        cross join lateral (values (money.account_of('driver_cash', 'driver', r.driver, 'IQD'), 1),
          (money.account_of('external', 'tenant', null, 'IQD'), -1)) a (account, sign)) l`);
  });
}

/** One settlement of one row, as the functions ask for it: by the cashier, or by its driver. */
export function statement({ tenantId, userId }: Bench, who: "dispatcher" | "driver"): string {
  const claims = {
    tenant_mode: "required",
    request_id: randomUUID(),
    operation: "POST /delivery/cod-collections/remit",
    tenant_id: tenantId,
    ...(who === "dispatcher" ? { sub: userId } : {}),
  };
  const rule = {
    access: ["role:system_admin", "role:driver", "role:dispatcher", "role:tenant_admin"],
  };
  return `select private.call('${
    JSON.stringify(claims)
  }'::jsonb || jsonb_build_object('call_id', 'b'${who === "driver" ? ", 'sub', r.driver" : ""}), '${
    JSON.stringify(rule)
  }', 'money.cod_remit',
    jsonb_build_object('scope', 'selected', 'cod_collection_ids', jsonb_build_array(r.id)))
    from (select id, driver from bench.rows where n = (select nextval('bench.taken'))) r;\n`;
}

export async function pgbench({ stack }: Bench, text: string): Promise<number> {
  const file = join(mkdtempSync(join(tmpdir(), "barid-bench-")), "statement.sql");
  writeFileSync(file, text);
  const { hostname, port, username, pathname } = new URL(stack.apiDbUrl);
  const printed = await run("pgbench", [
    ...["-n", "-c", String(connections), "-j", "1", "-T", "8", "-f", file],
    ...["-h", hostname, "-p", port, "-U", username, pathname.slice(1)],
  ]);
  const tps = Number(/tps = ([\d.]+)/.exec(printed)?.[1]);
  if (!tps) throw new Error(`pgbench: ${printed.slice(0, 400)}`);
  return tps;
}

async function overHttp({ stack, token }: Bench, seconds: number): Promise<number> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const rows = await stack
    .sql`select r.id from bench.rows r where n > (select last_value from bench.taken) order by n limit 30000`;
  let next = 0;
  const start = performance.now();
  const worker = async () => {
    while (performance.now() - start < seconds * 1000 && next < rows.length) {
      const response = await fetch(`${stack.apiUrl}/delivery/cod-collections/remit`, {
        method: "POST",
        headers,
        body: JSON.stringify({ scope: "selected", cod_collection_ids: [rows[next++]!.id] }),
      });
      if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
      await response.arrayBuffer();
    }
  };
  const before = next;
  await Promise.all(Array.from({ length: connections }, worker));
  return (next - before) / ((performance.now() - start) / 1000);
}

async function lists(bench: Bench, report: Report): Promise<void> {
  const { stack: { sql }, tenantId } = bench;
  // From the beginning: the settlements above left other rows behind.
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await tx.unsafe(
      "delete from money.cod_settlement_items; delete from money.cod_collections; delete from bench.rows",
    );
  });
  await sql.unsafe("vacuum full money.cod_collections");
  await sql`select private.tally_rebuild('cod_collections')`;
  await fill(bench, 1_000_000, 1_000_000 + small);
  const few = await measure(bench);
  await fill(bench, 1_000_000 + small, 1_000_000 + large);
  await sql.unsafe("vacuum analyze money.cod_collections");
  const many = await measure(bench);
  for (const kind of Object.keys(few)) {
    report.note(
      `COD list, ${kind}: p95 ${few[kind]!.toFixed(1)} ms on 10,000, ${
        many[kind]!.toFixed(1)
      } ms on 1,000,000`,
    );
    report.ratio({
      what: `COD list, ${kind}: p95 on 1,000,000 rows against 10,000`,
      value: many[kind]! / few[kind]!,
      atMost: 2,
    });
  }
  void tenantId;
}

async function measure({ stack, token }: Bench): Promise<Record<string, number>> {
  const headers = { authorization: `Bearer ${token}` };
  const ids = (await stack.sql`select id from bench.drivers order by n limit 100`).map((row) =>
    row.id as string
  );
  const codes = (await stack
    .sql`select delivery_code from money.cod_collections tablesample system (50) limit 500`)
    .map((row) => String(row.delivery_code));
  const time = async (query: (i: number) => string) => {
    const took: number[] = [];
    for (let i = -20; i < asks; i++) {
      const start = performance.now();
      const response = await fetch(
        `${stack.apiUrl}/delivery/cod-collections?${query(Math.abs(i))}`,
        { headers },
      );
      await response.arrayBuffer();
      if (!response.ok) throw new Error(`${response.status}`);
      if (i >= 0) took.push(performance.now() - start);
    }
    return percentiles(took).p95;
  };
  return {
    "first page": await time(() => ""),
    "by driver": await time((i) => `driver_id=${ids[i % ids.length]}`),
    "by status": await time(() => "status=remitted"),
    "by search": await time((i) => `search=${codes[i % codes.length]}`),
  };
}

function receipt(report: Report): void {
  const script = fileURLToPath(new URL("receipt-on-deno.ts", import.meta.url));
  const { stdout, stderr } = spawnSync(process.env.DENO ?? "node_modules/.bin/deno", [
    "run",
    "-A",
    "-q",
    script,
  ], {
    encoding: "utf8",
    env: { ...process.env, DENO_NO_UPDATE_CHECK: "1" },
  });
  if (!stdout) throw new Error(stderr);
  const { cold, warm, large, memory } = JSON.parse(stdout);
  report.note(
    `a receipt of 50 orders: ${cold.toFixed(0)} ms CPU with loading the fonts, ${
      warm.toFixed(0)
    } ms after; of 500: ${large.toFixed(0)} ms; ${memory.toFixed(0)} MB at most`,
  );
  report.ratio({ what: "A receipt of 50 orders: CPU", value: warm, atMost: 300, unit: " ms" });
  report.ratio({ what: "A receipt of 500 orders: CPU", value: large, atMost: 1_500, unit: " ms" });
  report.ratio({
    what: "A receipt: memory of the process at most",
    value: memory,
    atMost: 256,
    unit: " MB",
  });
}
