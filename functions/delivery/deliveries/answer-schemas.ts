/** Deliveries as they are answered: a row, the whole of one, and lists. */
import { z } from "zod";
import { carriedFields, CashSplit, itemFields } from "../../../shared/schemas/carried-delivery.ts";
import {
  Id,
  JsonObject,
  listResponse,
  Person,
  Timestamp,
} from "../../../shared/schemas/schemas.ts";
import { AutoAssignment } from "../auto-assignment/schemas.ts";
import { ReturnRequest } from "../return-requests/schemas.ts";
import { deliveryStatuses } from "../../../shared/schemas/delivery-statuses.ts";
import { deliveryFlows } from "../statuses.ts";
import { carrier, paid } from "./schemas.ts";

const Named = z.object({ id: Id, code: z.string().nullable(), name: z.string().nullable() }).meta({
  id: "NamedRecord",
});
const DeliveryPerson = z.object({
  id: Id,
  full_name: z.string().nullable(),
  phone: z.string().nullable(),
})
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
  customer: DeliveryPerson.nullable(),
  institution: DeliveryPerson.nullable(),
  delivery_service_id: Id,
  delivery_service: Named,
  carrier_type: carrier.carrier_type,
  carrier_code: z.string().nullable(),
  ...paid,
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
    driver: DeliveryPerson,
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
    "Its receiver kept a part; the deliveries under `returns` of the detail bring back the rest",
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
  from_status: z.string().nullable().describe(
    "Null for the first entry; the same as `to_status` where a driver brings the parcel into a warehouse",
  ),
  to_status: z.string(),
  actor: Person.nullable(),
  note: z.string().nullable(),
  created_at: Timestamp,
  occurred_at: Timestamp.nullable().describe(
    "When the device says that it was; `created_at` is the server's time",
  ),
  place: z.object({
    latitude: z.number(),
    longitude: z.number(),
    distance_m: z.number().nullable().describe("Metres from where the move should have been"),
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
  label_edition: z.int().describe("The number of times its label was printed"),
  label_outdated: z.boolean().describe(
    "Its place, receiver, amount or notes are no longer those of the label that was printed",
  ),
  return_request: ReturnRequest.nullable(),
  legs: z.array(DeliveryRow),
  exceptions: z.array(JsonObject),
  collections: z.array(DeliveryCollection),
  items: z.array(DeliveryItem),
  history: z.array(DeliveryMove),
  proofs: z.array(JsonObject).describe(
    "With `include=proof_links` each has a `link`, where the picture can be fetched for five minutes; null when it is gone, or the storage does not answer",
  ),
  payments: z.array(DeliveryPayment),
  handoff: JsonObject.nullable(),
  returns: z.array(ReturnOfDelivery),
  proof_requirements: z.object({ pickup: Needs, delivery: Needs }),
  policy: JsonObject.nullable(),
}).meta({ id: "DeliveryDetail" });

/**
 * The parts that a detail includes when asked. Links are signed anew for each answer, so with them its ETag differs every time; without,
 * it changes with the delivery alone.
 */
export const DeliveryDetailQuery = z.object({ include: z.literal("proof_links").optional() });

export const DeliveryResponse = z.object({ delivery: DeliveryRow });
/** After a pickup or a completion: what was due in cash, and what was booked. */
export const CashMoveResponse = DeliveryResponse.extend({
  cash: z.object({ due: CashSplit, collected: CashSplit }),
});
export const DeliveryDetailResponse = z.object({ delivery: DeliveryDetail });
export const DeliveriesResponse = listResponse(DeliveryRow);
