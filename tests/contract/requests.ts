/** Requests that an endpoint would take, made from its schemas and what a tenant has. */
import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { Things } from "../support/everything.ts";
import { csvText } from "../support/files.ts";
import { newBarcode } from "../support/manifests.ts";
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
  return schema && z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as Schema;
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
  [/delivery_exception_id$/, "delivery_exception"],
  [/delivery_item_id$/, "delivery_item"],
  [/receiving_order_id$/, "receiving_order"],
  [/handoff_id$/, "handoff"],
  [/bin_id$/, "bin"],
  [/institution_user_id$|owner_id$/, "institution"],
  [/carrier_collection_ids?$/, "carrier_collection"],
  [/^remittance_id$/, "remittance"],
  [/cod_collection_ids?$|^cod-collection$/, "collection"],
  [/settlement_payment_id$/, "settlement"],
  [/remitted_to_user_id$/, "user"],
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
  [/^inventory_item_id$/, "inventory_item"],
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
  [/^destination_bin_id$/, "other_bin"],
  [/bin_id$/, "bin"],
  [/^staff_id$/, "staff"],
  [/^picking_order_id$/, "picking_order"],
  [/^transfer_id$/, "inventory_transfer"],
  [/^assigned_to$/, "user"],
  [/zone_ids?$/, "zone"],
  [/tag_ids?$/, "tag"],
  [/batch_id$/, "batch"],
  [/barcodes?(_value)?$/, "barcode"],
  [/delivery_ids?$/, "delivery"],
  [/delivery_codes$/, "delivery_code"],
  [/user_?ids?$|customer_id$|^assigned_by$/i, "user"],
  [/^bulk_?assignment_?id$/i, "bulk"],
  [/^assignment_?id$/i, "assignment"],
  [/user_?ids?$|customer_id$/i, "user"],
  [/^eventId$/, "webhook_event"],
  [/^event_id$/, "event"],
  [/subscription_?id$/i, "subscription"],
  [/^module_id$/, "module"],
  [/carrier_code$/, "carrier"],
  [/delivery_id$/, "delivery"],
  [/^entity_id$/, "delivery"],
  [/^(id|wallet_id)$/, "wallet"],
];

/** What stands at a slot; undefined when its name says nothing that is known. */
export function kindOf(slot: Slot, operation?: Operation): keyof Things | undefined {
  const name = String(slot.findLast((step) => typeof step === "string"));
  // Manifests have items as well as warehouses do.
  if (name === "assignment_id" && operation?.path.includes("/sorting-sessions/")) {
    return "sorting_assignment";
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

/** What schemas cannot say: fields that exclude each other or belong together, values of a kind. */
const hints: Record<string, (things: Things, asked?: string) => Record<string, unknown>> = {
  "POST /delivery/transfer-manifest-items/bulk/set-destination": ({ address, service }) => ({
    destination_address_id: address,
    delivery_service_id: service,
  }),
  "POST /delivery/transfer-manifest-items/bulk/validate": ({ item }) => ({ identifiers: [item] }),
  "POST /delivery/transfer-manifest-items/bulk/resolve-exceptions": ({ item }) => ({
    item_ids: [item],
    outcome: "reprocess",
  }),
  "POST /delivery/transfer-manifest-exceptions": ({ item }) => ({
    manifest_item_id: item,
    reason: "damaged",
  }),
  "POST /delivery/transfer-manifests": () => ({ creation_source: "form" }),
  "POST /delivery/transfer-manifests/:manifest_id/proofs": () => ({
    stage: "pickup",
    photo_urls: ["https://example.test/photo.jpg"],
  }),
  "POST /delivery/deliveries": ordering,
  "POST /delivery/deliveries/import": ordering,
  "PATCH /delivery/deliveries/:delivery_id": () => ({ notes: "Second floor" }),
  "PUT /delivery/deliveries/:delivery_id": () => ({ notes: "Second floor" }),
  "PUT /warehousing/receiving-orders/:receiving_order_id": ({ bin }, asked) =>
    asked === "item_details" ? {} : { item_details: [{ bin_id: bin }] },
  "GET /warehousing/sorting-sessions": ({ warehouse }) => ({ warehouse_id: warehouse }),
  "POST /warehousing/package-transfers": travelling,
  "POST /warehousing/waybills": travelling,
  "POST /delivery/services": restricted,
  "PUT /delivery/services/:serviceId": restricted,
  "GET /delivery/price": () => ({ units: "1" }),
  "POST /delivery/assignments": ({ driver }) => ({ driver_id: driver }),
  "POST /delivery/drivers": ({ driver }) => ({ user_id: driver }),
  "POST /delivery/zones": () => ({
    polygon: { type: "Polygon", coordinates: [[[44, 33], [45, 33], [45, 34], [44, 33]]] },
  }),
  "POST /delivery/cod-collections/remit": settling,
  "POST /delivery/cod-collections/settle-by-wallet": settling,
  "POST /delivery/cod-collections/handover": ({ driver }) => ({ driver_id: driver }),
  "POST /carriers/tenant/:carrier_code/remittances": () => ({ currency: "IQD" }),
  "GET /delivery/cod-settlements/:settlement_payment_id/verify": () => ({ hash: "0".repeat(32) }),
  "POST /storefront/custom-domain/connect": () => ({ custom_domain: "shop.example.com" }),
  "POST /tenants/:tenantId/users": () => ({ tenant_user_type: "customer" }),
  "POST /webhooks/subscriptions": () => ({
    url: "http://127.0.0.1:9/hook",
    event_types: ["delivery.*"],
  }),
  "PUT /webhooks/subscriptions/:subscription_id": () => ({ url: "http://127.0.0.1:9/hook" }),
  "POST /warehousing/warehouses": forFew,
  "PUT /warehousing/warehouses/:warehouse_id": forFew,
  "PUT /tenants/:tenantId/settings": () => ({
    general: { language: { settings: { default: "en" } } },
  }),
};

/** From one address to another, for somebody. */
function ordering({ address, user, service }: Things, asked?: string): Record<string, unknown> {
  return {
    delivery_service_id: service,
    ...(asked === "pickup_location" ? {} : { pickup_address_id: address }),
    ...(asked === "delivery_location" ? {} : { dropoff_address_id: address }),
    ...(asked === "institution_user_id" ? {} : { customer_id: user }),
    payment_method: "cash",
    ...(asked === "original_delivery_id" ? { delivery_flow: "customer_return" } : {}),
    ...(asked === "warehouse_id" ? { staged: true } : {}),
    unit_size: 1,
  };
}

/** One parcel, or a piece of inventory with the terms of its delivery. */
function travelling(things: Things, asked?: string): Record<string, unknown> {
  const { delivery, other_warehouse, user, service } = things;
  return {
    mode: "delivery_operation",
    operation_type: "waybill",
    destination_warehouse_id: other_warehouse,
    ...(asked === "inventory_item_ids" ? {} : { delivery_ids: [delivery] }),
    new_delivery_defaults: {
      customer_id: user,
      delivery_service_id: service,
      payer_type: "sender",
      payment_method: "cash",
    },
  };
}

/** Cash by its rows or by its driver. */
function settling({ driver }: Things, asked?: string): Record<string, unknown> {
  return asked === "cod_collection_ids"
    ? { scope: "selected" }
    : { scope: "all", driver_id: driver };
}

/** A service for few people and places; otherwise nobody looks at the ids it comes with. */
function restricted({ user, zone, tag }: Things, asked?: string): Record<string, unknown> {
  const byTag = asked === "zone_tag_ids";
  return {
    access_mode: "select_users",
    user_ids: [user],
    zone_access_mode: "select_zones",
    zone_selector_type: byTag ? "tag" : "zone",
    ...(byTag ? { zone_tag_ids: [tag] } : { zone_ids: [zone] }),
  };
}
/** A warehouse for few people. */
function forFew({ user }: Things): Record<string, unknown> {
  return { access_mode: "select_users", user_ids: [user] };
}
/** Where one of these is asked for, the others of its line go. */
const exclusive = [
  ["destination_branch_id", "destination_address_id"],
  ["manifest_item_id", "barcode_value"],
  ["item_ids", "manifest_id"],
  ["identifiers", "barcodes"],
  ["carrier_collection_ids", "delivery_ids"],
];

/** A request that names only what the tenant has; `slot` is filled even where it is optional. */
export function sampleOf(operation: Operation, all: Things, slot?: Slot): Input {
  const things = operation.path.startsWith("/warehousing/")
    ? { ...all, item: all.inventory_item as string }
    : all;
  const path = (part: keyof Input) => (slot?.[0] === part ? slot.slice(1) : []);
  const fill = (part: keyof Input) =>
    value(schemaOf(operation, part) ?? { type: "object" }, part, path(part), things);
  const body = schemaOf(operation, "body");
  const query = fill("query") as Record<string, unknown>;
  const filtered = path("query")[0] === "column_filters";
  if (filtered) {
    query.column_filters = JSON.stringify({ [String(path("query")[1])]: wanted(slot!, things) });
  }
  const input: Input = {
    params: Object.fromEntries(
      [...operation.path.matchAll(/:(\w+)/g)].map((
        [, name],
      ) => [name, String(things[kindOf(["params", name]) ?? "user"])]),
    ),
    query: Object.fromEntries(Object.entries(query).map(([key, one]) => [key, String(one)])),
    body: body && fill("body"),
  };
  const asked = slot?.[0] === "body" ? String(slot[1]) : undefined;
  const hinted = (input.body ?? input.query) as Record<string, unknown>;
  for (const [name, hint] of Object.entries(hints[operation.name]?.(things, asked) ?? {})) {
    if (name !== asked) hinted[name] = hint;
  }
  const others = exclusive.find((line) => asked && line.includes(asked)) ?? [];
  for (const other of others.filter((name) => name !== asked && input.body)) {
    delete (input.body as Record<string, unknown>)[other];
  }
  return input;
}

function wanted(slot: Slot, things: Things): unknown {
  return things[kindOf(slot) ?? "item"];
}

function value(
  schema: Schema,
  name: string,
  path: readonly (string | number)[],
  things: Things,
): unknown {
  if (schema.anyOf) {
    const fits = schema.anyOf.find((one) =>
      path.length ? one.properties || one.items : one.type !== "null"
    );
    return value(fits ?? schema.anyOf[0], name, path, things);
  }
  if (schema.properties || schema.type === "object") {
    const keys = new Set([...schema.required ?? [], ...path.slice(0, 1).map(String)]);
    return Object.fromEntries(
      [...keys].filter((key) => schema.properties?.[key]).map((key) => [
        key,
        value(schema.properties![key], key, path[0] === key ? path.slice(1) : [], things),
      ]),
    );
  }
  if (schema.prefixItems) return schema.prefixItems.map((one) => value(one, name, [], things));
  if (schema.type === "array") {
    const length = path.length ? 1 : schema.minItems ?? 0;
    return Array.from({ length }, () => value(schema.items ?? {}, name, path.slice(1), things));
  }
  return simple(schema, name, things);
}

let serial = 0;
function simple(schema: Schema, name: string, things: Things): unknown {
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  if (name === "barcode_value") return newBarcode();
  const kind = kindOf(["body", name]);
  if (kind) return things[kind];
  if (name === "email") return `person-${randomUUID()}@barid.test`;
  if (schema.format === "date-time") return "2026-01-01T00:00:00Z";
  if (schema.format === "date") return "2026-01-01";
  switch (schema.type) {
    case "boolean":
      return true;
    case "number":
    case "integer":
      return Math.max(1, schema.minimum ?? 1);
    case "null":
      return null;
    default:
      return `Word ${process.pid}-${++serial}`;
  }
}

/** The same request with something else in a slot. */
export function withValue(input: Input, slot: Slot, put: unknown): Input {
  const copy = structuredClone(input);
  if (slot[1] === "column_filters") {
    copy.query.column_filters = JSON.stringify({ [String(slot[2])]: put });
    return copy;
  }
  // deno-lint-ignore no-explicit-any -- walks into a request of any shape
  let at: any = copy;
  for (const step of slot.slice(0, -1)) at = at[step];
  at[slot.at(-1)!] = slot[0] === "body" ? put : String(put);
  return copy;
}

/** The headers a request cannot do without. */
export function headersOf({ endpoint }: Operation): Record<string, string> {
  const takesKey = endpoint.idempotency === "required" ||
    endpoint.errors?.includes("idempotency_key_required");
  return {
    ...(takesKey ? { "idempotency-key": randomUUID() } : {}),
    ...(endpoint.csv ? { "content-type": "text/csv" } : {}),
  };
}

/** The body as it is sent: an object, or the text of a file with this one line. */
export function bodyOf({ endpoint }: Operation, { body }: Input): unknown {
  const line = body && typeof body === "object" ? body : {};
  return endpoint.csv ? csvText([line]) : body ?? {};
}

/** A text without halves of surrogate pairs, which no URL can carry. */
export function wellFormed(text: string): string {
  return Buffer.from(text, "utf8").toString("utf8");
}

/** Path and query of a request. */
export function urlOf({ path }: Operation, { params, query }: Input): string {
  const filled = path.replace(
    /:(\w+)/g,
    (_, name) => encodeURIComponent(wellFormed(params[name])),
  );
  const search = new URLSearchParams(query).toString();
  return search ? `${filled}?${search}` : filled;
}
