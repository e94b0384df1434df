import { z } from "zod";
import { defineList, equal, id } from "../../../shared/list.ts";
import {
  Id,
  JsonObject,
  Latitude,
  LocalizedText,
  Longitude,
  LongText,
  Pagination,
  Text,
  Timestamp,
} from "../../../shared/schemas.ts";

export const Address = z.object({
  id: Id,
  title: JsonObject,
  full_address: z.string(),
  city: z.string().nullable(),
  country: z.string().nullable(),
  latitude: z.number().nullable(),
  longitude: z.number().nullable(),
  contact_info: JsonObject,
  zone_id: Id.nullable(),
  created_at: Timestamp,
  updated_at: Timestamp,
});

const Fields = z.object({
  title: LocalizedText.optional(),
  full_address: LongText.min(1),
  city: Text.nullish(),
  country: Text.nullish(),
  latitude: Latitude.nullish(),
  longitude: Longitude.nullish(),
  contact_info: JsonObject.optional(),
  /** Wins over the zone of the coordinates. */
  zone_id: Id.nullish(),
});

/** One coordinate alone is no place; the refusal names the missing one. */
function needBoth(
  address: { latitude?: number | null; longitude?: number | null },
  context: z.core.$RefinementCtx,
): void {
  const { latitude, longitude } = address;
  if (typeof latitude === typeof longitude && (latitude === null) === (longitude === null)) return;
  context.issues.push({
    code: "custom",
    path: [longitude == null ? "longitude" : "latitude"],
    input: address,
  });
}

export const CreateAddress = Fields.superRefine(needBoth);
export const UpdateAddress = Fields.partial().superRefine(needBoth);

export const AddressResponse = z.object({ data: Address });
export const AddressesResponse = z.object({ data: z.array(Address), pagination: Pagination });

export const addressBook = defineList({
  view: "delivery.own_addresses_list",
  search: ["full_address", "city"],
  sort: ["created_at", "updated_at", "city", "full_address"],
  params: { zone_id: id("zone_id"), city: equal("city") },
  limit: { default: 20, max: 100 },
});
