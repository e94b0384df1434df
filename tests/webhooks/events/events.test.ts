/** The log of deliveries, and sending a failed one once more by hand. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newSystemAdmin, newTenant, type Tenant } from "../../support/people.ts";
import { type Receiver, startReceiver, until } from "../../support/receiver.ts";
import { deliveriesOf, publish, subscribe } from "../../support/webhooks.ts";

let tenant: Tenant;
let other: Tenant;
let receiver: Receiver;
let subscription: string;
beforeAll(async () => {
  [tenant, other, receiver] = await Promise.all([newTenant(), newTenant(), startReceiver()]);
  subscription = (await subscribe(tenant, receiver.url)).id;
});
afterAll(() => receiver.close());

/** A failed delivery, as eight failures would leave it. */
async function failedEvent(): Promise<string> {
  receiver.answer((response) => response.writeHead(500).end());
  const before = receiver.received.length;
  await publish(nobody, tenant, { event_data: { n: 42 } });
  await until(() => receiver.received.length > before);
  const id = receiver.received.at(-1)!.headers["webhook-id"];
  await until(async () =>
    (await sql`select from integration.webhook_events where id = ${id} and status = 'retrying' and claim_token is null`)
      .length === 1
  );
  await sql`update integration.webhook_events set status = 'failed', next_attempt_at = null where id = ${id}`;
  receiver.answer((response) => response.end());
  return id;
}
const retry = (id: string, who = tenant.admin, headers: Record<string, string> = {}) =>
  who.post(`/webhooks/events/${id}/retry`, undefined, { headers });

describe("the log", () => {
  test("is complete, newest first, in pages, without the time of the next attempt", async () => {
    const own = await newTenant();
    const { id } = await subscribe(own, receiver.url);
    await sql`insert into integration.webhook_events (tenant_id, subscription_id, event_type, entity_key, body, status, next_attempt_at, created_at)
      select ${own.id}, ${id}, 'delivery.moved', n::text, '{"id":"x","data":{"n":' || n || '}}',
        case when n % 3 = 0 then 'failed' else 'success' end, null, now() - n * interval '1 minute' from generate_series(1, 60) n`;
    const { body } = await own.staff.get(`/webhooks/events/${id}`);
    expect(body).toMatchObject({ success: true, page: 1, limit: 25, total: 60 });
    expect(body.events).toHaveLength(25);
    expect(body.events[0]).toEqual({
      id: expect.any(String),
      subscription_id: id,
      tenant_id: own.id,
      event_type: "delivery.moved",
      payload: { n: 1 },
      shortened: {},
      status: "success",
      http_status_code: null,
      error_message: null,
      retry_count: 0,
      created_at: expect.any(String),
    });
    const numbers = body.events.map((event: { payload: { n: number } }) => event.payload.n);
    expect(numbers).toEqual(Array.from({ length: 25 }, (_, i) => i + 1));
    const failed = await own.admin.get(`/webhooks/events/${id}`, {
      query: { status: "failed", page: 2, limit: 15 },
    });
    expect(failed.body).toMatchObject({ page: 2, limit: 15, total: 20 });
    expect(failed.body.events).toHaveLength(5);
    // Another tenant asks for it: nothing, and not even that it exists.
    expect((await other.admin.get(`/webhooks/events/${id}`)).body).toMatchObject({
      events: [],
      total: 0,
    });
  });

  test.each([
    ["page", "0"],
    ["page", "x"],
    ["page", "-1"],
    ["limit", "0"],
    ["limit", "101"],
    ["limit", "1.5"],
    ["status", "sent"],
  ])("%s=%s is refused", async (field, value) => {
    const answer = await tenant.admin.get(`/webhooks/events/${subscription}`, {
      query: { [field]: value },
    });
    expect(answer).toFailWith(400, "validation_failed");
    expect(answer.body.field).toBe(field);
  });

  test("needs a valid id, a tenant and the right to see it", async () => {
    expect(await tenant.admin.get("/webhooks/events/module")).toFailWith(400, "invalid_uuid");
    const system = await newSystemAdmin();
    expect(await system.get(`/webhooks/events/${subscription}`)).toFailWith(
      400,
      "tenant_id_required",
    );
    expect(
      await system.get(`/webhooks/events/${subscription}`, { query: { tenant_id: tenant.id } }),
    ).toSucceed(200);
    for (const who of [tenant.driver, tenant.customer]) {
      expect(await who.get(`/webhooks/events/${subscription}`)).toFailWith(403, "forbidden");
    }
    expect(await nobody.get(`/webhooks/events/${subscription}`)).toFailWith(401, "unauthorized");
  });
});

describe("a retry by hand", () => {
  test("sends under the same id and says what came of it; a success counts no failure", async () => {
    const id = await failedEvent();
    const answer = await retry(id);
    expect(answer).toSucceed(200);
    expect(answer.body).toEqual({
      success: true,
      message: expect.any(String),
      event_id: id,
      status: "success",
      retry_count: 1,
    });
    const [first, second] = receiver.received.filter(({ headers }) =>
      headers["x-webhook-id"] === id
    );
    expect(second.raw).toBe(first.raw);
    const attempts = (await tenant.admin.get(`/webhooks/events/${id}/attempts`)).body.data;
    expect(attempts.map((one: { is_manual: boolean }) => one.is_manual)).toEqual([true, false]);
    // The last failure stays readable beside the success.
    const [row] =
      await sql`select status, error_message from integration.webhook_events where id = ${id}`;
    expect(row.status).toBe("success");
    expect(row.error_message).toMatch(/^HTTP \d{3}$/);
  });

  test("that the subscriber refuses is a 200 with failed, one failure more, and no schedule", async () => {
    const id = await failedEvent();
    receiver.answer((response) => response.writeHead(422).end("no"));
    const answer = await retry(id);
    expect(answer).toSucceed(200);
    expect(answer.body).toMatchObject({ status: "failed", retry_count: 2 });
    const [row] = await sql`select * from integration.webhook_events where id = ${id}`;
    expect(row).toMatchObject({ next_attempt_at: null, claim_token: null, http_status_code: 422 });
  });

  test("of 25 at the same moment sends once; the others hear 409", async () => {
    const id = await failedEvent();
    receiver.answer((response) => setTimeout(() => response.end(), 300));
    const before = receiver.received.length;
    const answers = await Promise.all(Array.from({ length: 25 }, () => retry(id)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      expect(answer).toFailWith(409, "webhook_event_not_failed");
    }
    expect(receiver.received.length - before).toBe(1);
    const attempts =
      await sql`select from integration.webhook_attempts where event_id = ${id} and is_manual`;
    expect(attempts).toHaveLength(1);
  });

  test("of one that is not failed is refused; a claim older than five minutes is taken over", async () => {
    const id = await failedEvent();
    const state = (status: string, claimed: string | null) =>
      sql`update integration.webhook_events set status = ${status}, claimed_at = now() - ${claimed}::interval,
        claim_token = case when ${claimed}::text is not null then gen_random_uuid() end where id = ${id}`;
    for (const status of ["pending", "success", "retrying"]) {
      await state(status, null);
      expect(await retry(id)).toFailWith(409, "webhook_event_not_failed");
    }
    await state("retrying", "4 minutes");
    expect(await retry(id)).toFailWith(409, "webhook_event_not_failed");
    await state("retrying", "6 minutes");
    expect((await retry(id)).body).toMatchObject({ status: "success" });
  });

  test("that nobody could sign answers 502 and leaves it failed", async () => {
    const id = await failedEvent();
    const [{ secret }] =
      await sql`select secret from integration.webhook_subscriptions where id = ${subscription}`;
    await sql`update integration.webhook_subscriptions set secret = 's1.gone.AAAA' where id = ${subscription}`;
    const before = receiver.received.length;
    const answer = await retry(id);
    await sql`update integration.webhook_subscriptions set secret = ${secret} where id = ${subscription}`;
    expect(answer).toFailWith(502, "webhook_sender_failed");
    expect(receiver.received.length).toBe(before);
    const [row] =
      await sql`select status, claim_token from integration.webhook_events where id = ${id}`;
    expect(row).toEqual({ status: "failed", claim_token: null });
    expect((await retry(id)).body.status).toBe("success");
  });

  test("with a key is made once and answered twice", async () => {
    const id = await failedEvent();
    receiver.answer((response) => response.writeHead(500).end());
    const headers = { "idempotency-key": randomUUID() };
    const before = receiver.received.length;
    const first = await retry(id, tenant.admin, headers);
    const second = await retry(id, tenant.admin, headers);
    expect(second.body).toEqual(first.body);
    expect(second.headers.get("idempotency-replayed")).toBe("true");
    expect(receiver.received.length - before).toBe(1);
  });

  test("needs an administrator of the tenant it belongs to", async () => {
    const id = await failedEvent();
    for (const who of [tenant.ops, tenant.staff, tenant.driver]) {
      expect(await retry(id, who)).toFailWith(403, "forbidden");
    }
    expect(await retry(id, nobody)).toFailWith(401, "unauthorized");
    expect(await retry(id, other.admin)).toFailWith(404, "webhook_event_not_found");
    expect(await retry(randomUUID())).toFailWith(404, "webhook_event_not_found");
    expect(await retry("x")).toFailWith(400, "invalid_uuid");
    const system = await newSystemAdmin();
    expect(await retry(id, system)).toFailWith(400, "tenant_id_required");
    expect(await other.admin.get(`/webhooks/events/${id}/attempts`)).toFailWith(
      404,
      "webhook_event_not_found",
    );
    const [row] = (await deliveriesOf(subscription)).filter((one) => one.id === id);
    expect(row.status).toBe("failed");
  });

  test("whose process died ends as failed by the clock", async () => {
    const id = await failedEvent();
    await sql`update integration.webhook_events set status = 'retrying', claim_token = gen_random_uuid(),
      claimed_at = now() - interval '6 minutes' where id = ${id}`;
    await sql`select integration.webhooks_release()`;
    const [row] =
      await sql`select status, claim_token from integration.webhook_events where id = ${id}`;
    expect(row).toEqual({ status: "failed", claim_token: null });
  });
});
