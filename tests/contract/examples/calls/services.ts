/** Addresses, zones, services and prices. */
import { newService } from "../../../support/money.ts";
import type { Calls } from "../call.ts";

/** A place of the examples. */
export const here = { latitude: 33.299, longitude: 44.427 };
const polygon = {
  type: "Polygon",
  coordinates: [[[44.4, 33.28], [44.46, 33.28], [44.46, 33.32], [44.4, 33.32], [44.4, 33.28]]],
};
/** The address of a customer. */
export const home = {
  title: { en: "Home", ar: "البيت", ku: "ماڵ" },
  full_address: "Karrada, Street 14, House 27",
  city: "Baghdad",
  country: "IQ",
  ...here,
  contact_info: { phone: "+9647701234567" },
};

export const services: Calls = {
  "POST /delivery/addresses": { body: () => home },
  "POST /delivery/addresses/import": {
    body: () => ({ full_address: home.full_address, city: "Baghdad", country: "IQ", ...here }),
  },
  "PATCH /delivery/addresses/:address_id": {
    body: () => ({ full_address: "Karrada, Street 14, House 29", ...here }),
  },
  "POST /delivery/zones": { body: ({ tag }) => ({ name: "Jadriya", polygon, tag_ids: [tag] }) },
  "PATCH /delivery/zones/:zone_id": { body: ({ tag }) => ({ name: "Karrada", tag_ids: [tag] }) },
  "POST /delivery/zone-tags": { body: () => ({ name: "Evening round" }) },
  "POST /delivery/services": {
    body: ({ delivery_type, zone }) => ({
      name: { en: "Express", ar: "سريع", ku: "خێرا" },
      code: "EXPRESS",
      service_level: "express",
      delivery_type_id: delivery_type,
      unit_min: 1,
      unit_max: 10,
      default_price: 3_000,
      estimated_delivery_time_min: 2,
      estimated_delivery_time_max: 6,
      allowed_delivery_attempts: 3,
      zone_access_mode: "select_zones",
      zone_selector_type: "zone",
      zone_ids: [zone],
    }),
  },
  "PUT /delivery/services/:serviceId": {
    body: () => ({ default_price: 1_000, allowed_delivery_attempts: 3 }),
  },
  "DELETE /delivery/services/:serviceId": {
    before: async ({ tenant }) => ({ things: { service: await newService(tenant) } }),
  },
  "GET /delivery/price": {
    query: ({ service }) => ({ delivery_service_id: service, units: "2" }),
  },
  "POST /delivery/price": {
    body: ({ service }) => ({
      delivery_service_id: service,
      pickup_location: { latitude: 33.315, longitude: 44.343 },
      delivery_location: here,
      unit_size: 2,
    }),
  },
  "POST /delivery/delivery-types": {
    body: () => ({ code: "cold", name: { en: "Cold chain", ar: "مبرّد", ku: "سارد" } }),
  },
};
