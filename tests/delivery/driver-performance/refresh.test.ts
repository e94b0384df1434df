import { beforeAll, describe, expect, test } from "vitest";
import { equip, newDeliveries, newDelivery, newDriver } from "../../support/assignments.ts";
import { sql, stack } from "../../support/db.ts";
import { newEnded, refreshPerformance } from "../../support/driver-performance.ts";
import { tries } from "../../prove/proof.ts";
import { row } from "../../support/instances/stops.ts";
import { jobsDone } from "../../support/jobs.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";
import { expectReplayed } from "../../support/promises.ts";
import postgres from "postgres";

const path = "/delivery/driver-performance";
let tenant: Tenant;

beforeAll(async () => {
  tenant = await newTenant();
});

const refresh = () => sql`select delivery.performance_refresh(${tenant.id})`;
const figures = async () =>
  await sql`select * from delivery.driver_performance where tenant_id = ${tenant.id}
    order by driver_id, period_year, period_month`;
const facts = async () =>
  await sql`select * from delivery.performance_deliveries where tenant_id = ${tenant.id} order by delivery_id`;

describe("the refresh", () => {
  test.each([11, 22, 33].slice(0, tries(3, 1)))(
    "comes to what a rebuild comes to, after any history (%i)",
    async (seed) => {
      const next = row(seed);
      const pick = <T>(list: readonly T[]) => list[Math.floor(next() * list.length)];
      const drivers = await Promise.all(Array.from({ length: 3 }, () => newDriver(tenant)));
      const ids: string[] = [];
      for (let i = 0; i < 25; i++) {
        ids.push(
          await newDelivery(tenant, {
            created_at: `2026-0${1 + Math.floor(next() * 4)}-1${Math.floor(next() * 9)}T12:00:00Z`,
            cod_amount: Math.floor(next() * 1000),
            distance_km: next() < 0.5 ? null : Math.round(next() * 100) / 10,
          }),
        );
      }
      const legal: Record<string, string[]> = {
        assigned: ["picked_up", "cancelled", "pending"],
        picked_up: ["in_transit", "delivered", "failed"],
        in_transit: ["delivered", "failed", "returned"],
        failed: ["in_transit", "returned", "cancelled"],
        delivered: [],
        returned: [],
        cancelled: [],
      };
      for (let step = 0; step < 160; step++) {
        const id = pick(ids);
        const [{ status }] = await sql`select status from delivery.deliveries where id = ${id}`;
        if (status === "pending") {
          await tenant.ops.post("/delivery/assignments", {
            delivery_id: id,
            driver_id: pick(drivers).id,
          });
        } else if (status === "assigned" && next() < 0.3) {
          const [live] = await sql`select id, driver_id from delivery.assignments
          where delivery_id = ${id} and status = 'pending'`;
          const driver = drivers.find((one) => one.id === live?.driver_id);
          await driver?.put(`/delivery/assignments/${live.id}`, { status: "rejected" });
        } else if (legal[status]?.length) {
          const to = pick(legal[status]);
          if (to === "pending") {
            const [live] = await sql`select id from delivery.assignments
            where delivery_id = ${id} and status in ('pending', 'accepted')`;
            await tenant.ops.post(`/delivery/assignments/${live.id}/unassign`);
          } else {
            await sql`update delivery.deliveries set status = ${to},
            picked_up_at = case when ${to} = 'picked_up' then now() else picked_up_at end,
            delivered_at = case when ${to} = 'delivered' then now() + interval '20 minutes' end
            where id = ${id}`;
          }
        }
        if (next() < 0.1) {
          await sql`update delivery.deliveries set promised_at = now() + ${
            next() < 0.5 ? "1 hour" : "1 minute"
          }::interval,
          cod_amount = ${Math.floor(next() * 1000)} where id = ${id}`;
        }
        if (next() < 0.15) await refresh();
      }
      await jobsDone(tenant.id);
      await refresh();
      const [kept, keptFacts] = [await figures(), await facts()];
      expect(kept.length).toBeGreaterThan(3);
      await sql`select delivery.performance_recompute(${tenant.id})`;
      expect(await figures()).toEqual(kept);
      expect(await facts()).toEqual(keptFacts);
      await sql`select delivery.performance_recompute(${tenant.id}, 2026, 2)`;
      expect(await figures()).toEqual(kept);
    },
    60_000,
  );

  test("puts all into the months of another clock when the company changes its time zone", async () => {
    const own = await newTenant({ settings: { "general.timezone": { name: "Asia/Baghdad" } } });
    await equip(own, own.driver.id);
    const months = () =>
      sql`select period_month, total_deliveries::int from delivery.driver_performance
        where tenant_id = ${own.id} order by period_month`.values();
    // At 01:00 of the first of April in Baghdad, and at noon of the thirty-first of March.
    for (const created_at of ["2026-03-31T22:00:00Z", "2026-03-31T09:00:00Z"]) {
      await newEnded(own, own.driver.id, { created_at });
    }
    await refreshPerformance(own);
    expect(await months()).toEqual([[3, 1], [4, 1]]);
    await sql`select delivery.performance_rebuilds()`;
    const [{ made }] = await sql`select xmin::text as made from delivery.performance_state
      where tenant_id = ${own.id}`;
    await sql`select delivery.performance_rebuilds()`;
    expect(
      await sql`select xmin::text as made from delivery.performance_state
      where tenant_id = ${own.id}`,
    ).toEqual([{ made }]);

    await saveSettings(own.id, "general.timezone", { name: "America/Havana" });
    await newEnded(own, own.driver.id, { created_at: "2026-04-01T02:00:00Z" });
    await refreshPerformance(own);
    await sql`select delivery.performance_rebuilds()`;
    expect(await months()).toEqual([[3, 3]]);
    const [{ zone }] = await sql`select zone from delivery.performance_state
      where tenant_id = ${own.id}`;
    expect(zone).toBe("America/Havana");
  });

  test("misses nothing that was not committed yet when it ran", async () => {
    const driver = await newDriver(tenant);
    const [slow, quick] = await newDeliveries(tenant, 2);
    for (const delivery_id of [slow, quick]) {
      await tenant.ops.post("/delivery/assignments", { delivery_id, driver_id: driver.id });
      await sql`update delivery.deliveries set status = 'picked_up', picked_up_at = now() where id = ${delivery_id}`;
    }
    const total = async () =>
      Number(
        (await sql`select coalesce(sum(total_deliveries), 0) as n
        from delivery.driver_performance where driver_id = ${driver.id}`)[0].n,
      );
    const own = postgres(stack.dbUrl, { max: 1, onnotice: () => {} });
    const tx = await own.reserve();
    await tx`begin`;
    await tx`update delivery.deliveries set status = 'delivered', delivered_at = now() where id = ${slow}`;
    await sql`update delivery.deliveries set status = 'delivered', delivered_at = now() where id = ${quick}`;
    await refresh();
    expect(await total()).toBe(1);
    await tx`commit`;
    tx.release();
    await own.end();
    await refresh();
    expect(await total()).toBe(2);
  });

  test("at the same moment as others counts each delivery once", async () => {
    const driver = await newDriver(tenant);
    const ids = await newDeliveries(tenant, 12);
    await tenant.ops.post("/delivery/assignments/bulk", {
      delivery_ids: ids,
      driver_id: driver.id,
    });
    await Promise.all([
      ...ids.map(async (id) => {
        await sql`update delivery.deliveries set status = 'picked_up', picked_up_at = now() where id = ${id}`;
        await sql`update delivery.deliveries set status = 'delivered', delivered_at = now() where id = ${id}`;
      }),
      ...Array.from({ length: 6 }, () => refresh()),
      ...Array.from({ length: 3 }, () => tenant.ops.post(`${path}/rebuild`)),
    ]);
    await refresh();
    const [{ n }] = await sql`select sum(total_deliveries)::int as n
      from delivery.driver_performance where driver_id = ${driver.id}`;
    expect(n).toBe(12);
  });
});

describe("a rebuild that is asked for", () => {
  test("is accepted and done at once for a tenant that is not big", async () => {
    await sql`delete from delivery.performance_state where tenant_id = ${tenant.id}`;
    await sql`delete from delivery.driver_performance where tenant_id = ${tenant.id}`;
    await sql`delete from delivery.performance_deliveries where tenant_id = ${tenant.id}`;
    const answer = await tenant.ops.post(`${path}/rebuild`);
    expect(answer).toSucceed(202);
    expect(answer.body).toMatchObject({ status: "done", computed_at: expect.any(String) });
    expect((await figures()).length).toBeGreaterThan(0);
    expect(await tenant.ops.post(`${path}/rebuild`, { year: 2026, month: 3 })).toSucceed(202);
    expect(await tenant.ops.post(`${path}/rebuild`, { month: 3 }))
      .toFailWith(400, "month_and_year_together");
    expect(await tenant.ops.post(`${path}/rebuild`, { year: 2026, month: 0 }))
      .toFailWith(400, "validation_failed");
    await expectReplayed(tenant.ops, `${path}/rebuild`, {}, { year: 2026, month: 4 });
  });

  test("of a big tenant is left to the clock", async () => {
    const big = await newTenant();
    await sql`insert into app.tallies (tenant_id, tally, dims, entries)
      values (${big.id}, 'deliveries', '{delivered}', 100001)`;
    const answer = await big.ops.post(`${path}/rebuild`);
    expect(answer.body).toMatchObject({ status: "queued", computed_at: null });
    await sql`select delivery.performance_rebuilds()`;
    const [state] = await sql`select * from delivery.performance_state where tenant_id = ${big.id}`;
    expect(state).toMatchObject({ rebuild_asked_at: null, computed_at: expect.any(Date) });
    await sql`delete from app.tallies where tenant_id = ${big.id}`;
  });
});
