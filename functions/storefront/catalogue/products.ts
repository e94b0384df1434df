import { type AnyEndpoint, endpoint, versionedBy } from "../../../shared/api/endpoint.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { tenantAdmin } from "../access.ts";
import {
  Archived,
  CreateProduct,
  ProductResponse,
  products,
  ProductsResponse,
  UpdateProduct,
} from "./schemas.ts";

const wrongVariants = [
  "too_many_decimals",
  "variant_not_found",
  "inventory_item_not_found",
  "sku_already_exists",
] as const;

/** Products of the market and their variants. */
export const productEndpoints: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/products",
    summary: "List the market's products",
    access: tenantAdmin,
    query: products.query,
    response: ProductsResponse,
    run: ({ db, query }) => products.answer(db, query),
  }),
  endpoint({
    method: "post",
    path: "/products",
    summary: "Add a product with its variants",
    access: tenantAdmin,
    body: CreateProduct,
    response: ProductResponse,
    status: 201,
    errors: ["market_not_found", "category_not_found", ...wrongVariants],
    run: async ({ db, body }) => ({ data: await db.call("storefront.product_create", body) }),
  }),
  endpoint({
    method: "get",
    path: "/products/:product_id",
    version: versionedBy("storefront.products", "product_id"),
    summary: "Read a product",
    access: tenantAdmin,
    params: ids("product_id"),
    response: ProductResponse,
    errors: ["product_not_found"],
    run: async ({ db, params }) => ({ data: await db.call("storefront.product_get", params) }),
  }),
  endpoint({
    method: "put",
    path: "/products/:product_id",
    version: versionedBy("storefront.products", "product_id"),
    summary: "Change a product; variants are sent as the whole list",
    access: tenantAdmin,
    params: ids("product_id"),
    body: UpdateProduct,
    response: ProductResponse,
    errors: ["product_not_found", "category_not_found", ...wrongVariants],
    run: async ({ db, params, body }) => ({
      data: await db.call("storefront.product_update", { ...body, ...params }),
    }),
  }),
  endpoint({
    method: "delete",
    path: "/products/:product_id",
    version: versionedBy("storefront.products", "product_id"),
    summary: "Archive a product",
    access: tenantAdmin,
    params: ids("product_id"),
    response: Archived,
    errors: ["product_not_found"],
    run: async ({ db, params }) => ({ data: await db.call("storefront.product_archive", params) }),
  }),
];
