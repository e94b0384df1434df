/** A company sees its merchants' subscriptions, and stops them without reading what is the merchants'. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Body, nobody } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newPerson, newTenant, type Tenant } from "../../support/people.ts";
import { type Receiver, startReceiver } from "../../support/receiver.ts";
import { deliveriesOf, moduleId, subscribe, subscribeMerchant } from "../../support/webhooks.ts";

const path = "/webhooks/merchant-subscriptions";
const own = "/webhooks/own/subscriptions";
let tenant: Tenant;
let other: Tenant;
let receiver: Receiver;
let merchant: Tenant["institution"];
let id: string;
beforeAll(async () => {
  [tenant, other, receiver] = await Promise.all([newTenant(), newTenant(), startReceiver()]);
});
afterAll(() => receiver.close());
beforeEach(async () => {
  merchant = await newPerson(tenant.id, "institution", "institution");
  ({ id } = await subscribeMerchant(merchant, receiver.url, ["delivery.*"]));
});

test("everybody who sees the company lists them, by merchant as well, with whose each is and no secret", async () => {
  await subscribe(other, receiver.url);
  const { body } = await tenant.staff.get(path, { query: { owner_id: merchant.id } });
  expect(body.data).toEqual([{
    id,
    owner: { id: merchant.id, full_name: expect.any(String) },
    url: receiver.url,
    event_types: ["delivery.*"],
    is_active: true,
    failing_since: null,
    disabled_at: null,
    disabled_reason: null,
    created_at: expect.any(String),
    updated_at: expect.any(String),
  }]);
  const all = (await tenant.admin.get(path)).body.data;
  expect(all[0].id).toBe(id);
  expect(all.every((one: Body) => one.owner.id)).toBe(true);
  expect((await other.admin.get(path)).body.data).toEqual([]);
  expect((await other.admin.get(path, { query: { owner_id: merchant.id } })).body.data).toEqual([]);
});

describe("stopped by the company", () => {
  const stop = (is_active = false) => tenant.admin.put(`${path}/${id}`, { is_active });

  test("nothing is sent, and the merchant, who is notified, neither starts nor replaces it", async () => {
    const answer = await stop();
    expect(answer.body.subscription).toMatchObject({
      id,
      is_active: false,
      disabled_reason: "stopped",
    });
    for (
      const refused of [
        await merchant.put(`${own}/${id}`, { is_active: true }),
        await merchant.delete(`${own}/${id}`),
      ]
    ) expect(refused).toFailWith(409, "webhook_subscription_stopped");
    expect(await merchant.put(`${own}/${id}`, { event_types: ["*"] })).toSucceed(200);
    expect(await merchant.post(`${own}/${id}/test`, {}))
      .toFailWith(409, "webhook_subscription_stopped");
    const [failed] =
      await sql`insert into integration.webhook_events (tenant_id, subscription_id, event_type, entity_key, body, status)
      values (${tenant.id}, ${id}, 'delivery.created', 'x', '{}', 'failed') returning id`;
    expect(await merchant.post(`/webhooks/own/events/${failed!.id}/retry`, {}))
      .toFailWith(409, "webhook_subscription_stopped");
    const valid = { module_id: await moduleId("delivery"), url: receiver.url, event_types: ["*"] };
    expect(await merchant.post(own, valid)).toFailWith(409, "webhook_subscription_exists");
    const notices = (await merchant.get("/tenants/me/notifications")).body.data;
    expect(notices).toMatchObject([
      { type: "webhook_disabled", payload: { subscription_id: id, reason: "stopped" } },
    ]);
    // A second call changes nothing and notifies nobody.
    expect(await stop()).toSucceed(200);
    expect((await merchant.get("/tenants/me/notifications")).body.data).toHaveLength(1);
  });

  test("at the moment in which the merchant starts it, it stays stopped, whichever of the two was first", async () => {
    await merchant.put(`${own}/${id}`, { is_active: false });
    const [stopped, started] = await Promise.all([
      stop(),
      merchant.put(`${own}/${id}`, { is_active: true }),
    ]);
    expect(stopped).toSucceed(200);
    expect([200, 409]).toContain(started.status);
    const [row] =
      await sql`select is_active, disabled_reason from integration.webhook_subscriptions where id = ${id}`;
    expect(row).toEqual({ is_active: false, disabled_reason: "stopped" });
    expect(await merchant.delete(`${own}/${id}`)).toFailWith(409, "webhook_subscription_stopped");
  });

  test("it continues when the company ends that; one that the merchant stopped is the merchant's to start", async () => {
    await stop();
    const on = await stop(true);
    expect(on.body.subscription).toMatchObject({ is_active: true, disabled_reason: null });
    await merchant.put(`${own}/${id}`, { is_active: false });
    expect((await stop(true)).body.subscription.is_active).toBe(false);
    expect(await merchant.put(`${own}/${id}`, { is_active: true })).toSucceed(200);
  });
});

test("removed by the company it is gone with its log, and the merchant may make another", async () => {
  await merchant.post(`${own}/${id}/test`, {});
  expect(await tenant.admin.delete(`${path}/${id}`)).toSucceed(200);
  expect(await deliveriesOf(id)).toEqual([]);
  await subscribeMerchant(merchant, receiver.url);
});

describe("the walls", () => {
  test("only those who manage the company stop and remove, and only its own merchants'", async () => {
    for (const by of [tenant.staff, tenant.institution, tenant.driver, merchant]) {
      expect(await by.put(`${path}/${id}`, { is_active: false })).toFailWith(403, "forbidden");
      expect(await by.delete(`${path}/${id}`)).toFailWith(403, "forbidden");
    }
    const { id: companys } = await subscribe(other, receiver.url, { module: "cod" });
    for (
      const [by, one] of [[other.admin, id], [other.admin, companys], [
        tenant.admin,
        randomUUID(),
      ]] as const
    ) {
      for (
        const answer of [
          await by.put(`${path}/${one}`, { is_active: false }),
          await by.delete(`${path}/${one}`),
        ]
      ) expect(answer).toFailWith(404, "webhook_subscription_not_found");
    }
    expect(await nobody.get(path)).toFailWith(401, "unauthorized");
    expect(await merchant.get(path)).toFailWith(403, "forbidden");
    const [row] =
      await sql`select is_active from integration.webhook_subscriptions where id = ${id}`;
    expect(row.is_active).toBe(true);
  });

  test("nothing but whether it is active can be changed", async () => {
    const answer = await tenant.admin.put(`${path}/${id}`, {
      is_active: true,
      url: "https://8.8.8.8/",
    });
    expect(answer).toSucceed(200);
    const [row] = await sql`select url from integration.webhook_subscriptions where id = ${id}`;
    expect(row.url).toBe(receiver.url);
  });
});
