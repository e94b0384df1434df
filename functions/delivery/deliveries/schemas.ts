import { z } from "zod";
import { carriedFields, CashSplit, itemFields } from "../../../shared/schemas/carried-delivery.ts";
import { needBoth } from "../../../shared/schemas/address.ts";
import {
  ExactInstant,
  Id,
  Instant,
  JsonObject,
  Latitude,
  listResponse,
  LocalizedText,
  Longitude,
  LongText,
  Money,
  Person as Actor,
  Phone,
  Text,
  Timestamp,
} from "../../../shared/schemas/schemas.ts";
import { maxBytes, maxContactBytes } from "../../../shared/schemas/sizes.ts";
import { PhotoUrls, ProofUrl } from "../manifests/schemas.ts";
import { AutoAssignment } from "../auto-assignment/schemas.ts";
import { Package, unitsOf } from "../price/schemas.ts";
import { oneDestination, ReturnRequest, returnsTo } from "../return-requests/schemas.ts";
import { deliveryFlows, deliveryStatuses } from "../statuses.ts";

/** A place that is written down as an address. */
export const Place = maxBytes(
  maxContactBytes,
  z.object({
    latitude: Latitude.optional(),
    longitude: Longitude.optional(),
    lat: Latitude.optional(),
    lng: Longitude.optional(),
    long: Longitude.optional(),
    full_address: LongText.optional(),
    title: LocalizedText.optional(),
    city: Text.nullish(),
    country: Text.nullish(),
    contact_info: JsonObject.optional(),
  }),
).transform(({ lat, lng, long, ...place }, context) => {
  const latitude = place.latitude ?? lat;
  const longitude = place.longitude ?? lng ?? long;
  if (latitude !== undefined && longitude !== undefined) return { ...place, latitude, longitude };
  context.issues.push({
    code: "custom",
    message: "invalid_coordinates",
    path: [latitude === undefined ? "latitude" : "longitude"],
    input: place,
  });
  return z.NEVER;
});

export const Recipient = maxBytes(
  maxContactBytes,
  z.looseObject({
    name: z.string().trim().max(200).nullish(),
    phone: Phone.nullish(),
  }),
);

const carrier = {
  carrier_type: z.enum(["internal", "external"]),
  carrier_code: z.string().trim().min(1).max(64).nullish(),
};

const fields = {
  customer_id: Id.nullish(),
  institution_user_id: Id.nullish(),
  delivery_service_id: Id,
  pickup_address_id: Id.nullish(),
  pickup_location: Place.nullish(),
  dropoff_address_id: Id.nullish(),
  delivery_location: Place.nullish(),
  pickup_warehouse_id: Id.nullish(),
  dropoff_warehouse_id: Id.nullish(),
  payer_type: z.enum(["sender", "receiver"]),
  payment_method: z.enum(["cash", "wallet", "gateway"]),
  cod_amount: Money.nullish(),
  unit_size: unitsOf,
  package: Package.optional(),
  package_details: Package.optional(),
  recipient: Recipient.nullish(),
  external_reference_id: z.string().trim().min(1).max(200).nullish(),
  notes: LongText.nullish(),
  promised_at: Instant.nullish(),
  deliver_after: Instant.nullish(),
  deliver_before: Instant.nullish(),
  barcode: z.string().trim().regex(/^(?!\d+$|PD\d{10}$|[A-Z]{2}\d{10}[A-Z]{2}$)[\w-]{4,64}$/)
    .nullish().describe(
      "Not of the shapes that delivery codes, deliveries without one and items of manifests have",
    ),
  carrier_type: carrier.carrier_type.optional(),
  carrier_code: carrier.carrier_code,
};

type Sent = Record<string, unknown> & { package?: unknown; package_details?: unknown };

/** In the words of the database: places by their end, and the package that counts (see POST /price). */
function inItsWords(
  { package: box, package_details, pickup_location, delivery_location, ...rest }: Sent,
) {
  const legacy = package_details !== undefined && package_details !== null;
  const used = legacy ? package_details : box;
  return Object.fromEntries(
    Object.entries({
      ...rest,
      pickup: pickup_location,
      dropoff: delivery_location,
      package: used,
      package_field: !used ? undefined : legacy ? "package_details" : "package",
    }).filter(([, value]) => value !== undefined),
  );
}

/** The same of something new, where null is nothing. */
function saidInItsWords(sent: Sent) {
  return Object.fromEntries(Object.entries(inItsWords(sent)).filter(([, value]) => value !== null));
}

export const CreateDelivery = z.object({
  ...fields,
  delivery_service_id: Id.nullish(),
  staged: z.boolean().optional(),
  warehouse_id: Id.nullish().describe(
    "The warehouse a staged delivery goes through; the tenant's default one when left out",
  ),
  status: z.enum(["draft", "pending"]).optional(),
  delivery_flow: z.enum(["standard", "customer_return"]).optional(),
  original_delivery_id: Id.nullish(),
  return_items: z.array(z.object({ delivery_item_id: Id, quantity: z.int().min(1).max(1_000_000) }))
    .min(1).max(500).nullish().describe(
      "Of a customer return: the `items` of the original that come back; all that no other return brings back when left out",
    ),
}).superRefine((body, context) => {
  const isReturn = body.delivery_flow === "customer_return";
  const refuse = (field: string) =>
    context.issues.push({ code: "custom", path: [field], input: body });
  if (!isReturn && !body.delivery_service_id) {
    context.issues.push({
      code: "invalid_type",
      expected: "string",
      path: ["delivery_service_id"],
      input: undefined,
      message: "",
    });
  }
  if (isReturn !== Boolean(body.original_delivery_id)) refuse("original_delivery_id");
  if (isReturn && body.staged) refuse("staged");
  if (!isReturn && body.return_items) refuse("return_items");
}).transform(saidInItsWords).meta({ id: "CreateDelivery" });

/** Null takes a value away. */
export const UpdateDelivery = z.object(fields).partial().refine(
  (body) => Object.values(body).some((value) => value !== undefined),
  { error: "nothing to change" },
).transform(inItsWords).meta({ id: "UpdateDelivery" });

export const CarrierChange = z.object(carrier).meta({ id: "ChangeCarrier" });

export const proof = z.object({
  photo_urls: PhotoUrls.nullish(),
  signature_url: ProofUrl.nullish(),
  signed_by: z.string().trim().max(200).nullish(),
}).nullish();
export const cash = z.object({ cod: Money.nullish(), delivery_fee: Money.nullish() }).nullish();
/** Where and when it happened, by the device that reports it. */
export const reported = {
  latitude: Latitude.nullish(),
  longitude: Longitude.nullish(),
  occurred_at: ExactInstant.nullish().describe(
    "The device's time of it: at most 72 hours ago, at most 2 minutes ahead",
  ),
};
export const bothOrNone = (
  { latitude, longitude }: { latitude?: number | null; longitude?: number | null },
  context: z.RefinementCtx,
) => needBoth(latitude, longitude, context);

export const Depart = z.object(reported).superRefine(bothOrNone).meta({ id: "DepartDelivery" });
const pickup = { proof, cash_collected: cash, ...reported };
export const Pickup = z.object(pickup).superRefine(bothOrNone).meta({ id: "PickUpDelivery" });
export const Complete = z.object({
  ...pickup,
  recipient_name: z.string().trim().max(200).nullish(),
}).superRefine(bothOrNone).meta({ id: "CompleteDelivery" });
const failure = { reason: Text, notes: LongText.nullish() };
export const Fail = z.object({ ...failure, ...reported }).superRefine(bothOrNone)
  .meta({ id: "FailDelivery" });
export const Retry = z.object({
  reassign: z.boolean().optional(),
  override_reason: Text.nullish(),
  notes: LongText.nullish(),
  ...reported,
}).superRefine(bothOrNone).meta({ id: "RetryDelivery" });
export const Return = z.object({
  reason: Text.nullish(),
  notes: LongText.nullish(),
  warehouse_id: Id.nullish(),
  ...reported,
}).superRefine(bothOrNone).meta({ id: "ReturnDelivery" });
export const Cancel = z.object({ ...failure, ...returnsTo }).superRefine(oneDestination)
  .meta({ id: "CancelDelivery" });
export const Execute = z.object({ warehouse_id: Id.nullish() }).meta({ id: "ExecuteDelivery" });
export const OperationalReturn = z.object({
  delivery_service_id: Id.nullish(),
  ...returnsTo,
  reason: Text.nullish(),
  notes: LongText.nullish(),
}).superRefine(oneDestination).meta({ id: "OperationalReturn" });

const Named = z.object({ id: Id, code: z.string().nullable(), name: z.string().nullable() }).meta({
  id: "NamedRecord",
});
const Person = z.object({ id: Id, full_name: z.string().nullable(), phone: z.string().nullable() })
  .meta({ id: "DeliveryPerson" });
export const DeliveryRow = z.object({
  id: Id,
  tenant_id: Id,
  delivery_code: z.int(),
  barcode: z.string(),
  external_reference_id: z.string().nullable(),
  status: z.enum(deliveryStatuses),
  status_reason: z.string().nullable(),
  status_notes: z.string().nullable(),
  delivery_flow: z.enum(deliveryFlows),
  parent_id: Id.nullable(),
  leg: z.enum(["A", "B"]).nullable(),
  sequence_plan: z.int().nullable(),
  original_delivery_id: Id.nullable(),
  is_leg: z.boolean(),
  customer_id: Id.nullable(),
  institution_user_id: Id.nullable(),
  customer: Person.nullable(),
  institution: Person.nullable(),
  delivery_service_id: Id,
  delivery_service: Named,
  carrier_type: carrier.carrier_type,
  carrier_code: z.string().nullable(),
  payer_type: fields.payer_type,
  payment_method: fields.payment_method,
  price: z.number(),
  ...carriedFields,
  ordered_cod_amount: z.number().describe(
    "The COD as it was ordered; `cod_amount` is what it is now",
  ),
  unit_size: z.number(),
  unit_size_source: z.string(),
  distance_km: z.number().nullable(),
  pickup_address_id: Id,
  dropoff_address_id: Id,
  pickup_address: JsonObject,
  dropoff_address: JsonObject,
  pickup_zone_id: Id.nullable(),
  dropoff_zone_id: Id.nullable(),
  pickup_warehouse_id: Id.nullable(),
  dropoff_warehouse_id: Id.nullable(),
  current_warehouse_id: Id.nullable(),
  notes: z.string().nullable(),
  manifest_id: Id.nullable(),
  attempts_used: z.int(),
  assignment: z.object({
    id: Id,
    status: z.string(),
    driver_id: Id,
    driver: Person,
    vehicle_id: Id.nullable(),
    assignment_time: Timestamp,
  }).nullable().describe("The live one, or the last that was not rejected"),
  promised_at: Timestamp.nullable(),
  deliver_after: Timestamp.nullable(),
  deliver_before: Timestamp.nullable(),
  postponed_to: z.string().nullable().describe(
    "The day, YYYY-MM-DD, to which its receiver postponed it; null once it is on its way again",
  ),
  delivered_in_part: z.boolean().describe(
    "Its receiver kept a part; `returns` of the detail bring back the rest",
  ),
  picked_up_at: Timestamp.nullable(),
  delivered_at: Timestamp.nullable(),
  created_by: Id.nullable(),
  created_at: Timestamp,
  updated_at: Timestamp,
}).meta({ id: "Delivery" });

const Needs = z.object({ photo_required: z.boolean(), signature_required: z.boolean() }).meta({
  id: "DeliveryNeeds",
});

/** A thing in a parcel. */
const DeliveryItem = z.object({
  ...itemFields,
  unit_price: z.number().nullable(),
  returned_item_id: Id.nullable().describe(
    "Of a return: the item of the original that it brings back",
  ),
}).meta({ id: "DeliveryItem" });

const DeliveryCollection = z.object({
  id: Id,
  driver_id: Id,
  collection_stage: z.enum(["pickup", "dropoff"]),
  amount: z.number(),
  cod_amount: z.number(),
  delivery_fee_amount: z.number(),
  allocations: z.object({ cod: z.number(), delivery_fee: z.number() }),
  currency: z.string(),
  status: z.string(),
  collected_at: Timestamp,
}).meta({ id: "DeliveryCollection" });

const DeliveryMove = z.object({
  id: z.int(),
  from_status: z.string().nullable().describe("Null where it began"),
  to_status: z.string(),
  actor: Actor.nullable(),
  note: z.string().nullable(),
  created_at: Timestamp,
  occurred_at: Timestamp.nullable(),
  place: z.object({
    latitude: z.number(),
    longitude: z.number(),
    distance_m: z.number().nullable().describe("How far that is from where it should be"),
  }).nullable(),
}).meta({ id: "DeliveryMove" });

const DeliveryPayment = z.object({
  id: Id,
  type: z.string(),
  status: z.string(),
  payment_method: z.string().nullable(),
  amount: z.number(),
  currency: z.string(),
  processed_at: Timestamp.nullable(),
  created_at: Timestamp,
}).meta({ id: "DeliveryPayment" });

const ReturnOfDelivery = z.object({
  id: Id,
  delivery_code: z.int(),
  barcode: z.string().nullable(),
  status: z.string(),
  delivery_flow: z.string(),
}).meta({ id: "ReturnOfDelivery" });

export const DeliveryDetail = DeliveryRow.extend({
  package_details: JsonObject.nullable(),
  staging_warehouse_id: Id.nullable(),
  auto_assignment: AutoAssignment.nullable().describe(
    "The search for a driver; null for who is not of the office",
  ),
  label_edition: z.int().describe("How often its label was printed"),
  label_outdated: z.boolean().describe(
    "It goes elsewhere, or owes another amount, since its label was printed",
  ),
  return_request: ReturnRequest.nullable(),
  legs: z.array(DeliveryRow),
  exceptions: z.array(JsonObject),
  collections: z.array(DeliveryCollection),
  items: z.array(DeliveryItem),
  history: z.array(DeliveryMove),
  proofs: z.array(JsonObject).describe(
    "With `include=proof_links` each has a `link`, where the picture can be fetched for five minutes; null when it is gone",
  ),
  payments: z.array(DeliveryPayment),
  handoff: JsonObject.nullable(),
  returns: z.array(ReturnOfDelivery),
  proof_requirements: z.object({ pickup: Needs, delivery: Needs }),
  policy: JsonObject.nullable(),
}).meta({ id: "DeliveryDetail" });

/**
 * The parts a detail includes when asked. Links are signed anew each time, so only then does its ETag change by
 * itself.
 */
export const DeliveryDetailQuery = z.object({ include: z.literal("proof_links").optional() });

export const DeliveryResponse = z.object({ delivery: DeliveryRow });
/** After a pickup or a completion: what was due in cash, and what was booked. */
export const CashMoveResponse = DeliveryResponse.extend({
  cash: z.object({ due: CashSplit, collected: CashSplit }),
});
export const DeliveryDetailResponse = z.object({ delivery: DeliveryDetail });
export const DeliveriesResponse = listResponse(DeliveryRow);
