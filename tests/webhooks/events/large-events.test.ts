/** The event of a bulk call names up to a thousand deliveries: sent and read whole, shortened in lists. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Body, nobody } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectNoSuch } from "../../support/promises.ts";
import { type Receiver, startReceiver, until } from "../../support/receiver.ts";
import { subscribe, wake } from "../../support/webhooks.ts";

const path = "/webhooks/events";
const ids = () => Array.from({ length: 1_000 }, () => randomUUID());
const data = {
  assignment_ids: ids(),
  delivery_ids: ids(),
  driver_id: randomUUID(),
  status: "pending",
};

let tenant: Tenant;
let other: Tenant;
let receiver: Receiver;
let subscription: string;
beforeAll(async () => {
  [tenant, other, receiver] = await Promise.all([newTenant(), newTenant(), startReceiver()]);
  subscription = (await subscribe(tenant, receiver.url)).id;
  await sql`insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
    values (${tenant.id}, 'bulk_assignment.created', 'delivery', 'bulk_assignment', ${randomUUID()}, ${
    sql.json(data)
  })`;
  await wake(nobody);
});
afterAll(() => receiver.close());

const listed = async (): Promise<Body[]> =>
  (await tenant.staff.get(`${path}/${subscription}`)).body.events;

test("its subscriber is sent all of it", async () => {
  await until(() => receiver.received.length === 1);
  expect(receiver.received[0].body.data).toEqual(data);
});

test("the log shows the first hundred of each list and says how many there are", async () => {
  await until(async () => (await listed()).length === 1);
  const [{ payload, shortened }] = await listed();
  expect(shortened).toEqual({ assignment_ids: 1_000, delivery_ids: 1_000 });
  expect(payload).toEqual({
    ...data,
    assignment_ids: data.assignment_ids.slice(0, 100),
    delivery_ids: data.delivery_ids.slice(0, 100),
  });
});

test("a hundred are shown whole", async () => {
  const exactly = data.delivery_ids.slice(0, 100);
  const [row] =
    await sql`select integration.event_data_shortened(d) as shown, integration.shortened(d) as shortened
    from (select ${
      sql.json({
        exactly,
        more: [...exactly, 1],
        none: [],
        text: "x",
        deep: { list: data.delivery_ids },
      })
    }::jsonb as d) d`;
  expect(row.shortened).toEqual({ more: 101 });
  expect(row.shown).toEqual({
    exactly,
    more: exactly,
    none: [],
    text: "x",
    deep: { list: data.delivery_ids },
  });
});

test("its payload is read whole by who sees the company, and by nobody else but a merchant, who finds their own alone", async () => {
  await until(async () => (await listed()).length === 1);
  const [row] = await listed();
  const { shortened: _, ...whole } = row;
  for (const who of [tenant.staff, tenant.admin]) {
    const answer = await who.get(`${path}/${row.id}/payload`);
    expect(answer).toSucceed(200);
    // Its outcome may have been stored since it was listed.
    const { status: __, http_status_code: ___, ...rest } = answer.body.event;
    const { status: ____, http_status_code: _____, ...same } = { ...whole, payload: data } as Body;
    expect(rest).toEqual(same);
  }
  expect(await tenant.institution.get(`${path}/${row.id}/payload`)).toFailWith(
    404,
    "webhook_event_not_found",
  );
  await expectGuarded({ method: "GET", path: `${path}/${row.id}/payload` }, {
    denied: [tenant.driver, tenant.customer],
  });
  expect(await other.admin.get(`${path}/${row.id}/payload`))
    .toFailWith(404, "webhook_event_not_found");
  await expectNoSuch(
    other.admin,
    { method: "GET", path: `${path}/{id}/payload` },
    "eventId",
    "webhook_event_not_found",
    row.id,
  );
});
