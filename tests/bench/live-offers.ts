/** Automatic assignment while orders come in, and what watching every order costs the ordering of one. */
import { setTimeout as sleep } from "node:timers/promises";
import { post, times } from "./ask.ts";
import type { Bench } from "./bench-stack.ts";
import { median, percentiles } from "./load.ts";
import type { Report } from "./report.ts";

const ordersPerMinute = 50;
const minutes = 2;
/** They follow each order, whether anything is searched or listened to or not. */
const followers = ["searches_follow_made", "deliveries_broadcast_made"];

/** Milliseconds from an order to the offer of it, 50 orders a minute, with the drivers there are. */
export async function offers(bench: Bench, out: Report): Promise<void> {
  const { stack: { sql }, tenantId } = bench;
  await sql`insert into tenancy.tenant_settings (tenant_id, module, group_key, settings)
    values (${tenantId}, 'general', 'delivery', '{"on_demand_auto_assignment": {"enabled": true}}')
    on conflict (tenant_id, module, group_key) do update set settings = tenant_settings.settings || excluded.settings`;
  await sql`update delivery.drivers d set vehicle_id = (
      select v.id from delivery.vehicles v where v.tenant_id = d.tenant_id order by v.unit_capacity desc limit 1)
    where d.tenant_id = ${tenantId} and d.vehicle_id is null`;
  const [{ since }] = await sql`select clock_timestamp() as since`;
  const body = await orderOf(bench);
  const began = Date.now();
  for (let n = 0; n < ordersPerMinute * minutes; n++) {
    await post(bench, "/delivery/deliveries", body);
    const ahead = began + (n + 1) * (60_000 / ordersPerMinute) - Date.now();
    if (ahead > 0) await sleep(ahead);
  }
  await sleep(5_000);
  const rows = await sql<{ ms: number | null }[]>`
    select extract(epoch from a.created_at - d.created_at)::float8 * 1000 as ms
    from delivery.deliveries d
    left join delivery.assignments a on a.tenant_id = d.tenant_id and a.delivery_id = d.id
    where d.tenant_id = ${tenantId} and d.created_at >= ${since}`;
  const took = rows.map(({ ms }) => ms ?? Infinity);
  out.ratio({
    what:
      `from an order to its offer, ${ordersPerMinute} orders a minute (${rows.length} orders): p95`,
    value: percentiles(took).p95,
    atMost: 2_000,
    unit: "ms",
  });
}

/** Ordering with what follows each order, and without it, while no tenant searches or listens. */
export async function ordering(bench: Bench, out: Report): Promise<void> {
  const { stack: { sql } } = bench;
  const body = await orderOf(bench);
  const order = () => post(bench, "/delivery/deliveries", body);
  const follow = (how: "enable" | "disable") =>
    sql.unsafe(
      followers.map((name) => `alter table delivery.deliveries ${how} trigger ${name};`).join(""),
    );
  const found = { with: [] as number[], without: [] as number[] };
  // In turns, so that both meet the same machine.
  for (let round = 0; round < 5; round++) {
    found.with.push(...await times(order, 40, 5));
    await follow("disable");
    found.without.push(...await times(order, 40, 5));
    await follow("enable");
  }
  out.ratio({
    what: "an order with searches and broadcasts following it, both unused, against one without",
    value: median(found.with) / median(found.without),
    atMost: 1.1,
  });
}

async function orderOf({ stack: { sql }, tenantId }: Bench): Promise<Record<string, unknown>> {
  const [row] = await sql`select
    (select id from delivery.delivery_services where tenant_id = ${tenantId} and active limit 1) as service,
    array(select id from delivery.addresses where tenant_id = ${tenantId} and latitude is not null order by id limit 2) as places,
    (select user_id from tenancy.tenant_users where tenant_id = ${tenantId} and tenant_user_type = 'customer' limit 1) as customer`;
  return {
    customer_id: row!.customer,
    delivery_service_id: row!.service,
    pickup_address_id: row!.places[0],
    dropoff_address_id: row!.places[1],
    payer_type: "receiver",
    payment_method: "cash",
    unit_size: 1,
    recipient: { name: "Recipient", phone: "+9647701234567" },
  };
}
