import {
  contains,
  defineList,
  equal,
  type Filter,
  flag,
  foundBy,
  id,
  isSet,
  number,
  oneOf,
  period,
  since,
  someOf,
  until,
} from "../../../shared/api/list.ts";
import { z } from "zod";
import { Id } from "../../../shared/schemas/schemas.ts";
import { searchStatuses } from "../auto-assignment/schemas.ts";
import { requestStatuses } from "../return-requests/schemas.ts";
import { deliveryStatuses } from "../../../shared/schemas/delivery-statuses.ts";
import { deliveryFlows } from "../statuses.ts";

/** A part of number, barcode, reference, recipient's name or phone. */
const search = foundBy("delivery.deliveries_matching");

/** Deliveries that a driver carries or carried; those that they rejected, or that were withdrawn before, do not count. */
const driver: Filter = {
  schema: Id,
  condition: (value) =>
    `r.id in (select a.delivery_id from delivery.assignments a where a.tenant_id = (select app.tenant_id())
      and a.driver_id = (${value} #>> '{}')::uuid and a.status <> 'rejected' and not a.withdrawn)`,
};

/** Deliveries whose search for a driver stands like this; the office sees searches. */
const search_status: Filter = {
  schema: z.enum(searchStatuses).describe(
    "How the automatic search for a driver stands; for the office",
  ),
  condition: (value) =>
    `r.id in (select s.delivery_id from delivery.driver_searches s where s.tenant_id = (select app.tenant_id())
      and s.status = (${value} #>> '{}'))`,
};

/** Returns by the state of their request; those that wait for the office are drafts. */
const returnRequest: Filter = {
  schema: z.enum(requestStatuses).meta({
    description: "Customer returns by their request; `requested`: those that wait for the office",
  }),
  condition: (value) =>
    `r.id in (select q.delivery_id from delivery.return_requests q where q.tenant_id = (select app.tenant_id())
      and q.status = (${value} #>> '{}')) and ((${value} #>> '{}') <> 'requested' or r.status = 'draft')`,
};

/** Deliveries of a file (functions/delivery/imports). */
const importedBy: Filter = {
  schema: Id,
  condition: (value) =>
    `r.id in (select l.delivery_id from delivery.delivery_import_lines l where l.tenant_id = (select app.tenant_id())
      and l.import_id = (${value} #>> '{}')::uuid)`,
};

const filters = {
  status: someOf("status", deliveryStatuses),
  driver_id: driver,
  customer_id: id("customer_id"),
  institution_user_id: id("institution_user_id"),
  delivery_service_id: id("delivery_service_id"),
  pickup_zone_id: id("pickup_zone_id"),
  dropoff_zone_id: id("dropoff_zone_id"),
  delivery_flow: someOf("delivery_flow", deliveryFlows),
  carrier_type: oneOf("carrier_type", ["internal", "external"]),
  carrier_code: equal("carrier_code"),
};

export const deliveriesList = defineList({
  view: "delivery.deliveries_list",
  changes: "delivery.deliveries",
  sort: ["created_at", "delivery_code", "status"],
  params: {
    ...filters,
    search,
    external_reference_id: equal("external_reference_id"),
    parent_id: id("parent_id"),
    manifest_id: id("manifest_id"),
    current_warehouse_id: id("current_warehouse_id"),
    auto_assignment: search_status,
    return_request: returnRequest,
    import_id: importedBy,
    postponed: isSet("postponed_to", "set"),
    date_from: since("created_at"),
    date_to: until("created_at"),
  },
  columns: {
    ...filters,
    external_reference_id: contains("external_reference_id"),
    is_leg: flag("is_leg"),
    payer_type: oneOf("payer_type", ["sender", "receiver"]),
    payment_method: oneOf("payment_method", ["cash", "wallet", "gateway"]),
    delivery_code: number("delivery_code"),
    cod_amount: number("cod_amount"),
    delivery_fee: number("delivery_fee"),
    created_at: period("created_at"),
    promised_at: period("promised_at"),
    delivered_at: period("delivered_at"),
  },
  limit: { default: 20, max: 100 },
  tally: { name: "deliveries", filters: ["status"] },
});
