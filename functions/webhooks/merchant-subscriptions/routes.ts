import { z } from "zod";
import { permission } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { defineList, id } from "../../../shared/api/list.ts";
import { Id, ids } from "../../../shared/schemas/schemas.ts";
import {
  MerchantSubscriptionResponse,
  MerchantSubscriptionsResponse,
  SetMerchantSubscription,
} from "./schemas.ts";

const list = defineList({
  view: "integration.merchant_subscriptions_list",
  sort: ["created_at"],
  params: { owner_id: id("owner_user_id") },
  hidden: ["owner_user_id"],
  limit: { default: 20, max: 100 },
});

/** A company's calls on the subscriptions of its merchants; addresses and secrets are the merchants'. */
export const merchantSubscriptions: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/merchant-subscriptions",
    summary: "List the subscriptions of merchants, the newest first",
    access: permission("view:tenant", "manage:tenant"),
    query: list.query,
    response: MerchantSubscriptionsResponse,
    run: ({ db, query }) => list.answer(db, query),
  }),
  endpoint({
    method: "put",
    path: "/merchant-subscriptions/:subscription_id",
    summary: "Stop a merchant's subscription, or let it continue",
    access: permission("manage:tenant"),
    params: ids("subscription_id"),
    body: SetMerchantSubscription,
    response: MerchantSubscriptionResponse,
    errors: ["webhook_subscription_not_found"],
    run: ({ db, params, body }) =>
      db.call("integration.merchant_subscription_set", { ...body, id: params.subscription_id }),
  }),
  endpoint({
    method: "delete",
    path: "/merchant-subscriptions/:subscription_id",
    summary: "Remove a merchant's subscription with its log",
    access: permission("manage:tenant"),
    params: ids("subscription_id"),
    response: z.object({ id: Id }),
    errors: ["webhook_subscription_not_found"],
    run: ({ db, params }) =>
      db.call("integration.merchant_subscription_delete", { id: params.subscription_id }),
  }),
];
