/**
 * Every settings group there is, by module, and what may be saved in it. A key may be left out (it
 * stays) or null (it goes); a key or group that does not stand here is refused, since a misspelt
 * setting would be saved and never do anything.
 */
import { z } from "zod";
import {
  Currency,
  Id,
  Latitude,
  LocalizedText,
  Longitude,
  LongText,
  Money,
  orEmpty,
  Phone,
  Text,
  WebUrl,
} from "../../../shared/schemas/schemas.ts";

const Word = z.string().trim().min(1).max(64);
const Name = z.union([Text, LocalizedText]);
const Positive = z.number().positive().max(1_000_000_000);
const Count = z.int().min(0).max(1_000_000);
const Seconds = z.int().min(1).max(86_400);
const Url = orEmpty(WebUrl);
const yesNo = z.boolean();

/** Stored and returned only; no behaviour depends on it. */
const kept = <S extends z.ZodType>(schema: S) =>
  schema.meta({ description: "Kept for the client; it has no effect of its own" });

/** An object of settings, or one nested in it. */
function settings(shape: z.ZodRawShape): z.ZodType {
  return z.strictObject(
    Object.fromEntries(
      Object.entries(shape).map(([key, type]) => [key, (type as z.ZodType).nullable().optional()]),
    ),
  );
}

const ProofNeeds = settings({ photo_required: yesNo, signature_required: yesNo });

const Reasons = z.array(z.strictObject({
  value: Word,
  label: Name,
  // Null as in the rest of a group: none.
  description: z.union([LongText, LocalizedText]).nullish(),
})).max(100).refine(
  (reasons) => new Set(reasons.map(({ value }) => value)).size === reasons.length,
  { error: "each value once" },
);

/** Why an attempt did not deliver, as drivers choose it. */
const AttemptReasons = z.array(
  z.strictObject({
    value: Word,
    label: LocalizedText,
    kind: z.enum(["failed", "postponed", "refused"]),
    counts: yesNo.meta({
      description:
        "Whether it uses up one of the attempts that the service allows; never of kind `postponed`",
    }),
    needs: z.strictObject({
      photo: yesNo.optional().describe("A picture of the attempt"),
      note: yesNo.optional(),
      place: yesNo.optional().describe("Where it was, by the device"),
    }).optional().meta({ description: "What the driver has to report with it" }),
  }).refine(({ kind, counts }) => !(kind === "postponed" && counts), {
    error: "does not count when it is postponed",
    path: ["counts"],
  }),
).min(1).max(50).refine(
  (reasons) => new Set(reasons.map(({ value }) => value)).size === reasons.length,
  { error: "each value once" },
);

const deliveryGroups = {
  transfer_manifest: settings({
    enabled: yesNo,
    receiving_mode: z.enum(["item_scan", "manifest_bulk"]),
    allow_driver_select_processing_point: yesNo,
    allow_driver_create_manifest_from_form: yesNo,
    allow_driver_scan_institution_qr: yesNo,
    allow_driver_scan_item_barcode: yesNo,
    allow_warehouse_staging_without_assigned_driver: yesNo,
    driver_scan_mode: z.enum(["continuous", "manual"]),
    default_delivery_service_id: Id.meta({
      description: "Switched on, and one of `available_delivery_service_ids` when that names any",
    }),
    // Derived from the id above: shown when read, and let pass when the whole group is sent back.
    default_delivery_service: z.unknown().transform(() => undefined),
    available_delivery_service_ids: z.array(Id).max(500),
    delivery_fee_origin: z.enum(["processing_point", "source_location"]),
    reasons: Reasons,
    proof_settings: settings({ pickup: ProofNeeds, delivery: ProofNeeds }),
  }),
  assignment_change_settings: settings({ default_driver_id: Id }),
  fulfillment_policy: settings({
    payment_policies: settings({
      refund_delivery_fee_on_cancel: yesNo,
      refund_delivery_fee_on_return: yesNo,
    }),
  }),
  proof_settings: settings({ pickup: ProofNeeds, delivery: ProofNeeds }),
  cod: settings({
    driver_self_remit: z.enum(["allow", "require_receiver"]),
    // Cash must have been counted before it can be remitted.
    require_handover: yesNo,
    // A driver who holds more is warned of in the summary.
    cash_ceiling: Money,
  }),
  // Shown with what holds: defaults in three languages stand in sql/tenants/settings/attempts.sql.
  attempts: settings({
    reasons: AttemptReasons,
    after_last: z.enum(["ask", "return"]),
    undo_minutes: z.int().min(0).max(1_440),
  }),
  // When merchants may spend their COD: sql/delivery/cod-holds.
  payouts: settings({
    release: z.enum(["on_delivery", "on_remit", "on_bank"]).meta({
      description:
        "COD can be spent at once, when its driver or carrier has handed it in, or when " +
        "that cash has left the desks; holds of cash collected from then on",
    }),
    hold_days: z.int().min(0).max(365).meta({
      description: "And not before the start of that day after it was collected: 0",
    }),
    cycle: z.enum(["none", "daily", "weekly", "monthly"]).meta({
      description:
        "When statements are made by themselves, of movements before the start of that day: `none`",
    }),
    weekday: z.enum([
      "monday",
      "tuesday",
      "wednesday",
      "thursday",
      "friday",
      "saturday",
      "sunday",
    ]).meta({ description: "The day of a `weekly` cycle: `sunday`" }),
    day: z.int().min(1).max(28).meta({
      description: "The day of a `monthly` cycle, one that every month has: 1",
    }),
    minimum: Money,
    keep: Money,
  }),
};

const generalGroups = {
  unit_size: settings({
    unit_length: Positive,
    unit_weight: Positive,
    weight_unit: Word,
    volumetric_divisor: Positive,
    dimension_unit: Word,
    use_volumetric_weight: yesNo,
    missing_unit_size_fallback: z.enum(["service_min", "service_half", "service_max"]),
  }),
  location: settings({ latitude: Latitude, longitude: Longitude }),
  currency: settings({
    currency_code: Currency,
    currency_name: Name,
    currency_symbol: Word,
    currency_mode: Word,
    exchange_rate_to_system: Positive,
    decimals: z.int().min(0).max(3),
  }),
  timezone: settings({ name: Word }),
  language: settings({ default: z.enum(["en", "ar", "ku"]) }),
  // The letters that barcodes end with: any other code would be kept and never be used.
  domestic_country: settings({
    code: z.string().trim().toUpperCase().regex(/^[A-Z]{2}$/).meta({
      description: "ISO 3166-1, two letters; new barcodes end with them",
    }),
    name: Name,
    dial_code: Phone.min(1),
  }),
  driver: settings({
    mode: Word.meta({
      description:
        "How drivers are paid: `percentage` or `per_delivery`; any other word pays nothing",
    }),
    percentage: settings({ percentage_of_delivery_fee: z.number().min(0).max(100) }),
    per_delivery: settings({ base_amount: Money }),
    driver_can_self_assign: yesNo.meta({
      description: "Drivers on duty take deliveries by themselves, which they could be assigned",
    }),
    require_accept_or_reject_for_assignments: yesNo,
  }),
  integration: settings({ sms_channel: settings({ selected_channel: Word }) }),
  warehouse: settings({ handoff_required: yesNo, default_warehouse_id: Id }),
  express_shipping: settings({ customer_prefix_key: kept(Word) }),
  user_settings: settings({
    offline_threshold_seconds: Seconds,
    heartbeat_interval_seconds: Seconds,
  }),
  mobile: settings({ show_tenant_list_page: yesNo }),
  storefront: settings({
    review_auto_approval: settings({
      enabled: yesNo,
      auto_approve_ratings: z.array(z.int().min(1).max(5)).max(5),
    }),
    // Off: goods that nobody picked are picked as they leave.
    picking_required: yesNo,
    // Besides the store's own domains: hosts that a gateway may send customers back to.
    return_hosts: z.array(z.string().toLowerCase().regex(/^[a-z0-9.-]{1,253}(:\d{1,5})?$/)).max(20),
  }),
  delivery: settings({
    return_requests: settings({
      destination_mode: Word.meta({
        description:
          "Where returns go that name no place: `warehouse` the tenant's default one, `choose` they have to name one, any other word `sender`",
      }),
      default_delivery_service_id: Id,
      auto_approval: yesNo.meta({
        description:
          "Off: an owner's return is a draft until the office approves it; on unless said",
      }),
    }),
    // Orders look for their drivers themselves: sql/delivery/auto-assignment.
    on_demand_auto_assignment: settings({
      enabled: yesNo,
      priority_checks: settings({
        driver_online: yesNo.meta({ description: "Only drivers who are online" }),
        preferred_zone: yesNo.meta({
          description: "Drivers who were given the pickup's zone by name, while one of them may",
        }),
        vehicle_capacity: yesNo.meta({
          description: "Only drivers who keep a fifth of their vehicle's capacity free",
        }),
        available_in_zone: yesNo.meta({
          description: "Only drivers seen in the pickup's zone within 15 minutes",
        }),
      }),
      max_retry_attempts: Count.meta({
        description: "Offers, and tries that find nobody, before it has failed: 3, at least 1",
      }),
      retry_after_minutes: Count.meta({
        description:
          "How long a driver has to answer, and how long after nobody was found it is tried again: 5, at least 1",
      }),
      notify_admin_on_failure: yesNo,
    }),
  }),
  brand_settings: settings({
    brand_name: LocalizedText,
    assets: settings({ logo: settings({ light: Url, dark: Url }), favicon: Url }),
    colors: settings({
      text: Word,
      accent: Word,
      primary: Word,
      secondary: Word,
      background: Word,
    }),
    configurations: settings({
      font: Word,
      theme: Word,
      animations: yesNo,
      rtl_support: yesNo,
    }),
  }),
};

/** module -> group -> schema of its settings. */
export const groups: Readonly<Record<string, Readonly<Record<string, z.ZodType>>>> = {
  delivery: deliveryGroups,
  general: generalGroups,
};

/** The groups that a comma list names, as `group` or `module.group`; unknown names are passed over. */
export function groupsNamed(keys: string): [module: string, group: string][] {
  const asked = new Set(keys.split(",").map((key) => key.trim()));
  return Object.entries(groups).flatMap(([module, ofModule]) =>
    Object.keys(ofModule)
      .filter((group) => asked.has(group) || asked.has(`${module}.${group}`))
      .map((group): [string, string] => [module, group])
  );
}
