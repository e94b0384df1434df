/** A subscription with a long log is gone at once for everybody, and is deleted with its log by the clock. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { nobody, type Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newPerson, newTenant, type Tenant } from "../../support/people.ts";
import { type Receiver, startReceiver, until } from "../../support/receiver.ts";
import {
  deliveriesOf,
  moduleId,
  publish,
  statusesOf,
  subscribe,
  subscribeMerchant,
  wake,
} from "../../support/webhooks.ts";

const path = "/webhooks/subscriptions";
const own = "/webhooks/own/subscriptions";
const long = 5001;
const since = "2026-01-01T00:00:00Z";
let tenant: Tenant;
let other: Tenant;
let receiver: Receiver;
beforeAll(async () => {
  [tenant, other, receiver] = await Promise.all([newTenant(), newTenant(), startReceiver()]);
});
afterAll(() => receiver.close());

/** As many deliveries, of which the first failed and the others wait; the one that failed. */
async function logged(of: { id: string }, subscription: string, count = long): Promise<string> {
  const [failed] = await sql`insert into integration.webhook_events
      (tenant_id, subscription_id, event_type, entity_key, body, status, next_attempt_at)
    select ${of.id}, ${subscription}, 'delivery.created', 'x/' || n, '{}',
      case when n = 1 then 'failed' else 'pending' end, case when n > 1 then now() + interval '1 hour' end
    from generate_series(1, ${count}) n returning id`;
  return failed.id;
}
const countOf = async (id: string) =>
  (await sql`select count(*)::int as n from integration.webhook_events where subscription_id = ${id}`)[
    0
  ].n;
const isThere = async (id: string) =>
  (await sql`select from integration.webhook_subscriptions where id = ${id}`).length === 1;
/** As the clock does, until nothing is left of it. */
async function purged(id: string): Promise<void> {
  for (let run = 0; run < 20 && await isThere(id); run++) {
    await sql`select integration.subscriptions_purge(3000)`;
  }
  expect([await isThere(id), await countOf(id)]).toEqual([false, 0]);
}

/** All that one may ask of a subscription and of a delivery of it. */
async function expectGone(by: Person, id: string, failed: string, at = "/webhooks") {
  const subscriptions = `${at}/subscriptions`;
  const { body } = await by.get(subscriptions);
  expect(JSON.stringify(body)).not.toContain(id);
  const log = await by.get(`${at}/events/${id}`);
  expect(log.body).toMatchObject({ events: [], total: 0 });
  for (
    const answer of [
      await by.put(`${subscriptions}/${id}`, { is_active: true }),
      await by.post(`${subscriptions}/${id}/rotate-secret`),
      await by.post(`${subscriptions}/${id}/test`, {}),
      await by.post(`${subscriptions}/${id}/recover`, { since }),
      await by.delete(`${subscriptions}/${id}`),
    ]
  ) expect(answer).toFailWith(404, "webhook_subscription_not_found");
  for (
    const answer of [
      await by.get(`${at}/events/${failed}/payload`),
      await by.get(`${at}/events/${failed}/attempts`),
      await by.post(`${at}/events/${failed}/retry`),
    ]
  ) expect(answer).toFailWith(404, "webhook_event_not_found");
}

describe("a company's", () => {
  test("is gone with its log, its place is free, nothing is sent by it, and the clock deletes it", async () => {
    const { id } = await subscribe(tenant, receiver.url);
    const failed = await logged(tenant, id);
    const { id: theirs } = await subscribe(other, receiver.url);
    await logged(other, theirs);
    const removed = await tenant.admin.delete(`${path}/${id}`);
    expect(removed.body).toMatchObject({ success: true, id });
    await expectGone(tenant.admin, id, failed);

    const { id: next } = await subscribe(tenant, receiver.url);
    await sql`update integration.webhook_events set next_attempt_at = now()
      where subscription_id = ${id} and next_attempt_at is not null`;
    const event = await publish(nobody, tenant);
    await wake(nobody);
    await until(async () => (await statusesOf(next)).includes("success"));
    expect(await deliveriesOf(next)).toMatchObject([{ system_event_id: event }]);
    expect((await tenant.admin.get(`/webhooks/events/${next}`)).body.total).toBe(1);
    const left = await sql`select status, count(*)::int as n from integration.webhook_events
      where subscription_id = ${id} group by status order by status`;
    expect(left.map((row) => ({ ...row }))).toEqual([
      { status: "failed", n: 1 },
      { status: "pending", n: long - 1 },
    ]);

    await purged(id);
    expect((await tenant.admin.get(`/webhooks/events/${next}`)).body.total).toBe(1);
    expect([await isThere(next), await isThere(theirs), await countOf(theirs)]).toEqual([
      true,
      true,
      long,
    ]);
    expect((await other.admin.get(`/webhooks/events/${theirs}`)).body.total).toBe(long);
  });

  test("another company's is not removed, however long its log is", async () => {
    const { id } = await subscribe(tenant, receiver.url, { module: "cod" });
    await logged(tenant, id);
    expect(await other.admin.delete(`${path}/${id}`))
      .toFailWith(404, "webhook_subscription_not_found");
    expect(await tenant.ops.delete(`${path}/${id}`)).toFailWith(403, "forbidden");
    expect(await nobody.delete(`${path}/${id}`)).toFailWith(401, "unauthorized");
    expect(await isThere(id)).toBe(true);
    expect((await tenant.admin.get(`/webhooks/events/${id}`)).body.total).toBe(long);
  });

  test("of two who remove it at once one does, and what is in the sender's hands changes nothing", async () => {
    const { id } = await subscribe(tenant, receiver.url, { module: "warehousing" });
    await logged(tenant, id);
    const claim_token = randomUUID();
    const [{ id: sending }] = await sql`update integration.webhook_events
      set claim_token = ${claim_token}, claimed_at = now(), next_attempt_at = now()
      where id = (select id from integration.webhook_events
        where subscription_id = ${id} and status = 'pending' limit 1) returning id`;
    const answers = await Promise.all([1, 2].map(() => tenant.admin.delete(`${path}/${id}`)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404]);
    const result = { id: sending, claim_token, ok: false, http_status_code: 410, latency_ms: 1 };
    await sql`select integration.webhooks_finish(${sql.json([result])})`;
    const [row] = await sql`select is_active, disabled_at, removed_at is not null as is_removed
      from integration.webhook_subscriptions where id = ${id}`;
    expect(row).toEqual({ is_active: false, disabled_at: null, is_removed: true });
    await purged(id);
  });
});

describe("a merchant's", () => {
  let merchant: Person;
  let id: string;
  let failed: string;
  beforeAll(async () => {
    merchant = await newPerson(tenant.id, "institution", "institution");
    id = (await subscribeMerchant(merchant, receiver.url)).id;
    failed = await logged(tenant, id);
  });

  test("stopped by the company it is not the merchant's to remove; the company removes it, and the merchant makes another", async () => {
    const at = `/webhooks/merchant-subscriptions/${id}`;
    expect(await tenant.admin.put(at, { is_active: false })).toSucceed(200);
    expect(await merchant.delete(`${own}/${id}`)).toFailWith(409, "webhook_subscription_stopped");
    expect(await tenant.admin.delete(at)).toSucceed(200);
    await expectGone(merchant, id, failed, "/webhooks/own");
    expect(await tenant.admin.delete(at)).toFailWith(404, "webhook_subscription_not_found");
    expect(await tenant.admin.put(at, { is_active: true }))
      .toFailWith(404, "webhook_subscription_not_found");
    const { body } = await tenant.admin.get("/webhooks/merchant-subscriptions");
    expect(JSON.stringify(body)).not.toContain(id);
    await subscribeMerchant(merchant, receiver.url);
  });

  test("removed by the merchant, who leaves then: nothing of it is left behind", async () => {
    const [{ id: second }] = await sql`select id from integration.webhook_subscriptions
      where owner_user_id = ${merchant.id} and removed_at is null`;
    await logged(tenant, second);
    expect(await merchant.delete(`${own}/${second}`)).toSucceed(200);
    const valid = { module_id: await moduleId("delivery"), url: receiver.url, event_types: ["*"] };
    expect(await merchant.post(own, valid)).toSucceed(201);
    await sql`delete from tenancy.tenant_users where tenant_id = ${tenant.id} and user_id = ${merchant.id}`;
    expect(
      await sql`select from integration.webhook_subscriptions where owner_user_id = ${merchant.id}`,
    )
      .toHaveLength(0);
    expect(await countOf(second)).toBe(0);
  });
});
