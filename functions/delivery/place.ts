/** A place as drivers and boards are shown it: without the people who are met there. */
import { z } from "zod";

export const placeWithoutPeople = {
  full_address: z.string().nullable(),
  city: z.string().nullable(),
  latitude: z.number().nullable(),
  longitude: z.number().nullable(),
};
