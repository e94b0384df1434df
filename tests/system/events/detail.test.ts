/** An event read by itself, with all of its data; the list shows the first hundred of each of its lists. */
import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { nobody, type Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newSystemAdmin, newTenant, type Tenant } from "../../support/people.ts";
import { systemKey } from "../../support/webhooks.ts";

const path = "/system/events";
const data = { delivery_ids: Array.from({ length: 1_000 }, () => randomUUID()), status: "pending" };

let system: Person;
let tenant: Tenant;
let id: string;
beforeAll(async () => {
  [system, tenant] = await Promise.all([newSystemAdmin(), newTenant()]);
  [{ id }] = await sql`insert into integration.system_events
    (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
    values (${tenant.id}, 'assignment.created', 'delivery', 'assignment', ${randomUUID()}, ${
    sql.json(data)
  }) returning id`;
});

test("it has all of its data, the list the first hundred and their number", async () => {
  const { body } = await system.get(path, { query: { tenant_id: tenant.id } });
  expect(body.events).toHaveLength(1);
  const [{ shortened, ...row }] = body.events;
  expect(shortened).toEqual({ delivery_ids: 1_000 });
  expect(row.event_data).toEqual({ ...data, delivery_ids: data.delivery_ids.slice(0, 100) });
  const one = await system.get(`${path}/${id}`);
  expect(one).toSucceed(200);
  expect(one.body.event).toEqual({ ...row, event_data: data });
  const marked = await system.put(`${path}/${id}`, { status: "pending" });
  expect(marked.body.event.event_data).toEqual(data);
});

test("it is read by the system's administrators, of every company", async () => {
  for (const who of [tenant.admin, tenant.ops, tenant.staff, tenant.driver, tenant.customer]) {
    expect(await who.get(`${path}/${id}`)).toFailWith(403, "forbidden");
  }
  expect(await nobody.get(`${path}/${id}`)).toFailWith(401, "unauthorized");
  expect(await nobody.get(`${path}/${id}`, systemKey)).toFailWith(403, "forbidden");
  expect(await system.get(`${path}/${randomUUID()}`)).toFailWith(404, "event_not_found");
  const wrong = await system.get(`${path}/x`);
  expect(wrong).toFailWith(400, "invalid_uuid");
  expect(wrong.body.field).toBe("event_id");
});
