/** Where ids stand in the requests of an endpoint, and what kind of thing each of them names. */
import type { z } from "zod";
import { jsonSchemaOf } from "../../shared/schemas/json-schema.ts";
import type { Things } from "../support/everything.ts";
import type { Operation } from "./functions.ts";

/** The part of JSON Schema that zod writes. */
export interface Schema {
  type?: string;
  format?: string;
  pattern?: string;
  enum?: unknown[];
  const?: unknown;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  prefixItems?: Schema[];
  anyOf?: Schema[];
  allOf?: Schema[];
  minItems?: number;
  minimum?: number;
  maxLength?: number;
}

export interface Input {
  params: Record<string, string>;
  query: Record<string, string>;
  body: unknown;
}

/** A place in a request where an id stands: `["body", "items", 0, "destination_branch_id"]`. */
export type Slot = readonly [part: keyof Input, ...path: (string | number)[]];

const parts = ["params", "query", "body"] as const;

export function schemaOf(operation: Operation, part: typeof parts[number]): Schema | undefined {
  const { csv } = operation.endpoint;
  const schema = part === "body" && csv
    ? csv.line
    : operation.endpoint[part] as z.ZodType | undefined;
  return schema && jsonSchemaOf(schema, "input") as Schema;
}

/** The ids a field may hold, found by the words its name ends in; the first that fits counts. */
const kinds: [RegExp, keyof Things][] = [
  [/tenant_?id$/i, "tenant"],
  // Sorting, package transfers and waybills
  [/^session_id$/, "sorting_session"],
  [/waybill_id$/, "waybill"],
  [/discrepancy_id$/, "discrepancy"],
  [/^inventory_item_ids$/, "inventory_item"],
  [/^delivery_barcode$/, "barcode"],
  [/^to_driver_id$/, "driver2"],
  [/driver_id$|driverId$/, "driver"],
  // Deliveries under way
  [/^refund_id$/, "cash_refund"],
  [/delivery_exception_id$/, "delivery_exception"],
  [/delivery_item_id$/, "delivery_item"],
  [/^change_id$/, "amount_change"],
  [/receiving_order_id$/, "receiving_order"],
  [/handoff_id$/, "handoff"],
  [/^to_bin_id$/, "other_bin"],
  [/bin_id$/, "bin"],
  [/institution_user_id$|owner_id$/, "institution"],
  [/carrier_collection_ids?$/, "carrier_collection"],
  [/^remittance_id$/, "remittance"],
  [/cod_collection_ids?$|^cod-collection$/, "collection"],
  [/settlement_payment_id$/, "settlement"],
  [/remitted_to_user_id$|^receiver_id$/, "user"],
  [/^from_user_id$/, "cashier"],
  [/^desk_id$/, "desk"],
  [/^to_user_id$/, "colleague"],
  [/^notification_ids$/, "notification"],
  [/^api_key_id$/, "api_key"],
  [/^invitation_id$/, "invitation"],
  // Orders and payment gateways
  [/^order_id$/, "order"],
  [/^paymentMethodTypeId$/, "payment_method"],
  [/^payment_id$/, "payment"],
  [/^event_id$/, "webhook_event"],
  // The storefront's; before those whose words end the same way.
  [/market_?id$/i, "market"],
  [/^store_name$/, "store_name"],
  [/category_id$/, "category"],
  [/product_id$/, "product"],
  [/variant_?id$/i, "variant"],
  [/review_id$/, "review"],
  [/inventory_item_id$/, "inventory_item"],
  [/cart_item_id$/, "cart_item"],
  [/cart_?id$/i, "cart"],
  [/branch_id$/, "branch"],
  [/branch_code$/, "branch_code"],
  [/address_?id$/i, "address"],
  [/processing_point_id$/, "point"],
  [/manifest_item_id$|item_ids?$|identifiers$/, "item"],
  [/manifest_id$/, "manifest"],
  [/^parent_id$/, "delivery"],
  [/module_ids$/, "module"],
  [/service_?ids?$/i, "service"],
  [/delivery_type(_id)?$/, "delivery_type"],
  [/vehicle_ids?$/, "vehicle"],
  [/team_ids?$/, "team"],
  [/profile_id$/, "profile"],
  [/^destination_warehouse_id$/, "other_warehouse"],
  [/warehouse_id$/, "warehouse"],
  [/^staff_id$/, "staff"],
  [/^(picking_order_id|reserved_for_id)$/, "picking_order"],
  [/^transfer_id$/, "inventory_transfer"],
  [/^payout_id$/, "driver_payout"],
  [/^count_id$/, "inventory_count"],
  [/^write_off_id$/, "write_off"],
  [/^written_off_by$|^performed_by$/, "user"],
  [/^reference_id$/, "receiving_order"],
  [/^assigned_to$/, "user"],
  [/zone_ids?$/, "zone"],
  [/tag_ids?$/, "tag"],
  [/batch_id$/, "batch"],
  [/^import_id$/, "import"],
  [/barcodes?(_value)?$/, "barcode"],
  [/delivery_ids?$/, "delivery"],
  [/delivery_codes$/, "delivery_code"],
  [/^actor_key_id$/, "api_key"],
  [/user_?ids?$|customer_id$|^(assigned|counted|created|written_off)_by$|^actor_id$/i, "user"],
  [/^bulk_?assignment_?id$/i, "bulk"],
  [/^assignment_?id$/i, "assignment"],
  [/^eventId$/, "webhook_event"],
  [/^event_id$/, "event"],
  [/subscription_?id$/i, "subscription"],
  [/^module_id$/, "module"],
  [/carrier_code$/, "carrier"],
  [/delivery_id$/, "delivery"],
  [/^entity_id$/, "delivery"],
  [/^(id|wallet_id)$/, "wallet"],
];

/** The kind of value at a slot; undefined if its name is unknown. */
export function kindOf(slot: Slot, operation?: Operation): keyof Things | undefined {
  const name = String(slot.findLast((step) => typeof step === "string"));
  // Manifests have items as well as warehouses do.
  if (name === "assignment_id" && operation?.path.includes("/sorting-sessions/")) {
    return "sorting_assignment";
  }
  if (name === "id" && operation?.path.includes("/cash-desks/")) return "cash_transfer";
  if (name === "id" && operation?.path.includes("/driver-pay/")) return "driver_payout";
  if (name === "id" && operation?.path.includes("/merchant-statements/")) {
    return "merchant_statement";
  }
  if (name === "id" && operation?.path.includes("/handovers/")) return "handover";
  if (name === "id" && operation?.path.includes("/cod-collections/")) return "collection";
  if (operation?.path.includes("/webhooks/own/")) {
    if (name === "eventId") return "own_webhook_event";
    if (/^subscription_?id$/i.test(name)) return "own_subscription";
  }
  if (name === "item_id" && operation?.path.startsWith("/warehousing/")) return "inventory_item";
  return kinds.find(([words]) => words.test(name))?.[1];
}

/** Every slot of an operation that holds an id, or names a thing in another way. */
export function slotsOf(operation: Operation): Slot[] {
  const list = parts.flatMap((part) => inside(schemaOf(operation, part), [part]));
  const filters = schemaOf(operation, "query")?.properties?.column_filters as
    | { description?: string }
    | undefined;
  const columns = /any of: (.*)$/.exec(filters?.description ?? "")?.[1].split(", ") ?? [];
  for (const name of columns.filter((name) => /(?<!external_reference)_id$/.test(name))) {
    list.push(["query", "column_filters", name]);
  }
  return [...new Map(list.map((slot) => [slot.join("."), slot])).values()];
}

function inside(schema: Schema | undefined, slot: Slot): Slot[] {
  if (!schema) return [];
  if (schema.format === "uuid") return [slot];
  const name = slot.at(-1) === 0 ? slot.at(-2) : slot.at(-1);
  const namesByValue = /^(branch_code|barcodes|identifiers|delivery_codes|q|item_id|batch_id)$/;
  if (!schema.properties && !schema.items && !schema.anyOf && namesByValue.test(String(name))) {
    return [slot];
  }
  return [
    ...Object.entries(schema.properties ?? {}).flatMap(([key, value]) =>
      inside(value, [...slot, key] as unknown as Slot)
    ),
    ...(schema.items ? inside(schema.items, [...slot, 0] as unknown as Slot) : []),
    ...[...schema.anyOf ?? [], ...schema.allOf ?? []].flatMap((one) => inside(one, slot)),
  ];
}
