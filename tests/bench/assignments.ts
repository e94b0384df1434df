/** Assigning 1, 50 and 500 deliveries against the same rows written by plain SQL; dispatchers racing; page 1 of a big list. */
import { performance } from "node:perf_hooks";
import { type Bench, startBench } from "./bench-stack.ts";
import { median, percentiles } from "./load.ts";
import type { Report } from "./report.ts";

const sizes = [1, 50, 500];
const rounds = 7;
const small = 10_000;
const large = 1_000_000;

export async function benchAssignments(report: Report): Promise<void> {
  const bench = await startBench();
  try {
    await makeGround(bench);
    await bulks(bench, report);
    await race(bench, report);
    await list(bench, report);
  } finally {
    await bench.stop();
  }
}

/** Drivers with room for everything, and an address that is somewhere. */
async function makeGround({ stack: { sql }, tenantId }: Bench): Promise<void> {
  await sql`insert into delivery.drivers (tenant_id, user_id, all_zones)
    select tenant_id, user_id, true from tenancy.tenant_users
    where tenant_id = ${tenantId} and tenant_user_type = 'driver'
    on conflict (tenant_id, user_id) do update set all_zones = true, status = 'active'`;
  await sql`with made as (
      insert into delivery.vehicles (tenant_id, name, unit_capacity)
      select tenant_id, 'bench ' || user_id, 100000000 from delivery.drivers where tenant_id = ${tenantId} returning id, name)
    update delivery.drivers d set vehicle_id = made.id from made where made.name = 'bench ' || d.user_id`;
}

const driversOf = async ({ stack, tenantId }: Bench) =>
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
  const times: Record<string, number>[] = [];
  for (const [from, to] of [[0, small], [small, large]] as const) {
    await fill(bench, from, to);
    times.push(await pages(bench));
  }
  for (const kind of Object.keys(times[0]!)) {
    const [few, many] = times.map((one) => one[kind]!);
    report.note(
      `${kind}: p95 ${few!.toFixed(1)} ms on 10,000, ${many!.toFixed(1)} ms on 1,000,000`,
    );
    report.ratio({
      what: `${kind}: p95 of page 1 on 1,000,000 assignments against 10,000`,
      value: many! / few!,
      atMost: 2,
    });
  }
}

async function pages(bench: Bench): Promise<Record<string, number>> {
  const [driver] = await driversOf(bench);
  const queries = {
    "assignments, newest": "",
    "assignments of a status": "?status=completed",
    "assignments of a driver": `?driver_id=${driver}`,
  };
  const found: Record<string, number> = {};
  for (const [kind, query] of Object.entries(queries)) {
    const took: number[] = [];
    for (let i = -20; i < 200; i++) {
      const start = performance.now();
      const response = await fetch(`${bench.stack.apiUrl}/delivery/assignments${query}`, {
        headers: { authorization: `Bearer ${bench.token}` },
      });
      await response.text();
      if (!response.ok) throw new Error(`list answered ${response.status}`);
      if (i >= 0) took.push(performance.now() - start);
    }
    found[kind] = percentiles(took).p95;
  }
  return found;
}

async function fill({ stack: { sql }, tenantId }: Bench, from: number, to: number): Promise<void> {
  console.log(`       loading assignments ${from} to ${to} ...`);
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await tx`insert into delivery.assignments (tenant_id, delivery_id, driver_id, status, units, assignment_time)
      select ${tenantId}, d.id, r.ids[1 + n % array_length(r.ids, 1)], (array['completed', 'rejected', 'returned'])[1 + n % 3], 1,
        now() - n * interval '1 minute'
      from generate_series(${from}::int, ${to - 1}::int) n,
        (select id from delivery.deliveries where tenant_id = ${tenantId} limit 1) d,
        (select array_agg(user_id) as ids from delivery.drivers where tenant_id = ${tenantId}) r`;
  });
  await sql`select private.tally_rebuild('assignments')`;
  await sql`vacuum analyze delivery.assignments`;
}
