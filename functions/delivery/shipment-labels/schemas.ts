import { z } from "zod";

/** Delivery codes in the order their pages shall have. */
export const LabelsBody = z.object({
  delivery_codes: z.array(z.int().positive()).min(1).max(500),
});
