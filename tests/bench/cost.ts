/**
 * The processor time of PostgreSQL for one answer over HTTP, in units of a fixed piece of work in PL/pgSQL, so that one
 * machine can be compared with another. What changes things is bounded for 1,000,000 rows; with so many, what is read may
 * cost half as much again as with 10,000.
 */
import { type Ask, get, post } from "./ask.ts";
import { cpuOf } from "./scale/cost.ts";
import { type Ground, grow, openGround } from "./scale/ground.ts";
import { itemBatches, settlementOf, settlementPath, unassigned, waiting } from "./scale/paths.ts";
import { destination } from "./set-destination.ts";
import type { Report } from "./report.ts";

/** The unit: 20,000 additions in a loop. */
const unit =
  `do $$ declare v bigint := 0; begin for i in 1..20000 loop v := v + i; end loop; end $$`;
/** The unit is measured anew after each part of the calls: a machine's speed changes within a run. */
const parts = 8;
const asks = 400;
const perBulk = 20;
/** Calls that change things: each uses something up. */
const most = 200;
const warmUp = 10;
const shown = "id,delivery_code,status,recipient,cash_due,updated_at";

interface Answer {
  what: string;
  path: string;
  /** Units of PostgreSQL, and bytes where they are bounded. */
  atMost: number;
  bytes?: number;
  who?: "admin";
}

export async function benchCost(report: Report, rows: number): Promise<void> {
  const ground = await openGround();
  try {
    await grow(ground, 0, rows);
    const ids = await carried(ground, 40);
    const ms = await unitOf(ground);
    report.note(
      `the unit: ${ms.toFixed(2)} ms at first; ${rows.toLocaleString("en")} rows of each table`,
    );
    for (const answer of answers(ids[0]!)) {
      const atMost = Math.round(answer.atMost * (rows < 1e6 ? 100 : 150)) / 100;
      await measure(ground, { ...answer, atMost }, report);
    }
    for (const change of await changes(ground)) await measureChange(ground, change, report);
  } finally {
    await ground.bench.stop();
  }
}

const answers = (id: string): Answer[] => [
  { what: "who am I", path: "/tenants/me", atMost: 0.7 },
  { what: "20 deliveries", path: "/delivery/deliveries", atMost: 3 },
  { what: "one delivery", path: `/delivery/deliveries/${id}`, atMost: 2.5 },
  { what: "20 assignments", path: "/delivery/assignments?limit=20", atMost: 3 },
  { what: "20 products", path: "/storefront/products?limit=20", atMost: 1.1, who: "admin" },
  { what: "20 rows of cash", path: "/delivery/cod-collections?limit=20", atMost: 1.5 },
  {
    what: "20 deliveries, six fields",
    path: `/delivery/deliveries?fields=${shown}`,
    atMost: 1.3,
    bytes: 6_000,
  },
];

/** Gives the newest deliveries to drivers. */
async function carried(ground: Ground, count: number): Promise<string[]> {
  const ids = await unassigned(ground, count);
  for (const [i, id] of ids.entries()) {
    const driver = ground.driverIds[i % ground.driverIds.length];
    await post(ground.bench, "/delivery/assignments", { delivery_id: id, driver_id: driver });
  }
  return ids;
}

async function unitOf({ bench }: Ground, times = 60): Promise<number> {
  const { sql } = bench.stack;
  const loops = async () => {
    for (let i = 0; i < times; i++) await sql.unsafe(unit);
  };
  await sql.unsafe(unit);
  return (await cpuOf(bench, loops)).database / times;
}

/** Of so many calls in parts, with the unit before, between and after them: the units of a call, and its milliseconds. */
async function measured(
  ground: Ground,
  count: number,
  run: (from: number, to: number) => Promise<void>,
): Promise<{ units: number; database: number; worker: number }> {
  const sum = { database: 0, worker: 0, unit: await unitOf(ground) };
  for (let part = 0; part < parts; part++) {
    const [from, to] = [part, part + 1].map((at) => Math.round(at * count / parts));
    const { database, worker } = await cpuOf(ground.bench, () => run(from!, to!));
    sum.database += database / count;
    sum.worker += worker / count;
    sum.unit += await unitOf(ground);
  }
  return { units: sum.database / (sum.unit / (parts + 1)), ...sum };
}

async function measure(
  ground: Ground,
  { what, path, atMost, bytes, who }: Answer,
  report: Report,
): Promise<void> {
  const { bench, admin } = ground;
  const caller = who === "admin" ? { ...bench, ...admin } : bench;
  const ask: Ask = () => get(caller, path);
  const repeat = async (times: number) => {
    for (let i = 0; i < times; i++) await ask(i);
  };
  await repeat(50);
  const { units, database, worker } = await measured(ground, asks, (from, to) => repeat(to - from));
  const size = await bytesOf(caller, path);
  report.ratio({ what, value: units, atMost, unit: "units" });
  report.note(
    `${what}: ${database.toFixed(2)} ms of PostgreSQL, ${worker.toFixed(2)} ms of the function, ${
      (size / 1000).toFixed(1)
    } kB`,
  );
  if (bytes) {
    report.ratio({ what: `${what}: size`, value: size / 1000, atMost: bytes / 1000, unit: "kB" });
  }
}

interface Call {
  path: string;
  body: unknown;
}
interface Change {
  what: string;
  calls: Call[];
  /** Units of PostgreSQL, where they are bounded. */
  atMost?: number;
}

const callsOf = (path: string, bodies: unknown[]): Call[] => bodies.map((body) => ({ path, body }));

async function changes(ground: Ground): Promise<Change[]> {
  const count = most + warmUp;
  const doors = await atTheDoor(ground, 100 + warmUp);
  const deliveries = await unassigned(ground, count * perBulk);
  const bulks = Array.from({ length: Math.floor(deliveries.length / perBulk) }, (_, i) => ({
    driver_id: ground.driverIds[i % ground.driverIds.length],
    delivery_ids: deliveries.slice(i * perBulk, (i + 1) * perBulk),
  }));
  const to = await destination(ground.bench);
  return [
    {
      what: "20 assignments made at once",
      calls: callsOf("/delivery/assignments/bulk", bulks),
      atMost: 11.9,
    },
    {
      what: "20 orders of a manifest",
      calls: callsOf(
        "/delivery/transfer-manifest-items/bulk/set-destination",
        (await itemBatches(ground, 60 + warmUp)).map((item_ids) => ({
          item_ids,
          destination_address_id: to,
        })),
      ),
      atMost: 29.9,
    },
    {
      what: "a settlement",
      calls: callsOf(settlementPath, (await waiting(ground, count)).map(settlementOf)),
      atMost: 3.7,
    },
    {
      what: "an outcome at the door",
      calls: doors.map((id) => ({
        path: `/delivery/deliveries/${id}/outcome`,
        body: { result: "delivered" },
      })),
    },
  ];
}

/** Deliveries that were picked up, where nothing is left to pay. */
async function atTheDoor(ground: Ground, count: number): Promise<string[]> {
  const { bench } = ground;
  const { stack: { sql }, tenantId } = bench;
  const driversAnswer = (required: boolean) =>
    sql`insert into tenancy.tenant_settings (tenant_id, module, group_key, settings)
      values (${tenantId}, 'general', 'driver', ${
      sql.json({ require_accept_or_reject_for_assignments: required })
    })
      on conflict (tenant_id, module, group_key) do update set settings = tenant_settings.settings || excluded.settings`;
  await driversAnswer(false);
  const ids = await carried(ground, count);
  for (const id of ids) {
    await post(bench, `/delivery/deliveries/${id}/pickup`, {
      cash_collected: { delivery_fee: 1000 },
    });
  }
  await driversAnswer(true);
  return ids;
}

async function measureChange(
  ground: Ground,
  { what, calls, atMost }: Change,
  report: Report,
): Promise<void> {
  const { bench } = ground;
  const send = async (some: Call[]) => {
    for (const { path, body } of some) await post(bench, path, body);
  };
  await send(calls.slice(0, warmUp));
  const rest = calls.slice(warmUp);
  const { units, database, worker } = await measured(
    ground,
    rest.length,
    (from, to) => send(rest.slice(from, to)),
  );
  if (atMost === undefined) report.note(`${what}: ${units.toFixed(2)} units`);
  else report.ratio({ what, value: units, atMost, unit: "units" });
  report.note(
    `${what}: ${database.toFixed(2)} ms of PostgreSQL, ${
      worker.toFixed(2)
    } ms of the function, ${rest.length} calls`,
  );
}

async function bytesOf({ stack, token }: Ground["admin"], path: string): Promise<number> {
  const response = await fetch(`${stack.apiUrl}${path}`, {
    headers: { authorization: `Bearer ${token}`, "accept-encoding": "identity" },
  });
  return (await response.arrayBuffer()).byteLength;
}
