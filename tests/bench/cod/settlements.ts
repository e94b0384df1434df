/** Settlements of one collection each: as SQL, by plain statements that write the same rows, over HTTP. */
import { randomUUID } from "node:crypto";
import type { Bench } from "../bench-stack.ts";
import { load, type LoadResult, median } from "../load.ts";
import { pgbench } from "../pgbench.ts";
import type { Report } from "../report.ts";
import { bare } from "./bare.ts";
import { plainStatements } from "./plain.ts";
import { drivers, fill } from "./rows.ts";

const connections = 8;
const seconds = 6;
/** Runs the candidates in turns and uses the median of each, because the machine's speed varies. */
const turns = 3;
const prepared = 200_000;

/** The cashier takes everybody's cash into one account; a driver who remits to their own desk uses that one. */
type Who = "cashier" | "driver";

export async function settlements(bench: Bench, report: Report): Promise<void> {
  await prepare(bench);
  const send = (text: string) => pgbench(bench.stack.apiDbUrl, text, { connections, seconds });
  // The first to come pays for what is not in memory yet. Then statistics as of a database in service: it plans for
  // empty tables before, and autovacuum comes by once a minute.
  await send(wholeCall(bench, "driver"));
  await bench.stack.sql`vacuum analyze`;
  const row = await send("insert into bench.one_row (n) values (1);\n");
  report.note(`inserts of one row a second at ${connections} connections: ${row.toFixed(0)}`);
  const whole: Record<Who, number> = { cashier: 0, driver: 0 };
  for (const who of ["cashier", "driver"] as const) {
    const reached = { plain: [] as number[], core: [] as number[], whole: [] as number[] };
    for (let turn = 0; turn < turns; turn++) {
      reached.plain.push(await send(plainly(bench, who)));
      reached.core.push(await send(coreAlone(bench, who)));
      reached.whole.push(await send(wholeCall(bench, who)));
    }
    const [plain, core] = [median(reached.plain), median(reached.core)];
    whole[who] = median(reached.whole);
    report.note(
      `settlements a second ${where(who)}: ${core.toFixed(0)} by the function alone, ${
        whole[who].toFixed(0)
      } with all that a request costs in SQL, ${plain.toFixed(0)} by plain statements`,
    );
    report.ratio({
      what: `Settlements ${where(who)} as SQL`,
      value: core,
      atLeast: who === "cashier" ? 1_400 : 4_000,
      unit: "/s",
    });
    report.ratio({
      what: `Settlements ${where(who)} against plain statements that write the same rows`,
      value: core / plain,
      atLeast: 0.6,
    });
  }
  const http = await overHttp(bench);
  report.note(`settlements a second over HTTP: ${http.toFixed(0)}`);
  report.ratio({
    what: "Settlements into one cashier's account over HTTP against the same call as SQL",
    value: http / whole.cashier,
    atLeast: 0.6,
  });
  await bare(bench);
  for (const who of ["cashier", "driver"] as const) {
    const [core, plain] = [
      await send(coreAlone(bench, who)),
      await send(plainly(bench, who)),
    ];
    report.note(
      `without a trigger, reference, check or secondary index on their tables, settlements a second ${
        where(who)
      }: ${core.toFixed(0)} by the function, ${plain.toFixed(0)} by plain statements`,
    );
  }
}

const where = (who: Who) =>
  who === "cashier" ? "into one cashier's account" : `over ${drivers} drivers`;

/** Collections that wait to be settled one by one, in the ledger as well: nine of ten of `count`. */
export async function prepare(bench: Bench, count = prepared): Promise<void> {
  const { stack: { sql } } = bench;
  await fill(bench, 0, count);
  await sql`delete from bench.rows r using money.cod_collections c where c.id = r.id and c.status <> 'collected'`;
  await sql`update bench.rows r set n = p.place from (select id, row_number() over (order by n) as place from bench.rows) p where p.id = r.id`;
  await sql`create unique index on bench.rows (n) include (id, driver)`;
  await sql`create sequence bench.taken`;
  await sql`create table bench.one_row (n integer)`;
  await plainStatements(bench);
  await sql`vacuum analyze bench.rows`;
  await sql.unsafe(`grant usage on schema bench to barid_api, barid_caller;
    grant select on bench.rows to barid_api, barid_caller; grant insert on bench.one_row to barid_api;
    grant usage on sequence bench.taken to barid_api, barid_caller`);
  await hold(bench);
}

/** Every driver holds what their rows say, at least: may be called again when there are more. */
export async function hold({ stack: { sql }, tenantId }: Bench): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`select set_config('app.tenant_id', ${tenantId}, true)`;
    await tx.unsafe(`
      select money.post(jsonb_agg(l.line)) from (
        select jsonb_build_object('journal', r.driver, 'kind', 'bench', 'reference_type', 'bench', 'reference_id', r.booking,
          'account_id', a.account, 'amount', a.sign * r.held) as line
        from (select driver, gen_random_uuid() as booking, count(*) * 1000 as held from bench.rows group by driver) r
        cross join lateral (values (money.account_of('driver_cash', 'driver', r.driver, 'IQD'), 1),
          (money.account_of('external', 'tenant', null, 'IQD'), -1)) a (account, sign)) l`);
  });
}

const next = "from (select id, driver from bench.rows where n = (select nextval('bench.taken'))) r";
const input =
  "jsonb_build_object('scope', 'selected', 'cod_collection_ids', jsonb_build_array(r.id))";

/** All that a request costs in SQL: who asks, whether they may, the settlement. */
export function wholeCall({ tenantId, userId }: Bench, who: Who): string {
  const claims = {
    tenant_mode: "required",
    request_id: randomUUID(),
    operation: "POST /delivery/cod-collections/remit",
    tenant_id: tenantId,
    ...(who === "cashier" ? { sub: userId } : {}),
  };
  const rule = {
    access: ["role:system_admin", "role:driver", "role:dispatcher", "role:tenant_admin"],
  };
  const own = who === "driver" ? ", 'sub', r.driver" : "";
  return `select private.call('${
    JSON.stringify(claims)
  }'::jsonb || jsonb_build_object('call_id', 'b'${own}),
    '${JSON.stringify(rule)}', 'money.cod_remit', ${input}) ${next};\n`;
}

/** The settlement alone, for somebody whom nobody looked up, in one round trip. */
export function coreAlone({ tenantId, userId }: Bench, who: Who): string {
  const role = who === "cashier" ? "role:dispatcher" : "role:driver";
  const actor = who === "cashier" ? `'${userId}'` : "r.driver::text";
  return `begin \\; select set_config('app.tenant_id', '${tenantId}', true), set_config('app.grants', '{${role}}', true) \\;
    select bench.settle_alone(r.input) from (
      select ${input} as input, set_config('app.user_id', ${actor}, true) ${next} offset 0) r \\; commit;\n`;
}

/** The same rows, written by plain statements: no rule, no check, no answer. */
export function plainly({ tenantId, userId }: Bench, who: Who): string {
  const actor = who === "cashier" ? `'${userId}'` : "r.driver";
  return `begin \\; select set_config('app.tenant_id', '${tenantId}', true) \\;
    select bench.settle_plainly(r.id, r.driver, ${actor}) ${next} \\; commit;\n`;
}

/** Settles one of `rows` after the other over HTTP, by so many connections, for as long as it is told. */
export function settleOverHttp(
  { stack, token }: Bench,
  rows: readonly { id: string }[],
  connections: number,
): (seconds: number) => Promise<LoadResult> {
  let taken = 0;
  return (seconds) =>
    load(
      `${stack.apiUrl}/delivery/cod-collections/remit`,
      { authorization: `Bearer ${token}` },
      connections,
      seconds,
      () => {
        const row = rows[taken++];
        return row && JSON.stringify({ scope: "selected", cod_collection_ids: [row.id] });
      },
    );
}

async function overHttp(bench: Bench): Promise<number> {
  const { sql } = bench.stack;
  const rows = await sql<{ id: string }[]>`
    select r.id from bench.rows r where n > (select last_value from bench.taken) order by n limit 30000`;
  const settle = settleOverHttp(bench, rows, connections);
  // Workers load their code and their fonts at the first settlements, and each connection its plans.
  const warm = await settle(5);
  const { perSecond, notOk, answers } = await settle(seconds);
  if (notOk) throw new Error(`${notOk} settlements over HTTP were refused`);
  await sql`select setval('bench.taken', (select last_value from bench.taken) + ${
    warm.answers + answers
  })`;
  return perSecond;
}
