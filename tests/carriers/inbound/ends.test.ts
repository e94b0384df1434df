/** Carriers' reports end after 400 days, and not before; one that is sent once more then moves nothing. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { enable, newBooked, report, statusOf } from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import { newTenant } from "../../support/people.ts";

test("a report of a parcel that was delivered goes after 400 days, and repeated it changes nothing", async () => {
  const tenant = await newTenant();
  const { secret } = await enable(tenant);
  const delivery = await newBooked(tenant);
  const raw = JSON.stringify({
    event_id: randomUUID(),
    tracking_number: delivery.tracking_number,
    status: "delivered",
  });
  expect((await report(tenant, secret, {}, { raw })).body).toMatchObject({ outcome: "applied" });
  const here = () =>
    sql`select outcome from integration.carrier_events where delivery_id = ${delivery.id}`;
  const removed = () =>
    sql`delete from integration.carrier_events where delivery_id = ${delivery.id}`;
  const aged = (days: number) =>
    sql.begin(async (tx) => {
      await tx`set local session_replication_role = replica`;
      await tx`update integration.carrier_events set created_at = now() - ${days} * interval '1 day'
        where delivery_id = ${delivery.id}`;
    });
  await aged(399);
  await sql`select integration.carrier_events_purge()`;
  await expect(removed()).rejects.toThrow("never changed or removed");
  expect(await here()).toHaveLength(1);
  await aged(401);
  await expect(
    sql`update integration.carrier_events set outcome = 'unchanged' where delivery_id = ${delivery.id}`,
  ).rejects.toThrow("never changed or removed");
  await sql`select integration.carrier_events_purge()`;
  expect(await here()).toEqual([]);

  const history = () =>
    sql`select * from delivery.delivery_status_history where delivery_id = ${delivery.id} order by id`;
  const before = await history();
  expect((await report(tenant, secret, {}, { raw })).body)
    .toMatchObject({ outcome: "unchanged", duplicate: false });
  expect(await statusOf(delivery)).toBe("delivered");
  expect(await history()).toEqual(before);
});
