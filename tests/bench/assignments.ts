/** Assigning 1, 50 and 500 deliveries against the same rows written by plain SQL; dispatchers racing; page 1 of a big list. */
import { performance } from "node:perf_hooks";
import { compareRows, get, p95s } from "./ask.ts";
import { type Bench, startBench } from "./bench-stack.ts";
import { fillTables } from "./fill.ts";
import { median } from "./load.ts";
import type { Report } from "./report.ts";

const sizes = [1, 50, 500];
const rounds = 7;
const small = 10_000;
const large = 1_000_000;

export async function benchAssignments(report: Report): Promise<void> {
  const bench = await startBench();
  try {
    await makeRoom(bench);
    await bulks(bench, report);
    await race(bench, report);
    await list(bench, report);
  } finally {
    await bench.stop();
  }
}

/** Drivers with room for everything, and an address that is somewhere. */
export async function makeRoom({ stack: { sql }, tenantId }: Bench): Promise<void> {
  await sql`insert into delivery.drivers (tenant_id, user_id, all_zones)
    select tenant_id, user_id, true from tenancy.tenant_users
    where tenant_id = ${tenantId} and tenant_user_type = 'driver'
    on conflict (tenant_id, user_id) do update set all_zones = true, status = 'active'`;
  await sql`with made as (
      insert into delivery.vehicles (tenant_id, name, unit_capacity)
      select tenant_id, 'bench ' || user_id, 100000000 from delivery.drivers where tenant_id = ${tenantId} returning tenant_id, id, name)
    update delivery.drivers d set vehicle_id = made.id from made
    where d.tenant_id = made.tenant_id and made.name = 'bench ' || d.user_id`;
}

export const driversOf = async ({ stack, tenantId }: Bench) =>
  (await stack
    .sql`select user_id from delivery.drivers where tenant_id = ${tenantId} order by user_id`)
    .map((row) => row.user_id as string);

let code = 900_000_000;
async function newDeliveries(
  { stack: { sql }, tenantId }: Bench,
  count: number,
): Promise<string[]> {
  code += count;
  const rows =
    await sql`insert into delivery.deliveries (tenant_id, delivery_code, barcode, delivery_service_id, payer_type,
      payment_method, delivery_fee, currency, unit_size, unit_size_source, pickup_address_id, dropoff_address_id,
      pickup_snapshot, dropoff_snapshot, service_snapshot)
    select ${tenantId}, ${code} - n, 'BENCH' || ${code} - n, s.id, 'sender', 'wallet', 1000, 'IQD', 1, 'unit_size', a.id, a.id,
      '{}', '{}', '{}'
    from generate_series(1, ${count}::int) n,
      (select id from delivery.delivery_services where tenant_id = ${tenantId} limit 1) s,
      (select id from delivery.addresses where tenant_id = ${tenantId} and latitude is not null limit 1) a
    returning id`;
  return rows.map((row) => row.id);
}

function post({ stack, token }: Bench, path: string, body: unknown) {
  return fetch(`${stack.apiUrl}/delivery${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

async function bulks(bench: Bench, report: Report): Promise<void> {
  const { sql } = bench.stack;
  const [driver_id] = await driversOf(bench);
  const perDelivery: number[] = [];
  for (const size of sizes) {
    const [called, plain]: [number[], number[]] = [[], []];
    for (let round = -1; round < rounds; round++) {
      const delivery_ids = await newDeliveries(bench, size);
      const start = performance.now();
      const response = await post(bench, "/assignments/bulk", { driver_id, delivery_ids });
      await response.text();
      if (response.status !== 201) throw new Error(`bulk answered ${response.status}`);
      const took = performance.now() - start;
      // The same rows, with the same triggers, by one statement that asks nothing.
      const others = await newDeliveries(bench, size);
      const begun = performance.now();
      await sql`with moved as (
          update delivery.deliveries set status = 'assigned' where id in ${
        sql(others)
      } returning id, tenant_id, unit_size)
        insert into delivery.assignments (tenant_id, delivery_id, driver_id, status, units)
        select tenant_id, id, ${driver_id}, 'pending', unit_size from moved`;
      if (round >= 0) {
        called.push(took);
        plain.push(performance.now() - begun);
      }
    }
    perDelivery.push(median(called) / size);
    report.note(
      `bulk of ${size}: ${median(called).toFixed(1)} ms, ${
        (median(called) / size).toFixed(2)
      } ms a delivery; plain SQL ${median(plain).toFixed(1)} ms`,
    );
    if (size === 500) {
      report.ratio({
        what: "bulk assignment of 500 against one plain SQL statement",
        value: median(called) / median(plain),
        atMost: 3,
      });
    }
  }
  report.ratio({
    what: "time per delivery, 500 at once against one",
    value: perDelivery[2]! / perDelivery[0]!,
    atMost: 1,
  });
}

async function race(bench: Bench, report: Report): Promise<void> {
  const drivers = await driversOf(bench);
  const ids = await newDeliveries(bench, 50);
  const took = await Promise.all(Array.from({ length: 50 }, async (_, who) => {
    const start = performance.now();
    const response = await post(bench, "/assignments/bulk", {
      driver_id: drivers[who % drivers.length],
      delivery_ids: who % 2 ? ids : [...ids].reverse(),
    });
    await response.text();
    if (![201, 409].includes(response.status)) throw new Error(`race answered ${response.status}`);
    return performance.now() - start;
  }));
  report.ratio({
    what: "50 dispatchers and the same 50 deliveries: the last answer",
    value: Math.max(...took),
    atMost: 2_000,
    unit: "ms",
  });
}

async function list(bench: Bench, report: Report): Promise<void> {
  const [driver] = await driversOf(bench);
  const ask = (query: string) => () => get(bench, `/delivery/assignments${query}`);
  const pages = () =>
    p95s({
      "assignments, newest": ask(""),
      "assignments of a status": ask("?status=completed"),
      "assignments of a driver": ask(`?driver_id=${driver}`),
    });
  await fillAssignments(bench, 0, small);
  const few = await pages();
  await fillAssignments(bench, small, large);
  compareRows(report, { few, many: await pages(), rows: [small, large], of: "assignments" });
}

/** Assignments that are over, all of one delivery. */
async function fillAssignments(bench: Bench, from: number, to: number): Promise<void> {
  console.log(`       loading assignments ${from} to ${to} ...`);
  const tables = ["delivery.assignments"];
  await fillTables(
    bench,
    { tables, tallies: ["assignments"] },
    (tx, tenantId) =>
      tx`insert into delivery.assignments (tenant_id, delivery_id, driver_id, status, units, assignment_time)
      select ${tenantId}, d.id, r.ids[1 + n % array_length(r.ids, 1)], (array['completed', 'rejected', 'returned'])[1 + n % 3], 1,
        now() - n * interval '1 minute'
      from generate_series(${from}::int, ${to - 1}::int) n,
        (select id from delivery.deliveries where tenant_id = ${tenantId} limit 1) d,
        (select array_agg(user_id) as ids from delivery.drivers where tenant_id = ${tenantId}) r`,
  );
}

/** The assignments by which the delivered ones of the deliveries `from` to `to` (fillDeliveries) came to their doors. */
export async function fillCompleted(bench: Bench, from: number, to: number): Promise<void> {
  console.log(`       loading assignments of deliveries ${from} to ${to} ...`);
  const tables = ["delivery.assignments"];
  await fillTables(
    bench,
    { tables, tallies: ["assignments"] },
    (tx, tenantId) =>
      tx`insert into delivery.assignments (tenant_id, delivery_id, driver_id, status, units, assignment_time, ended_at)
      select ${tenantId}, d.id, r.ids[1 + d.delivery_code % array_length(r.ids, 1)], 'completed', d.unit_size, d.created_at, d.updated_at
      from delivery.deliveries d,
        (select array_agg(user_id) as ids from delivery.drivers where tenant_id = ${tenantId}) r
      where d.tenant_id = ${tenantId} and d.delivery_code > 500000000 + ${from}::int and d.delivery_code <= 500000000 + ${to}::int
        and d.delivery_flow = 'standard' and d.status = 'delivered' and r.ids is not null`,
  );
}
