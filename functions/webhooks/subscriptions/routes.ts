import { z } from "zod";
import type { Keeper } from "../access.ts";
import { AddressRefused, AddressUnknown, vet } from "../../../shared/outbound/address-guard.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { AppError } from "../../../shared/errors/errors.ts";
import { Id, ids } from "../../../shared/schemas/schemas.ts";
import { secretPurpose } from "../../../shared/outbound/purposes.ts";
import { newWebhookSecret, seal, unseal } from "../../../shared/outbound/secrets.ts";
import { AttemptResponse } from "../events/schemas.ts";
import { attemptByHand } from "../sender/by-hand.ts";
import {
  CreateSubscription,
  Recover,
  Recovered,
  SecretRotated,
  SubscriptionCreated,
  SubscriptionResponse,
  SubscriptionsResponse,
  UpdateSubscription,
} from "./schemas.ts";

interface WithSecret {
  subscription: { id: string };
  secret: string;
  [more: string]: unknown;
}

/** Subscribers to events: the company's, or a merchant's own. The core finds by the caller whose they are. */
export const subscriptionsOf = ({ is, at, reads, writes, stopped }: Keeper): AnyEndpoint[] => [
  endpoint({
    method: "get",
    path: `${at}/subscriptions`,
    summary: "List the subscription of each module; its id is null where none is saved",
    access: reads,
    response: SubscriptionsResponse,
    run: ({ db }) => db.call("integration.subscriptions_get"),
  }),
  endpoint({
    method: "post",
    path: `${at}/subscriptions`,
    summary: "Subscribe an address to events of a module; the secret is shown once",
    access: writes,
    body: CreateSubscription,
    response: SubscriptionCreated[is],
    confidential: true,
    status: 201,
    errors: [
      "webhook_url_refused",
      "webhook_url_unresolved",
      "invalid_reference",
      "webhook_subscription_exists",
    ],
    async run({ db, body }) {
      // A caller who may not save a subscription must not cause name look-ups.
      await db.check();
      await requirePublic(body.url);
      const id = crypto.randomUUID();
      const made = { id, secret: await seal(newWebhookSecret(), secretPurpose(id)) };
      return await opened(await db.call("integration.subscription_create", { ...body, made }));
    },
  }),
  endpoint({
    method: "put",
    path: `${at}/subscriptions/:subscription_id`,
    summary: "Change a subscription, or stop and start it",
    access: writes,
    params: ids("subscription_id"),
    body: UpdateSubscription,
    response: SubscriptionResponse[is],
    errors: [
      "webhook_subscription_not_found",
      ...stopped,
      "webhook_url_refused",
      "webhook_url_unresolved",
    ],
    async run({ db, params, body }) {
      if (body.url !== undefined) {
        await db.check();
        await requirePublic(body.url);
      }
      return await db.call("integration.subscription_update", {
        ...body,
        id: params.subscription_id,
      });
    },
  }),
  endpoint({
    method: "delete",
    path: `${at}/subscriptions/:subscription_id`,
    summary: "Remove a subscription with its log",
    access: writes,
    params: ids("subscription_id"),
    response: z.object({ id: Id }),
    errors: ["webhook_subscription_not_found", ...stopped],
    run: ({ db, params }) =>
      db.call("integration.subscription_delete", { id: params.subscription_id }),
  }),
  endpoint({
    method: "post",
    path: `${at}/subscriptions/:subscription_id/rotate-secret`,
    summary: "Make another secret; the old one signs as well for 24 hours",
    access: writes,
    params: ids("subscription_id"),
    response: SecretRotated,
    confidential: true,
    errors: ["webhook_subscription_not_found"],
    async run({ db, params: { subscription_id: id } }) {
      const made = { secret: await seal(newWebhookSecret(), secretPurpose(id)) };
      return await opened(await db.call("integration.subscription_rotate", { id, made }));
    },
  }),
  endpoint({
    method: "post",
    path: `${at}/subscriptions/:subscription_id/test`,
    summary: "Send a test event now",
    access: writes,
    params: ids("subscription_id"),
    response: AttemptResponse,
    message: "webhook_attempt_finished",
    errors: [
      "webhook_subscription_not_found",
      "webhook_event_not_found",
      "webhook_sender_failed",
      ...stopped,
    ],
    idempotency: "handler",
    run: ({ db, params, idempotencyKey }) =>
      attemptByHand(
        db,
        { core: "integration.test_begin", input: { id: params.subscription_id } },
        idempotencyKey,
      ),
  }),
  endpoint({
    method: "post",
    path: `${at}/subscriptions/:subscription_id/recover`,
    summary: "Send again what failed in a span of time, and at once what waits",
    access: writes,
    params: ids("subscription_id"),
    body: Recover,
    response: Recovered,
    errors: [
      "webhook_subscription_not_found",
      "webhook_subscription_inactive",
      "replay_too_large",
    ],
    run: ({ db, params, body }) =>
      db.call("integration.subscription_recover", { ...body, id: params.subscription_id }),
  }),
];

async function requirePublic(url: string): Promise<void> {
  try {
    await vet(url);
  } catch (error) {
    if (error instanceof AddressRefused) {
      throw new AppError("webhook_url_refused", { field: "url" });
    }
    if (error instanceof AddressUnknown) {
      throw new AppError("webhook_url_unresolved", { field: "url" });
    }
    throw error;
  }
}

/** The answer with its secret opened. */
async function opened(answer: WithSecret): Promise<Record<string, unknown>> {
  return { ...answer, secret: await unseal(answer.secret, secretPurpose(answer.subscription.id)) };
}
