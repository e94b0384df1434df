import { z } from "zod";
import { defineList, equal } from "../../../shared/list.ts";
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
import { Kept } from "../schemas.ts";

const Quantity = z.int().min(1).max(999);

export const OpenCart = z.object({ marketId: Id });
export const AddItem = z.object({ variantId: Id, quantity: Quantity });
export const UpdateItem = z.object({ quantity: Quantity });

const Cart = z.object({
  id: Id,
  marketId: Id,
  status: z.enum(["active", "converted", "abandoned"]),
  currency: z.string(),
  items: z.array(z.object({
    id: Id,
    variantId: Id,
    productId: Id.nullable(),
    productName: Kept.nullable(),
    sku: z.string().nullable(),
    image: z.string().nullable(),
    attributes: JsonObject,
    quantity: z.int(),
    /** Null for what is no longer on sale. */
    unitPrice: z.number().nullable(),
    total: z.number().nullable(),
    available: z.boolean(),
  })),
  totalItems: z.int(),
  subtotal: z.number(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
});
export const CartResponse = z.object({ data: Cart });

export const MarketQuery = z.object({ marketId: Id });
export const PaymentMethodsResponse = z.object({
  data: z.array(z.object({
    id: Id,
    code: z.string(),
    type: z.enum(["wallet", "cash_on_delivery", "gateway"]),
    gateway_code: z.string().optional(),
    name: z.string(),
  })),
});

const Address = z.object({
  id: Id,
  title: JsonObject,
  full_address: z.string(),
  city: z.string().nullable(),
  country: z.string().nullable(),
  latitude: z.number().nullable(),
  longitude: z.number().nullable(),
  contact_info: JsonObject,
  zone_id: Id.nullable(),
  is_default: z.boolean(),
  created_at: Timestamp,
  updated_at: Timestamp,
});

/** Coordinates under the words of the address book, or of the checkout: `lat` and `long`. */
export const AddAddress = z.object({
  title: LocalizedText.optional(),
  full_address: LongText.min(1),
  city: Text.nullish(),
  country: Text.nullish(),
  latitude: Latitude.nullish(),
  longitude: Longitude.nullish(),
  lat: Latitude.nullish(),
  long: Longitude.nullish(),
  contact_info: JsonObject.optional(),
  is_default: z.boolean().optional(),
}).transform(({ lat, long, ...address }, context) => {
  const latitude = address.latitude ?? lat ?? null;
  const longitude = address.longitude ?? long ?? null;
  // One coordinate alone is no place; the refusal names the missing one.
  if ((latitude === null) !== (longitude === null)) {
    context.issues.push({
      code: "custom",
      path: [latitude === null ? "latitude" : "longitude"],
      input: address,
    });
  }
  return { ...address, latitude, longitude };
});

export const AddressResponse = z.object({ data: Address });
export const AddressesResponse = z.object({ data: z.array(Address), pagination: Pagination });

export const addressBook = defineList({
  view: "storefront.addresses_list",
  search: ["full_address", "city"],
  sort: ["created_at", "updated_at", "city", "is_default"],
  params: { city: equal("city") },
  limit: { default: 20, max: 100 },
});
