import { z } from "zod";
import { Id, JsonObject, Timestamp } from "../../../shared/schemas.ts";

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
