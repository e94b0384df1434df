import { z } from "zod";
import { defineList, equal } from "../../../shared/api/list.ts";
import { Address, AddressFields, needBoth } from "../../../shared/schemas/address.ts";
import {
  Id,
  JsonObject,
  Latitude,
  Longitude,
  Pagination,
  Timestamp,
} from "../../../shared/schemas/schemas.ts";
import { StoredLocalizedText } from "../schemas.ts";

const Quantity = z.int().min(1).max(999);

export const OpenCart = z.object({ marketId: Id }).meta({ id: "OpenCart" });
export const AddItem = z.object({ variantId: Id, quantity: Quantity }).meta({ id: "AddCartItem" });
export const UpdateItem = z.object({ quantity: Quantity }).meta({ id: "UpdateCartItem" });

const Cart = z.object({
  id: Id,
  marketId: Id,
  status: z.enum(["active", "converted", "abandoned"]),
  currency: z.string(),
  items: z.array(z.object({
    id: Id,
    variantId: Id,
    productId: Id.nullable(),
    productName: StoredLocalizedText.nullable(),
    sku: z.string().nullable(),
    image: z.string().nullable(),
    attributes: JsonObject,
    quantity: z.int(),
    unitPrice: z.number().nullable().describe("Null for what is no longer on sale"),
    total: z.number().nullable(),
    available: z.boolean(),
    availableQuantity: z.int().nullable().describe(
      "How many can be ordered now, at most the 999 that a cart takes; 0 for what is no longer on sale, null for what is not kept in stock",
    ),
  })),
  totalItems: z.int(),
  subtotal: z.number(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
}).meta({ id: "Cart" });
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

/** Coordinates under the words of the address book, or of the checkout: `lat` and `long`. */
export const AddAddress = AddressFields.extend({
  lat: Latitude.nullish(),
  long: Longitude.nullish(),
  is_default: z.boolean().optional(),
}).transform(({ lat, long, ...address }, context) => {
  const latitude = address.latitude ?? lat ?? null;
  const longitude = address.longitude ?? long ?? null;
  needBoth(latitude, longitude, context);
  return { ...address, latitude, longitude };
}).meta({ id: "AddCustomerAddress" });

const OwnAddress = Address.extend({ is_default: z.boolean() }).meta({ id: "CustomerAddress" });
export const AddressResponse = z.object({ data: OwnAddress });
export const AddressesResponse = z.object({ data: z.array(OwnAddress), pagination: Pagination });

export const addressBook = defineList({
  view: "storefront.addresses_list",
  search: ["full_address", "city"],
  sort: ["created_at", "updated_at", "city", "is_default"],
  params: { city: equal("city") },
  limit: { default: 20, max: 100 },
});
