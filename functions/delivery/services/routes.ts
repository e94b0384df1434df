import { memberOrKey, permission, withErrorCode } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint, versionedBy } from "../../../shared/api/endpoint.ts";
import type { ErrorCode } from "../../../shared/errors/errors.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { serviceList, ServicesResponse } from "./list.ts";
import {
  CreateService,
  Done,
  GetService,
  ServiceCreated,
  ServiceResponse,
  UpdateService,
} from "./schemas.ts";

const staff = permission("manage:operations:tenant");

const refusals: readonly ErrorCode[] = [
  "delivery_type_not_found",
  "service_code_already_exists",
  "customer_ids_required_for_selected_access_mode",
  "invalid_customer_ids",
  "zone_ids_required_for_selected_zone_mode",
  "invalid_zone_ids",
  "zone_tag_ids_required_for_tag_selector",
  "invalid_zone_tag_ids",
  "allowed_delivery_attempts_must_be_positive_integer",
  "invalid_unit_range",
  "invalid_delivery_time_range",
];

/** Delivery services: what can be ordered, for how much, by whom and to where. */
export const services: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/services",
    summary: "List delivery services; customers and institutions find those they may use",
    access: memberOrKey(),
    query: serviceList.query,
    response: ServicesResponse,
    async run({ db, query }) {
      const { customer_id, context, include_stats } = query.filters;
      const { rows: deliveryServices, ...page } = await serviceList.run(db, query);
      const stats = include_stats === "false"
        ? null
        : await db.call("delivery.services_stats", { customer_id, context });
      return { deliveryServices, stats, ...page };
    },
  }),
  endpoint({
    method: "post",
    path: "/services",
    summary: "Add a delivery service",
    access: staff,
    body: CreateService,
    response: ServiceCreated,
    status: 201,
    message: { literal: "service_created_successfully" },
    errors: refusals,
    run: ({ db, body }) => db.call("delivery.service_create", body),
  }),
  endpoint({
    method: "put",
    path: "/services/:serviceId",
    version: versionedBy("delivery.delivery_services", "serviceId"),
    summary: "Change a delivery service; what is not sent stays",
    access: staff,
    params: ids("serviceId"),
    body: UpdateService,
    response: Done,
    errors: [
      "service_not_found",
      "delivery_service_type_change_blocked_by_settings",
      "delivery_service_in_use_by_settings",
      ...refusals,
    ],
    run: ({ db, params, body }) =>
      db.call("delivery.service_update", { ...body, id: params.serviceId }),
  }),
  endpoint({
    method: "get",
    path: "/services/:serviceId",
    version: versionedBy("delivery.delivery_services", "serviceId"),
    summary: "Read a delivery service",
    access: memberOrKey(),
    params: ids("serviceId"),
    query: GetService,
    response: ServiceResponse,
    message: { literal: "service_retrieved_successfully" },
    errors: ["service_not_found"],
    run: ({ db, params, query }) =>
      db.call("delivery.service_get", {
        id: params.serviceId,
        full: query.response_type === "full",
      }),
  }),
  endpoint({
    method: "delete",
    path: "/services/:serviceId",
    version: versionedBy("delivery.delivery_services", "serviceId"),
    summary: "Remove a delivery service for good",
    access: withErrorCode(staff, "insufficient_permissions"),
    params: ids("serviceId"),
    response: Done,
    message: { literal: "service_deactivated_successfully" },
    errors: [
      "service_not_found",
      "delivery_service_in_use",
      "delivery_service_in_use_by_settings",
    ],
    run: ({ db, params }) => db.call("delivery.service_delete", { id: params.serviceId }),
  }),
];
