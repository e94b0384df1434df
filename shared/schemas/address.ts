/** Addresses as every function takes and gives them. */
import { z } from "zod";
import {
  Id,
  JsonObject,
  Latitude,
  LocalizedText,
  Longitude,
  LongText,
  Text,
  Timestamp,
} from "./schemas.ts";
import { maxBytes, maxContactBytes } from "./sizes.ts";

/** As it is answered. */
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
}).meta({ id: "Address" });

/** The input of an address for an address book. */
export const AddressFields = z.object({
  title: LocalizedText.optional(),
  full_address: LongText.min(1),
  city: Text.nullish(),
  country: Text.nullish(),
  latitude: Latitude.nullish(),
  longitude: Longitude.nullish(),
  contact_info: maxBytes(maxContactBytes, JsonObject).optional(),
});

/**
 * One coordinate alone is no place: the refusal names the missing one, by the word the caller has for it. Left out
 * (undefined) and taken away (null) are not the same, since a change may leave one where it is.
 */
export function needBoth(
  latitude: number | null | undefined,
  longitude: number | null | undefined,
  context: z.core.$RefinementCtx,
  [latitudeField, longitudeField] = ["latitude", "longitude"],
): void {
  if (typeof latitude === typeof longitude && (latitude === null) === (longitude === null)) return;
  context.issues.push({
    code: "custom",
    path: [longitude == null ? longitudeField : latitudeField],
    input: { latitude, longitude },
  });
}
