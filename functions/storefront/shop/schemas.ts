import { z } from "zod";
import { defineList, id } from "../../../shared/api/list.ts";
import { Id, JsonObject, listResponse, Timestamp } from "../../../shared/schemas/schemas.ts";
import {
  Category,
  ListedAttributes,
  ListedProduct,
  Product,
  Variant,
} from "../catalogue/schemas.ts";
import { normalizeDomain } from "../custom-domain/domain-name.ts";
import { StoredLocalizedText } from "../schemas.ts";

/** Any text: a name that no store can have is a store that does not exist. */
export const StoreName = z.object({ store_name: z.string().max(200) });
export const StoreProduct = StoreName.extend({ product_id: Id });

export const ByDomain = z.object({
  domain: z.string().max(1_000).transform((text) => normalizeDomain(text) ?? ""),
});

export const ShopResponse = z.object({
  market: z.object({
    id: Id,
    code: z.int(),
    store_name: z.string(),
    directory_category: z.string(),
    tagline: StoredLocalizedText,
    logo_url: z.string().nullable(),
    theme_settings: JsonObject,
    banners: z.array(JsonObject),
    settings: z.object({ currency: z.string(), payment_methods: z.array(z.string()) }),
  }),
});

export const ShopCategories = listResponse(
  Category.omit({ tenant_id: true, is_active: true, created_at: true, updated_at: true }),
);

const internal = { inventory_item_id: true, is_active: true } as const;
const ShopProduct = Product.omit({ tenant_id: true, is_active: true }).extend({
  variants: z.array(Variant.omit(internal)),
});
const ListedShopProduct = ListedProduct.omit({ tenant_id: true, is_active: true }).extend({
  variants: z.array(Variant.omit(internal).extend({ attributes: ListedAttributes })),
}).meta({ id: "StoreProductSummary" });
export const ShopProducts = listResponse(ListedShopProduct);
export const ShopProductResponse = z.object({
  product: ShopProduct.extend({
    reviews: z.array(z.object({
      id: Id,
      rating: z.int(),
      comment: z.string().nullable(),
      created_at: Timestamp,
    })),
  }),
});

/** Read by a core of its own, which enters the shop first; this says how lists are asked for. */
export const shopProducts = defineList({
  view: "storefront.products_list",
  search: ["name"],
  sort: ["created_at", "title", "min_price"],
  params: { category_id: id("category_id") },
  limit: { default: 20, max: 100 },
});

export const Joined = z.object({
  data: z.object({
    tenant_id: Id,
    market_id: Id,
    tenant_user_type: z.string(),
    joined: z.boolean(),
  }),
});
