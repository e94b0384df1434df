/** Requests for returns whose drafts were cancelled before that ended them: the upgrade ends them, and no other. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { OwnDatabase } from "../support/database.ts";
import { releasedDatabase, upgrade } from "../support/released-database.ts";

let old: OwnDatabase;
beforeAll(async () => {
  old = await releasedDatabase("1.2.0");
}, 300_000);
afterAll(() => old.close());

test("a cancelled draft is requested no more, one that waits is", async () => {
  const { sql } = old;
  const two = await sql`select tenant_id, id from delivery.deliveries order by id limit 2`;
  const [cancelled, waiting] = two;
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await tx`update delivery.deliveries set status = 'cancelled' where id = ${cancelled!.id}`;
    await tx`update delivery.deliveries set status = 'draft' where id = ${waiting!.id}`;
    for (const { tenant_id, id } of two) {
      await tx`insert into delivery.return_requests (tenant_id, delivery_id) values (${tenant_id}, ${id})`;
    }
  });
  await upgrade(old);
  const found = await sql`select q.delivery_id, q.status, q.decided_at = d.updated_at as dated
    from delivery.return_requests q join delivery.deliveries d on d.id = q.delivery_id
    where q.delivery_id in ${sql(two.map(({ id }) => id))} order by q.delivery_id`;
  expect(found.map((one) => ({ ...one }))).toEqual([
    { delivery_id: cancelled!.id, status: "cancelled", dated: true },
    { delivery_id: waiting!.id, status: "requested", dated: null },
  ]);
}, 300_000);
