import { type AnyEndpoint, endpoint, versionedBy } from "../../../shared/api/endpoint.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { tenantAdmin } from "../access.ts";
import {
  Archived,
  categories,
  CategoriesResponse,
  CategoryResponse,
  CreateCategory,
  UpdateCategory,
} from "./schemas.ts";

/** Categories that the market's products stand in. */
export const productCategories: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/categories",
    summary: "List the market's categories",
    access: tenantAdmin,
    query: categories.query,
    response: CategoriesResponse,
    run: ({ db, query }) => categories.answer(db, query),
  }),
  endpoint({
    method: "post",
    path: "/categories",
    summary: "Add a category",
    access: tenantAdmin,
    body: CreateCategory,
    response: CategoryResponse,
    status: 201,
    errors: ["market_not_found"],
    run: async ({ db, body }) => ({ data: await db.call("storefront.category_create", body) }),
  }),
  endpoint({
    method: "get",
    path: "/categories/:category_id",
    version: versionedBy("storefront.product_categories", "category_id"),
    summary: "Read a category",
    access: tenantAdmin,
    params: ids("category_id"),
    response: CategoryResponse,
    errors: ["category_not_found"],
    run: async ({ db, params }) => ({ data: await db.call("storefront.category_get", params) }),
  }),
  endpoint({
    method: "put",
    path: "/categories/:category_id",
    version: versionedBy("storefront.product_categories", "category_id"),
    summary: "Change a category",
    access: tenantAdmin,
    params: ids("category_id"),
    body: UpdateCategory,
    response: CategoryResponse,
    errors: ["category_not_found"],
    run: async ({ db, params, body }) => ({
      data: await db.call("storefront.category_update", { ...body, ...params }),
    }),
  }),
  endpoint({
    method: "delete",
    path: "/categories/:category_id",
    version: versionedBy("storefront.product_categories", "category_id"),
    summary: "Archive a category that no product is in",
    access: tenantAdmin,
    params: ids("category_id"),
    response: Archived,
    errors: ["category_not_found", "category_in_use"],
    run: async ({ db, params }) => ({
      data: await db.call("storefront.category_archive", params),
    }),
  }),
];
