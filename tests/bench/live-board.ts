/** The time of the board with many drivers and deliveries. */
import { performance } from "node:perf_hooks";
import { type Ask, get } from "./ask.ts";
import type { Bench } from "./bench-stack.ts";
import { fillTables } from "./fill.ts";
import { hire } from "./live-drivers.ts";
import { median } from "./load.ts";
import type { Report } from "./report.ts";

const path = "/delivery/board";

/** The board with 100 drivers and 10,000 live deliveries, and with ten times as many of both. */
export async function board(bench: Bench, out: Report): Promise<void> {
  const found: number[] = [];
  for (const count of [100, 900]) {
    await carry(bench, count, 100);
    const took = await medianOf(() => get(bench, path));
    found.push(took);
    const answer = await fetch(`${bench.stack.apiUrl}${path}`, {
      headers: { authorization: `Bearer ${bench.token}` },
    });
    const size = (await answer.text()).length / 1000;
    out.note(
      `board with ${
        count === 100 ? "100 drivers and 10,000" : "1,000 drivers and 100,000"
      } live deliveries: median ${took.toFixed(1)} ms, ${size.toFixed(0)} kB`,
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

const place = (latitude: number, longitude: number) =>
  JSON.stringify({
    latitude,
    longitude,
    city: "Baghdad",
    full_address: "District 912, street 14, house 3",
  });

let code = 700_000_000;
/** More drivers, each with so many deliveries, of which every tenth is late. */
export async function carry(bench: Bench, count: number, each: number): Promise<void> {
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
        ${place(33.3, 44.4)}::text::jsonb, ${place(33.4, 44.3)}::text::jsonb, '{}', 'in_transit',
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
