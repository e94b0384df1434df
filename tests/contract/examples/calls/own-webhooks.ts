/** Webhooks of a merchant, who makes each call about an own subscription and what was sent to it. */
import { sql } from "../../../support/db.ts";
import { newPerson } from "../../../support/people.ts";
import { moduleId, subscribeMerchant } from "../../../support/webhooks.ts";
import type { Call, Calls } from "../call.ts";

const url = "http://127.0.0.1:9/hook";

/** A merchant, by default with a subscription and an attempt of it that failed. */
const merchant = (has: "subscription" | "nothing" = "subscription"): Pick<Call, "before"> => ({
  before: async ({ tenant }) => {
    const caller = await newPerson(tenant.id, "institution", "institution");
    if (has === "nothing") return { caller, things: { module: await moduleId("delivery") } };
    const { id: own_subscription } = await subscribeMerchant(caller, url, ["delivery.*"]);
    const test = await caller.post(`/webhooks/own/subscriptions/${own_subscription}/test`);
    if (test.status !== 200) throw new Error(JSON.stringify(test.body));
    const [{ id: own_webhook_event }] = await sql`
      update integration.webhook_events set status = 'failed', next_attempt_at = null
      where subscription_id = ${own_subscription} returning id`;
    return { caller, things: { own_subscription, own_webhook_event } };
  },
});

const own = "/webhooks/own";

export const ownWebhooks: Calls = {
  [`GET ${own}/subscriptions`]: merchant(),
  [`POST ${own}/subscriptions`]: {
    ...merchant("nothing"),
    body: ({ module }) => ({ module_id: module, url, event_types: ["delivery.*"] }),
  },
  [`PUT ${own}/subscriptions/:subscription_id`]: {
    ...merchant(),
    body: () => ({ event_types: ["delivery.*", "merchant_statement.*"], is_active: true }),
  },
  [`DELETE ${own}/subscriptions/:subscription_id`]: merchant(),
  [`POST ${own}/subscriptions/:subscription_id/rotate-secret`]: merchant(),
  [`POST ${own}/subscriptions/:subscription_id/test`]: merchant(),
  [`POST ${own}/subscriptions/:subscription_id/recover`]: {
    ...merchant(),
    body: () => ({ since: new Date(Date.now() - 86_400_000).toISOString() }),
  },
  [`GET ${own}/event-types`]: merchant("nothing"),
  [`GET ${own}/events/:subscriptionId`]: merchant(),
  [`GET ${own}/events/:eventId/payload`]: merchant(),
  [`POST ${own}/events/:eventId/retry`]: merchant(),
  [`GET ${own}/events/:eventId/attempts`]: merchant(),
};
