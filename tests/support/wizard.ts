/** A request to the tenant wizard with every group in it. */
import type { Body } from "./api.ts";

let serial = 0;

/** A body that is taken as it is; slug and e-mail are nobody's yet. */
export function wizardBody(more: Record<string, unknown> = {}): Body {
  const slug = `w-${Date.now().toString(36)}-${process.pid}-${++serial}`;
  return {
    tenant: {
      name: { en: "Furat Post", ar: "بريد الفرات", ku: "پۆستی فورات" },
      slug,
      contact_info: { email: `${slug}@barid.test`, phone: "+9647705550001" },
      logo_url: "https://cdn.example.test/logo.png",
    },
    admin_user: { create: true, password: "Furat-secret-1" },
    ...more,
  };
}

export const brand = {
  brand_name: { en: "Furat", ar: "الفرات", ku: "فورات" },
  assets: {
    logo: {
      light: "https://cdn.example.test/light.png",
      dark: "https://cdn.example.test/dark.png",
    },
    favicon: "https://cdn.example.test/favicon.ico",
  },
  colors: { text: "#111", accent: "#f00", primary: "#0f0", secondary: "#00f", background: "#fff" },
  configurations: { font: "Rabar", theme: "light", animations: true, rtl_support: true },
};

export const general = {
  unit_size: {
    unit_length: 30,
    unit_weight: 5,
    weight_unit: "kg",
    volumetric_divisor: 5000,
    dimension_unit: "cm",
    use_volumetric_weight: true,
  },
  location: { latitude: 33.31, longitude: 44.36 },
  currency: {
    currency_code: "USD",
    currency_name: "US dollar",
    currency_symbol: "$",
    currency_mode: "single",
    exchange_rate_to_system: 1310,
  },
  domestic_country: { code: "IQ", name: "Iraq", dial_code: "+964" },
  driver: {
    mode: "percentage",
    percentage: { percentage_of_delivery_fee: 20 },
    per_delivery: { base_amount: 1000 },
    driver_can_self_assign: true,
    require_accept_or_reject_for_assignments: false,
  },
  integration: { sms_channel: { selected_channel: "whatsapp" } },
  warehouse: { handoff_required: true },
  express_shipping: { customer_prefix_key: "FP" },
  user_settings: { offline_threshold_seconds: 300, heartbeat_interval_seconds: 60 },
  mobile: { show_tenant_list_page: false },
  storefront: { review_auto_approval: { enabled: true, auto_approve_ratings: [4, 5] } },
  delivery: {
    return_requests: { destination_mode: "sender", auto_approval: true },
    on_demand_auto_assignment: {
      enabled: true,
      priority_checks: {
        driver_online: true,
        preferred_zone: true,
        vehicle_capacity: false,
        available_in_zone: true,
      },
      max_retry_attempts: 3,
      retry_after_minutes: 5,
      notify_admin_on_failure: true,
    },
  },
};
