/** Requests about a delivery: orders, changes, and the moves that its people report. */
import { z } from "zod";
import { needBoth } from "../../../shared/schemas/address.ts";
import {
  ExactInstant,
  Id,
  Instant,
  JsonObject,
  Latitude,
  LocalizedText,
  Longitude,
  LongText,
  Money,
  Phone,
  Text,
} from "../../../shared/schemas/schemas.ts";
import { maxBytes, maxContactBytes } from "../../../shared/schemas/sizes.ts";
import { Package, unitsOf } from "../price/schemas.ts";
import { PhotoUrls, ProofUrl } from "../proofs/schemas.ts";
import { oneDestination, returnsTo } from "../return-requests/schemas.ts";

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

/** A carrier: the company itself, or an external one by its code. */
export const carrier = {
  carrier_type: z.enum(["internal", "external"]),
  carrier_code: z.string().trim().min(1).max(64).nullish(),
};

/** The payer of the fee, and the way it is paid. */
export const paid = {
  payer_type: z.enum(["sender", "receiver"]),
  payment_method: z.enum(["cash", "wallet", "gateway"]),
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
  ...paid,
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

/** With the names of the database: places by their end, and the package that counts (see POST /price). */
function forDatabase(
  { package: box, package_details, pickup_location, delivery_location, ...rest }: Sent,
) {
  const legacy = package_details !== undefined && package_details !== null;
  const used = legacy || box === undefined ? package_details : box;
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
function forDatabaseWithoutNulls(sent: Sent) {
  return Object.fromEntries(
    Object.entries(forDatabase(sent)).filter(([, value]) => value !== null),
  );
}

export const CreateDelivery = z.object({
  ...fields,
  delivery_service_id: Id.nullish(),
  staged: z.boolean().optional(),
  warehouse_id: Id.nullish().describe(
    "The warehouse a staged delivery goes through; the tenant's default one when left out. Of one that is not staged it says nothing",
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
}).transform(forDatabaseWithoutNulls).meta({ id: "CreateDelivery" });

/** Null takes a value away. */
export const UpdateDelivery = z.object(fields).partial().refine(
  (body) => Object.values(body).some((value) => value !== undefined),
  { error: "nothing to change" },
).transform(forDatabase).meta({ id: "UpdateDelivery" });

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
    "The device's time of it: at most 72 hours ago, at most 2 minutes ahead. The same step of the same person with the same time is one report",
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
export const failure = { reason: Text, notes: LongText.nullish() };
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
export const ExecuteUndo = z.object({
  reason: LongText.nullish().describe("Kept in the notes of the picking order"),
}).meta({ id: "UndoExecute" });
export const OperationalReturn = z.object({
  delivery_service_id: Id.nullish(),
  ...returnsTo,
  reason: Text.nullish(),
  notes: LongText.nullish(),
}).superRefine(oneDestination).meta({ id: "OperationalReturn" });
