/** Live dispatch: what positions of 2,000 drivers cost, the board with many drivers, and messages to many who listen. */
import { readdirSync, readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "@supabase/supabase-js";
import type postgres from "postgres";
import ws from "ws";
import { type Ask, get, post } from "./ask.ts";
import { type Bench, startBench } from "./bench-stack.ts";
import { cpuMs } from "./cpu.ts";
import { fillTables } from "./fill.ts";
import { offers, ordering } from "./live-offers.ts";
import { median, percentiles } from "./load.ts";
import type { Report } from "./report.ts";

const drivers = 2_000;
/** Seconds between two reports of one driver. */
const everySeconds = 10;
const listeners = 200;

export async function benchLive(report: Report): Promise<void> {
  const bench = await startBench();
  try {
    await ordering(bench, report);
    await board(bench, report);
    const tokens = await hire(bench, drivers);
    await positions(bench, tokens, report);
    await broadcasts(bench, tokens, report);
    await offers(bench, report);
  } finally {
    await bench.stop();
  }
}

/** More drivers of the tenant, on duty; their tokens. */
async function hire({ stack, tenantId }: Bench, count: number): Promise<string[]> {
  const { sql } = stack;
  const people = await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    const made = await tx<{ id: string }[]>`
      insert into tenancy.profiles (id, email, full_name)
      select gen_random_uuid(), 'bench-' || gen_random_uuid() || '@demo.test', 'Driver ' || n
      from generate_series(1, ${count}::int) n returning id`;
    const ids = made.map(({ id }) => id);
    await tx`insert into tenancy.tenant_users (tenant_id, user_id, tenant_user_type)
      select ${tenantId}, x, 'driver' from unnest(${ids}::uuid[]) x`;
    await tx`insert into tenancy.tenant_user_roles (tenant_id, user_id, role_key)
      select ${tenantId}, x, 'driver' from unnest(${ids}::uuid[]) x`;
    await tx`insert into delivery.drivers (tenant_id, user_id, all_zones) select ${tenantId}, x, true from unnest(${ids}::uuid[]) x`;
    await tx`insert into delivery.driver_presence (tenant_id, driver_id, on_duty, last_heartbeat_at)
      select ${tenantId}, x, true, now() from unnest(${ids}::uuid[]) x`;
    return ids;
  });
  for (const table of ["tenancy.tenant_users", "delivery.drivers", "delivery.driver_presence"]) {
    await sql.unsafe(`vacuum analyze ${table}`);
  }
  await sql`select delivery.positions_partition()`;
  return await Promise.all(
    people.map((sub) => stack.jwtSign({ sub, app_metadata: { tenant_id: tenantId } })),
  );
}

const report = (at: number) => ({
  positions: [{
    latitude: 33.3 + at / 1e6,
    longitude: 44.4,
    recorded_at: new Date().toISOString(),
    speed_kmh: 30,
    heading: 90,
    accuracy_m: 8,
  }],
});

const sendPosition = (bench: Bench, token: string, at: number) =>
  post({ ...bench, token }, "/delivery/drivers/me/positions", report(at));

/** Two rounds of all drivers, eight at once; what Postgres used of its processor for one report, times the reports of a second. */
async function positions(bench: Bench, tokens: string[], out: Report): Promise<void> {
  await round(bench, tokens.slice(0, 200));
  const server = await serverOf(bench.stack.sql);
  const [before, began] = [cpuOf(server), performance.now()];
  for (let n = 0; n < 2; n++) await round(bench, tokens);
  const used = cpuOf(server) - before;
  const took = performance.now() - began;
  const each = used / (2 * tokens.length);
  const aSecond = drivers / everySeconds;
  out.note(
    `a report of one position: ${each.toFixed(2)} ms of Postgres; ${
      ((2 * tokens.length) / (took / 1000)).toFixed(0)
    } reports a second`,
  );
  out.ratio({
    what: `positions of ${drivers} drivers every ${everySeconds} s: share of one core of Postgres`,
    value: (each * aSecond) / 10,
    atMost: 25,
    unit: "%",
  });
}

async function round(bench: Bench, tokens: string[]): Promise<void> {
  const waiting = tokens.entries();
  const worker = async () => {
    for (const [at, token] of waiting) await sendPosition(bench, token, at);
  };
  await Promise.all(Array.from({ length: 8 }, worker));
}

/** The process of the server, whose children do its work. */
async function serverOf(sql: postgres.Sql): Promise<number> {
  const [{ pid }] = await sql`select pg_backend_pid() as pid`;
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!.split(" ");
  return Number(fields[1]);
}

/** Milliseconds of processor that all processes of a server have used. One that ends meanwhile is not counted. */
function cpuOf(server: number): number {
  const children = readdirSync("/proc").filter((name) => /^\d+$/.test(name)).filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!.split(" ")[1] ===
        String(server);
    } catch {
      return false;
    }
  });
  return children.reduce((sum, pid) => sum + cpuMs(Number(pid)), 0);
}

/** The board with 100 drivers and 10,000 live deliveries, and with ten times as many of both. */
async function board(bench: Bench, out: Report): Promise<void> {
  const found: number[] = [];
  for (const count of [100, 900]) {
    await carry(bench, count, 100);
    const took = await medianOf(() => get(bench, "/delivery/board"));
    found.push(took);
    out.note(
      `board with ${
        count === 100 ? "100 drivers and 10,000" : "1,000 drivers and 100,000"
      } live deliveries: median ${took.toFixed(1)} ms`,
    );
  }
  out.ratio({
    what: "board with 1,000 drivers and 100,000 live deliveries against 100 and 10,000",
    value: found[1]! / found[0]!,
    atMost: 2,
  });
}

async function medianOf(ask: Ask, times = 30): Promise<number> {
  const took: number[] = [];
  for (let i = -5; i < times; i++) {
    const began = performance.now();
    await ask(i);
    if (i >= 0) took.push(performance.now() - began);
  }
  return median(took);
}

let code = 700_000_000;
/** More drivers, each with so many deliveries, of which every tenth is late. */
async function carry(bench: Bench, count: number, each: number): Promise<void> {
  const { stack: { sql }, tenantId } = bench;
  await hire(bench, count);
  code += count * each;
  await fillTables(bench, {
    tables: ["delivery.deliveries", "delivery.assignments"],
    tallies: ["deliveries", "assignments"],
  }, async (tx) => {
    const made = await tx<{ id: string; n: number }[]>`
      insert into delivery.deliveries (tenant_id, delivery_code, barcode, delivery_service_id, payer_type, payment_method, delivery_fee,
        currency, unit_size, unit_size_source, pickup_address_id, dropoff_address_id, pickup_snapshot, dropoff_snapshot,
        service_snapshot, status, promised_at)
      select ${tenantId}, ${code} - n, 'LIVE' || ${code} - n, s.id, 'sender', 'wallet', 1000, 'IQD', 1, 'unit_size', a.id, a.id,
        '{"latitude": 33.3, "longitude": 44.4}', '{"latitude": 33.4, "longitude": 44.3}', '{}', 'in_transit',
        case when n % 10 = 0 then now() - interval '1 hour' end
      from generate_series(1, ${count * each}::int) n,
        (select id from delivery.delivery_services where tenant_id = ${tenantId} limit 1) s,
        (select id from delivery.addresses where tenant_id = ${tenantId} and latitude is not null limit 1) a
      returning id, ${code} - delivery_code as n`;
    await tx`insert into delivery.assignments (tenant_id, delivery_id, driver_id, status, units, sequence_number)
      select ${tenantId}, m.id, d.driver_id, 'accepted', 1, m.n / ${count}::int + 1
      from unnest(${made.map(({ id }) => id)}::uuid[], ${
      made.map(({ n }) => Number(n))
    }::int[]) m (id, n)
      join (select p.user_id as driver_id, row_number() over (order by p.user_id) - 1 as place from delivery.drivers p
        where p.tenant_id = ${tenantId} and p.live_stops = 0 order by p.user_id limit ${count}) d on d.place = m.n % ${count}::int`;
  });
  await sql`update delivery.drivers d set live_stops = a.count, capacity_used = a.count
    from (select driver_id, count(*) as count from delivery.assignments
      where tenant_id = ${tenantId} and status = 'accepted' group by driver_id) a
    where d.tenant_id = ${tenantId} and d.user_id = a.driver_id`;
}

/** 200 listeners of a board while its drivers report: each hears one message a second, within a second. */
async function broadcasts(bench: Bench, tokens: string[], out: Report): Promise<void> {
  const { stack, tenantId, token } = bench;
  const delays: number[] = [];
  let messages = 0;
  const apps = await Promise.all(Array.from({ length: listeners }, async () => {
    const app = createClient(stack.url, stack.publishableKey, {
      auth: { persistSession: false, autoRefreshToken: false },
      realtime: { transport: ws as unknown as typeof WebSocket },
    });
    await app.realtime.setAuth(token);
    await new Promise<void>((resolve, reject) =>
      app.channel(`tenant:${tenantId}:board`, { config: { private: true } })
        .on("broadcast", { event: "driver.positions" }, ({ payload }) => {
          messages++;
          const latest = payload.positions.map(({ recorded_at }: { recorded_at: string }) =>
            Date.parse(recorded_at)
          );
          delays.push(Date.now() - Math.max(...latest));
        })
        .subscribe((status, error) =>
          status === "SUBSCRIBED" ? resolve() : error ? reject(error) : undefined
        )
    );
    return app;
  }));
  const seconds = 10;
  const until = Date.now() + seconds * 1000;
  for (let at = 0; Date.now() < until; at++) {
    const due = at * (1000 / (drivers / everySeconds));
    void sendPosition(bench, tokens[at % tokens.length]!, at).catch(() => undefined);
    const ahead = until - seconds * 1000 + due - Date.now();
    if (ahead > 0) await sleep(ahead);
  }
  await sleep(1_500);
  out.note(
    `${listeners} listeners heard ${
      (messages / listeners / seconds).toFixed(2)
    } messages a second each, while ${drivers / everySeconds} positions a second came in`,
  );
  out.ratio({
    what: `from the newest position of a message to ${listeners} listeners: p95`,
    value: percentiles(delays).p95,
    atMost: 1_000,
    unit: "ms",
  });
  await Promise.all(apps.map((app) => app.removeAllChannels()));
}
