import { z } from "zod";
import {
  Id,
  LocalizedText,
  LongText,
  Money,
  orEmpty,
  orNothing,
  Text,
  Timestamp,
  WebUrl,
} from "../../../shared/schemas/schemas.ts";
import { Code } from "../processing-points/schemas.ts";

export const serviceLevels = [
  "economy",
  "standard",
  "express",
  "same_day",
  "next_day",
  "scheduled",
] as const;

/** At most three decimals, as stored. */
export const Quantity = z.number().min(0).max(999_999_999).multipleOf(0.001);
/** An address of the web; an empty one is none. */
export const Url = orEmpty(WebUrl);

const DescriptionText = z.object({
  en: orNothing(LongText),
  ar: orNothing(LongText),
  ku: orNothing(LongText),
});

const Attempts = (() => {
  const error = "allowed_delivery_attempts_must_be_positive_integer";
  return z.number({ error }).int({ error }).min(1, { error }).max(2_147_483_647, { error });
})();

/** Ids of people or places; one that is malformed is as unknown as one that is nobody's. */
const idsOr = (error: string) => z.array(z.guid({ error })).max(10_000);

const Options = z.object({
  tracking: z.boolean().optional(),
  signature_required: z.boolean().optional(),
  insurance_available: z.boolean().optional(),
}).meta({ id: "ServiceOptions" });

const refunds = {
  refund_delivery_fee_on_cancel: z.boolean().nullish(),
  refund_delivery_fee_on_return: z.boolean().nullish(),
};
const Policy = z.object({ payment_policies: z.object(refunds).optional() }).meta({
  id: "ServicePolicy",
});
/** Refuses unknown keys: they would be kept and decide nothing. */
const WrittenPolicy = z.strictObject({ payment_policies: z.strictObject(refunds).optional() });

const Mandatory = z.object({
  name: z.union([Text, LocalizedText]),
  code: Code,
  service_level: z.enum(serviceLevels),
  unit_min: Quantity,
  unit_max: Quantity.positive(),
  delivery_type_id: Id,
});

const Voluntary = z.object({
  description: z.union([LongText, DescriptionText]).nullish(),
  image_url: Url.nullish(),
  priority: z.int32().nullish(),
  default_price: Money.nullish(),
  price_per_km: Money.nullish(),
  free_km: Quantity.nullish(),
  estimated_delivery_time_min: Quantity.nullish().describe("Minutes"),
  estimated_delivery_time_max: Quantity.nullish(),
  allowed_delivery_attempts: Attempts.nullish(),
  service_options: Options.nullish(),
  active: z.boolean().nullish(),
  allow_returns: z.boolean().nullish(),
  access_mode: z.enum(["all_users", "select_users", "exclude_users"]).nullish(),
  user_ids: idsOr("invalid_customer_ids").nullish(),
  zone_access_mode: z.enum(["all_zones", "select_zones", "exclude_zones"]).nullish(),
  zone_selector_type: z.enum(["zone", "tag"]).nullish(),
  zone_ids: idsOr("invalid_zone_ids").nullish(),
  zone_tag_ids: idsOr("invalid_zone_tag_ids").nullish(),
  policy_mode: z.enum(["tenant", "custom"]).nullish(),
  policy_overrides: WrittenPolicy.nullish(),
});

/** The optional fields of a service: null empties them. A null for any other field means that it was not sent. */
const emptied = [
  "description",
  "image_url",
  "priority",
  "estimated_delivery_time_min",
  "estimated_delivery_time_max",
];
const given = <T extends object>(body: T): Partial<T> =>
  Object.fromEntries(
    Object.entries(body).filter(([name, value]) => value !== null || emptied.includes(name)),
  ) as Partial<T>;

export const CreateService = Mandatory.extend(Voluntary.shape).transform(given).meta({
  id: "CreateService",
});
export const UpdateService = Mandatory.partial().extend(Voluntary.shape).transform(given).meta({
  id: "UpdateService",
});

export const GetService = z.object({ response_type: z.enum(["basic", "full"]).default("full") });

const Translations = z.record(z.string(), z.string());

export const Service = z.object({
  id: Id,
  code: z.string(),
  name: z.string(),
  name_translations: Translations,
  description: z.string().nullable(),
  description_translations: Translations,
  image_url: z.string().nullable(),
  priority: z.int().nullable(),
  service_level: z.enum(serviceLevels),
  default_price: z.number(),
  price_per_km: z.number(),
  free_km: z.number(),
  estimated_delivery_time_min: z.number().nullable(),
  estimated_delivery_time_max: z.number().nullable(),
  allowed_delivery_attempts: z.int(),
  unit_min: z.number(),
  unit_max: z.number(),
  service_options: Options.required(),
  delivery_type: z.object({ id: Id, code: z.string(), name: z.string() }),
  active: z.boolean(),
  allow_returns: z.boolean(),
  access_mode: z.string(),
  user_ids: z.array(Id).describe("In a list the first hundred"),
  user_count: z.int(),
  zone_access_mode: z.string(),
  zone_selector_type: z.string(),
  created_at: Timestamp,
  updated_at: Timestamp,
}).meta({ id: "Service" });

const Named = z.object({ id: Id, name: z.string() }).meta({ id: "NamedTerm" });

const FullService = Service.extend({
  zone_ids: z.array(Id),
  zones: z.array(Named),
  zone_tag_ids: z.array(Id),
  zone_tags: z.array(Named),
  all_teams: z.boolean(),
  teams: z.array(Named),
  vehicle_ids: z.array(Id),
  vehicles: z.array(Named.extend({ image_url: z.string().nullable() })),
  policy_mode: z.enum(["tenant", "profile", "custom"]),
  policy_overrides: Policy,
  effective_policy: z.object({
    source: z.enum(["tenant", "profile", "custom"]),
    payment_policies: z.object({
      refund_delivery_fee_on_cancel: z.boolean(),
      refund_delivery_fee_on_return: z.boolean(),
    }),
  }),
});

export const ServiceCreated = z.object({ id: Id });
export const ServiceResponse = z.object({ service: z.union([FullService, Service]) });
export const Done = z.object({});
