import { z } from "zod";
import { atLeast, atMost, defineList, flag, id, oneOf, words } from "../../../shared/api/list.ts";
import {
  Id,
  JsonObject,
  LongText,
  Money,
  orEmpty,
  Pagination,
  Timestamp,
  WebUrl,
} from "../../../shared/schemas/schemas.ts";
import { maxBytes, maxMetadataBytes } from "../../../shared/schemas/sizes.ts";
import { Name, OptionalText, Position, StoredLocalizedText } from "../schemas.ts";

export const CreateCategory = z.object({
  name: Name,
  description: OptionalText.optional(),
  image_url: orEmpty(WebUrl).nullish(),
  sort_order: Position.optional(),
  is_active: z.boolean().optional(),
}).meta({ id: "CreateCategory" });
export const UpdateCategory = CreateCategory.partial().meta({ id: "UpdateCategory" });

export const Category = z.object({
  id: Id,
  tenant_id: Id,
  market_id: Id,
  name: StoredLocalizedText,
  title: z.string(),
  description: StoredLocalizedText,
  image_url: z.string().nullable(),
  sort_order: z.int(),
  is_active: z.boolean(),
  product_count: z.int(),
  created_at: Timestamp,
  updated_at: Timestamp,
}).meta({ id: "Category" });
export const CategoryResponse = z.object({ data: Category });
export const CategoriesResponse = z.object({ data: z.array(Category), pagination: Pagination });

export const categories = defineList({
  view: "storefront.categories_list",
  search: ["name ->> 'en'", "name ->> 'ar'", "name ->> 'ku'"],
  sort: ["sort_order", "created_at", "title", "updated_at"],
  order: { direction: "asc" },
  params: { is_active: flag("is_active") },
  limit: { default: 20, max: 100 },
});

const Sku = z.string().trim().min(1).max(64);

const VariantFields = z.object({
  id: Id.optional(),
  sku: Sku,
  price: Money,
  compare_at_price: Money.nullish(),
  inventory_item_id: Id.nullish(),
  attributes: maxBytes(maxMetadataBytes, JsonObject).optional(),
  is_active: z.boolean().optional(),
}).meta({ id: "ProductVariantFields" });

const Variants = z.array(VariantFields).max(100).superRefine((variants, context) => {
  const skus = new Set<string>();
  const ids = new Set<string>();
  for (const [index, { sku, id }] of variants.entries()) {
    if (skus.has(sku)) context.issues.push({ code: "custom", path: [index, "sku"], input: sku });
    skus.add(sku);
    if (id === undefined) continue;
    if (ids.has(id)) context.issues.push({ code: "custom", path: [index, "id"], input: id });
    ids.add(id);
  }
});

export const CreateProduct = z.object({
  name: Name,
  description: OptionalText.optional(),
  category_id: Id.nullish(),
  images: maxBytes(maxMetadataBytes, z.array(WebUrl).max(20)).optional(),
  is_active: z.boolean().optional(),
  variants: Variants.optional(),
}).meta({ id: "CreateProduct" });
export const UpdateProduct = CreateProduct.partial().meta({ id: "UpdateProduct" });

export const Variant = z.object({
  id: Id,
  sku: z.string(),
  price: z.number(),
  compare_at_price: z.number().nullable(),
  inventory_item_id: Id.nullable(),
  attributes: JsonObject,
  is_active: z.boolean(),
}).meta({ id: "ProductVariant" });

export const Product = z.object({
  id: Id,
  tenant_id: Id,
  market_id: Id,
  category_id: Id.nullable(),
  name: StoredLocalizedText,
  title: z.string(),
  description: StoredLocalizedText,
  images: z.array(z.string()),
  is_active: z.boolean(),
  min_price: z.number().nullable().describe("Of the variants on sale"),
  max_price: z.number().nullable(),
  variants: z.array(Variant),
  variant_count: z.int(),
  rating: z.object({ average: z.number().nullable(), count: z.int() }),
  created_at: Timestamp,
  updated_at: Timestamp,
}).meta({ id: "Product" });
/** Attributes of a variant in a list of products. */
export const ListedAttributes = JsonObject.nullable().describe(
  "Null where they take more than 256 bytes: the product has them",
);

/** As lists show it: without what only its own page needs, and with its first twenty variants. */
export const ListedProduct = Product.omit({ description: true }).extend({
  variants: z.array(Variant.extend({ attributes: ListedAttributes })),
}).meta({ id: "ProductSummary" });
export const ProductResponse = z.object({ data: Product });
export const ProductsResponse = z.object({ data: z.array(ListedProduct), pagination: Pagination });

const sku = {
  schema: Sku,
  condition: (value: string) =>
    `exists (select from storefront.variants_list v
      where v.tenant_id = r.tenant_id and v.product_id = r.id and v.sku = ${value} #>> '{}')`,
};

export const products = defineList({
  view: "storefront.products_list",
  search: ["name ->> 'en'", "name ->> 'ar'", "name ->> 'ku'"],
  sort: ["created_at", "updated_at", "title", "min_price"],
  params: {
    category_id: id("category_id"),
    is_active: flag("is_active"),
    sku,
    min_price: atLeast("min_price"),
    max_price: atMost("min_price"),
  },
  limit: { default: 20, max: 100 },
});

export const Archived = z.object({ data: z.object({ id: Id, archived: z.literal(true) }) });

export const CreateReview = z.object({
  rating: z.int().min(1).max(5),
  comment: LongText.nullish(),
}).meta({ id: "CreateReview" });
export const DecideReview = z.object({ decision: z.enum(["approved", "rejected"]) }).meta({
  id: "DecideProductReview",
});

const ReviewStatus = z.enum(["pending", "approved", "rejected"]);
const Review = z.object({
  id: Id,
  product_id: Id,
  rating: z.int(),
  comment: z.string().nullable(),
  status: ReviewStatus,
  reviewed_by: Id.nullable(),
  reviewed_at: Timestamp.nullable(),
  created_at: Timestamp,
}).meta({ id: "ProductReview" });
export const ReviewResponse = z.object({ data: Review });
export const ReviewsResponse = z.object({
  data: z.array(Review.extend({
    product: z.object({ id: Id, name: StoredLocalizedText }),
    customer: z.object({ id: Id.nullable(), full_name: z.string().nullable() }),
  })),
  pagination: Pagination,
});

const rating = {
  schema: z.enum(["1", "2", "3", "4", "5"]),
  condition: (value: string) => `r.rating = (${value} #>> '{}')::integer`,
};

export const reviews = defineList({
  view: "storefront.reviews_list",
  hidden: ["tenant_id", "user_id", "updated_at"],
  search: ["comment"],
  sort: ["created_at", "rating", "status", "reviewed_at"],
  params: {
    status: oneOf("status", words(ReviewStatus)),
    product_id: id("product_id"),
    rating,
  },
  limit: { default: 20, max: 100 },
});
