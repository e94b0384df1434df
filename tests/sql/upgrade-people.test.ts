/** People who had left, or whose account was deleted, before that ended their work: the upgrade ends it, and nobody else's. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { OwnDatabase } from "../support/database.ts";
import { releasedDatabase, upgrade } from "../support/released-database.ts";

let old: OwnDatabase;
beforeAll(async () => {
  old = await releasedDatabase("1.2.0");
}, 300_000);
afterAll(() => old.close());

test(
  "drivers who left are inactive and off duty, staff in no warehouse; deleted administrators administer nothing",
  async () => {
    const { sql } = old;
    const drivers = await sql`select d.tenant_id, d.user_id from delivery.drivers d
    join tenancy.tenant_users u on u.tenant_id = d.tenant_id and u.user_id = d.user_id
    where u.is_active and u.tenant_user_type = 'driver' order by d.user_id limit 2`;
    const [works, left] = drivers.map(({ user_id }) => user_id);
    const [staff] =
      await sql`select id, user_id from warehousing.warehouse_staff where is_active order by id limit 1`;
    const [kept] = await sql`select id from warehousing.warehouse_staff
    where is_active and user_id <> ${staff!.user_id} order by id limit 1`;
    await sql.begin(async (tx) => {
      await tx`set local session_replication_role = replica`;
      await tx`update delivery.drivers set status = 'active' where user_id in ${tx([works, left])}`;
      for (const { tenant_id, user_id } of drivers) {
        await tx`insert into delivery.driver_presence (tenant_id, driver_id, on_duty) values (${tenant_id}, ${user_id}, true)
        on conflict (tenant_id, driver_id) do update set on_duty = true`;
      }
      await tx`update tenancy.tenant_users set is_active = false, left_at = now()
      where user_id in ${tx([left, staff!.user_id])}`;
      await tx`delete from tenancy.system_users`;
      await tx`insert into tenancy.system_users (user_id, role)
      select unnest(${[works, left]}::uuid[]), 'system_admin'`;
      await tx`update auth.users set deleted_at = now() where id = ${left}`;
    });
    await upgrade(old);
    const found = await sql`select d.user_id, d.status, s.on_duty from delivery.drivers d
    join delivery.driver_presence s on s.tenant_id = d.tenant_id and s.driver_id = d.user_id
    where d.user_id in ${sql([works, left])} order by d.user_id`;
    expect(found.map((one) => ({ ...one }))).toEqual([
      { user_id: works, status: "active", on_duty: true },
      { user_id: left, status: "inactive", on_duty: false },
    ]);
    const places = await sql`select id, is_active from warehousing.warehouse_staff
    where id in ${sql([staff!.id, kept!.id])}`;
    expect(new Map(places.map(({ id, is_active }) => [id, is_active])))
      .toEqual(new Map([[staff!.id, false], [kept!.id, true]]));
    expect((await sql`select user_id from tenancy.system_users`).map(({ user_id }) => user_id))
      .toEqual([works]);
  },
  300_000,
);
