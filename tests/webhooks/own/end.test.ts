/** When nothing is sent to a merchant any more: they left, were shut out, or their address or the company ended it. */
import type postgres from "postgres";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Body, nobody } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { type Ground, newDelivery, newGround } from "../../support/deliveries.ts";
import { whileOpen } from "../../support/overlapping.ts";
import { newPerson, newTenant, type Tenant } from "../../support/people.ts";
import { type Receiver, startReceiver, until, verified } from "../../support/receiver.ts";
import {
  deliveriesOf,
  publish,
  statusesOf,
  subscribe,
  subscribeMerchant,
  wake,
} from "../../support/webhooks.ts";

const path = "/webhooks/own/subscriptions";
let tenant: Tenant;
let ground: Ground;
let receiver: Receiver;
beforeEach(async () => {
  [tenant, receiver] = await Promise.all([newTenant(), startReceiver()]);
  ground = await newGround(tenant);
});
afterEach(() => receiver.close());

const parcelOf = (merchant: { id: string }) =>
  newDelivery(ground, { customer_id: undefined, institution_user_id: merchant.id });
const shutOut = (is_active: boolean) =>
  tenant.admin.put(`/tenants/${tenant.id}/users/${tenant.institution.id}`, { is_active });
const noticesOf = async (person: Tenant["admin"]) =>
  (await person.get("/tenants/me/notifications")).body.data.filter(
    ({ type }: Body) => type === "webhook_disabled",
  );

describe("a merchant who is shut out", () => {
  test("is sent nothing from then on, and hears again from when they are let in", async () => {
    const { id: parcel } = await parcelOf(tenant.institution);
    const { id } = await subscribeMerchant(tenant.institution, receiver.url, [
      "delivery.failed",
      "delivery.returned",
    ]);
    const all = await subscribe(tenant, receiver.url);
    expect(await shutOut(false)).toSucceed(200);
    await publish(nobody, tenant, { entity_id: parcel, event_type: "delivery.failed" });
    await until(async () =>
      (await deliveriesOf(all.id)).some(({ event_type }) => event_type === "delivery.failed")
    );
    expect(await deliveriesOf(id)).toEqual([]);
    expect(await shutOut(true)).toSucceed(200);
    await publish(nobody, tenant, { entity_id: parcel, event_type: "delivery.returned" });
    await until(async () => (await statusesOf(id))[0] === "success");
    expect((await deliveriesOf(id)).map(({ event_type }) => event_type)).toEqual([
      "delivery.returned",
    ]);
  });

  test("is sent what waited for them when they are back, and not before", async () => {
    const { id, secret } = await subscribeMerchant(tenant.institution, receiver.url);
    receiver.answer((response) => response.writeHead(500).end());
    await parcelOf(tenant.institution);
    await until(async () => (await statusesOf(id))[0] === "retrying");
    await shutOut(false);
    receiver.answer((response) => response.end());
    await sql`update integration.webhook_events set next_attempt_at = now() where subscription_id = ${id}`;
    await whileOpen(async (session) => expect(await claimed(session)).not.toContain(id));
    const sent = receiver.received.length;
    await wake(nobody);
    expect(await statusesOf(id)).toEqual(["retrying"]);
    expect(receiver.received).toHaveLength(sent);
    await shutOut(true);
    await wake(nobody);
    await until(async () => (await statusesOf(id))[0] === "success");
    verified(secret, receiver.received.at(-1)!);
  });

  test.each([
    [
      "who left",
      (id: string) =>
        sql`update tenancy.tenant_users set is_active = false, left_at = now() where user_id = ${id}`,
    ],
    [
      "whose role was taken",
      (id: string) => sql`delete from tenancy.tenant_user_roles where user_id = ${id}`,
    ],
    [
      "whose account Auth has ended",
      (id: string) =>
        sql`update auth.users set banned_until = now() + interval '1 year' where id = ${id}`,
    ],
  ])("or %s hears nothing", async (_, end) => {
    const { id } = await subscribeMerchant(tenant.institution, receiver.url);
    const { id: parcel } = await parcelOf(tenant.institution);
    await until(async () => (await statusesOf(id))[0] === "success");
    const all = await subscribe(tenant, receiver.url);
    await end(tenant.institution.id);
    await publish(nobody, tenant, { entity_id: parcel, event_type: "delivery.failed" });
    await until(async () => (await deliveriesOf(all.id)).length > 0);
    expect(await deliveriesOf(id)).toHaveLength(1);
  });
});

describe("an address that ends", () => {
  test("ends the subscription; the merchant is notified, the company by an event, its administrators not", async () => {
    receiver.answer((response) => response.writeHead(410).end());
    const { id } = await subscribeMerchant(tenant.institution, receiver.url);
    await parcelOf(tenant.institution);
    await until(async () => (await statusesOf(id))[0] === "failed");
    const [one] = (await tenant.institution.get(path)).body.subscriptions;
    expect(one).toMatchObject({ id, is_active: false, disabled_reason: "gone" });
    expect(await noticesOf(tenant.institution)).toMatchObject([
      { payload: { subscription_id: id, url: receiver.url, reason: "gone" } },
    ]);
    expect(await noticesOf(tenant.admin)).toEqual([]);
    const events = await sql`select event_data from integration.system_events
      where tenant_id = ${tenant.id} and event_type = 'webhook_subscription.disabled'`;
    expect(events).toMatchObject([{ event_data: { subscription_id: id, reason: "gone" } }]);
    receiver.answer((response) => response.end());
    const again = await tenant.institution.put(`${path}/${id}`, { is_active: true });
    expect(again.body.subscription).toMatchObject({ is_active: true, disabled_reason: null });
    await parcelOf(tenant.institution);
    await until(async () => (await statusesOf(id)).includes("success"));
  });

  test("keeps neither the company nor another merchant waiting, however many there are", async () => {
    const broken = await startReceiver();
    broken.answer(() => {});
    const merchants = await Promise.all(
      Array.from({ length: 25 }, () => newPerson(tenant.id, "institution", "institution")),
    );
    for (const one of merchants) await subscribeMerchant(one, broken.url);
    // They have failed before: each of them would hold a connection until its time is over.
    await sql`update integration.webhook_subscriptions set failing_since = now() where tenant_id = ${tenant.id}`;
    const [well, all] = [
      await subscribeMerchant(tenant.institution, receiver.url),
      await subscribe(tenant, receiver.url),
    ];
    for (const one of merchants) await parcelOf(one);
    await until(() => broken.received.length > 0);
    await parcelOf(tenant.institution);
    await until(async () => (await statusesOf(well.id))[0] === "success");
    await until(async () => (await statusesOf(all.id)).every((status) => status === "success"));
    await broken.close();
  });

  test("is among at most ten that a run of the sender has in hand, half of its connections", async () => {
    const merchants = await Promise.all(
      Array.from({ length: 25 }, () => newPerson(tenant.id, "institution", "institution")),
    );
    const ids: string[] = [];
    for (const one of merchants) ids.push((await subscribeMerchant(one, receiver.url)).id);
    for (const one of merchants) await parcelOf(one);
    for (const id of ids) await until(async () => (await statusesOf(id))[0] === "success");
    await whileOpen(async (session) => {
      await session`update integration.webhook_subscriptions set failing_since = now() where id = any (${ids})`;
      // The longest due of all, so that those of others do not come before them.
      await session`update integration.webhook_events set status = 'retrying', next_attempt_at = now() - interval '1 year'
        where subscription_id = any (${ids})`;
      const first = await claimed(session);
      expect(first.filter((id) => ids.includes(id))).toHaveLength(10);
      expect((await claimed(session, first)).filter((id) => ids.includes(id))).toEqual([]);
      const rest = (await claimed(session, first.slice(0, 6))).filter((id) => ids.includes(id));
      expect(rest).toHaveLength(4);
      expect(rest.filter((id) => first.includes(id))).toEqual([]);
    });
  });
});

/** The subscriptions of what a run of the sender is given that has some in hand already. */
async function claimed(session: postgres.ReservedSql, inHand: string[] = []): Promise<string[]> {
  const [{ events }] =
    await session`select integration.webhooks_claim(100, ${inHand}::uuid[]) as events`;
  return events.map(({ subscription_id }: Body) => subscription_id);
}
