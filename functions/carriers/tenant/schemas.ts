import { z } from "zod";
import { CarrierCode, Money, Timestamp } from "../../../shared/schemas/schemas.ts";

const Secret = z.string().max(1_000);

export const CarrierParams = z.object({ carrier_code: CarrierCode });

const kept = "Kept for the client; it has no effect of its own";

export const Configure = z.object({
  is_enabled: z.boolean().optional(),
  prefer_internal: z.boolean().optional().meta({ description: kept }),
  default_price: Money.nullable().optional().meta({ description: kept }),
  credentials: z.object({
    login_id: Secret.optional(),
    password: Secret.optional(),
    initial_token: Secret.optional(),
  }).optional().meta({ description: "Written, never read; what is left out stays" }),
}).meta({ id: "ConfigureCarrier" });

/** Never with the credentials: only whether there are any. */
export const Carrier = z.strictObject({
  code: z.string(),
  name: z.string(),
  logo_url: z.string().nullable(),
  is_internal: z.boolean(),
  supports_webhook: z.boolean(),
  collects_cash: z.boolean().describe(
    "Whether deliveries with cash due at the door can go with it",
  ),
  configuration: z.strictObject({
    is_enabled: z.boolean(),
    prefer_internal: z.boolean(),
    default_price: z.number().nullable(),
    has_credentials: z.boolean(),
    updated_at: Timestamp,
  }).nullable(),
}).meta({ id: "Carrier" });

export const CarriersResponse = z.object({ carriers: z.array(Carrier) });

/** The webhook stands here when the call enabled a carrier that uses one. */
export const CarrierResponse = z.strictObject({
  carrier: Carrier,
  webhook: z.strictObject({ url: z.string(), secret: z.string() }).optional(),
});
