import { permission } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { CreateSubscription, SubscriptionResponse } from "./schemas.ts";

/** The subscription of a tenant. */
export const subscription: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/:tenantId/subscription",
    summary: "Read the tenant's subscription",
    access: permission("manage:tenant"),
    tenant: "path",
    params: ids("tenantId"),
    response: SubscriptionResponse,
    run: ({ db }) => db.call("tenancy.subscription_get"),
  }),
  endpoint({
    method: "post",
    path: "/:tenantId/subscription",
    summary: "Give the tenant a subscription; it begins where paid time ends",
    access: permission("manage:system"),
    tenant: "path",
    params: ids("tenantId"),
    body: CreateSubscription,
    response: SubscriptionResponse,
    status: 201,
    errors: ["tenant_subscription_disabled", "invalid_status_transition"],
    run: ({ db, body }) => db.call("tenancy.subscription_create", body),
  }),
  endpoint({
    method: "post",
    path: "/:tenantId/subscription/cancel",
    summary: "Cancel the tenant's subscription; paid time stays",
    access: permission("manage:system"),
    tenant: "path",
    params: ids("tenantId"),
    response: SubscriptionResponse,
    errors: [
      "tenant_subscription_disabled",
      "subscription_not_found",
      "invalid_status_transition",
    ],
    run: ({ db }) => db.call("tenancy.subscription_cancel"),
  }),
];
