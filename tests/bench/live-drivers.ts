/** Drivers on duty, who report where they are. */
import { post } from "./ask.ts";
import type { Bench } from "./bench-stack.ts";

/** More drivers of a tenant, on duty and each with a vehicle and a place; their tokens. */
export async function hire(
  { stack, ...bench }: Bench,
  count: number,
  tenantId = bench.tenantId,
): Promise<string[]> {
  const { sql } = stack;
  const people = await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    // A person without an account in Auth is refused.
    const made = await tx<{ id: string }[]>`
      with account as (
        insert into auth.users (id, email)
        select id, 'bench-' || id || '@demo.test' from (select gen_random_uuid() as id from generate_series(1, ${count}::int)) new
        returning id, email)
      insert into tenancy.profiles (id, email, full_name)
      select id, email, 'Driver ' || row_number() over () from account returning id`;
    const ids = made.map(({ id }) => id);
    await tx`insert into tenancy.tenant_users (tenant_id, user_id, tenant_user_type)
      select ${tenantId}, x, 'driver' from unnest(${ids}::uuid[]) x`;
    await tx`insert into tenancy.tenant_user_roles (tenant_id, user_id, role_key)
      select ${tenantId}, x, 'driver' from unnest(${ids}::uuid[]) x`;
    await tx`with van as (
        insert into delivery.vehicles (tenant_id, name, unit_capacity)
        select ${tenantId}, 'Van ' || n, 1000 from generate_series(1, ${count}::int) n returning id)
      insert into delivery.drivers (tenant_id, user_id, vehicle_id, all_zones)
      select ${tenantId}, d.id, v.id, true
      from (select x as id, row_number() over () as n from unnest(${ids}::uuid[]) x) d
      join (select id, row_number() over () as n from van) v using (n)`;
    await tx`insert into delivery.driver_presence (tenant_id, driver_id, on_duty, last_heartbeat_at, latitude, longitude, accuracy_m,
        recorded_at, moved_at)
      select ${tenantId}, x, true, now(), 33 + random(), 44 + random(), 8, now(), now() from unnest(${ids}::uuid[]) x`;
    return ids;
  });
  for (
    const table of [
      "tenancy.tenant_users",
      "delivery.drivers",
      "delivery.driver_presence",
      "delivery.vehicles",
    ]
  ) {
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

/** A driver reports one position, a little further on than at `at - 1`. */
export const sendPosition = (bench: Bench, token: string, at: number) =>
  post({ ...bench, token }, "/delivery/drivers/me/positions", report(at));
