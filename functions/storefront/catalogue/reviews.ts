import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { isCustomer, tenantAdmin } from "../access.ts";
import { CreateReview, DecideReview, ReviewResponse, reviews, ReviewsResponse } from "./schemas.ts";

/** Reviews: written by buyers, moderated by the tenant. */
export const reviewEndpoints: AnyEndpoint[] = [
  endpoint({
    method: "post",
    path: "/products/:product_id/reviews",
    summary: "Review a product that was delivered to me",
    access: isCustomer,
    params: ids("product_id"),
    body: CreateReview,
    response: ReviewResponse,
    status: 201,
    errors: ["product_not_found", "review_requires_purchase", "product_already_reviewed"],
    run: async ({ db, params, body }) => ({
      data: await db.call("storefront.review_create", { ...body, ...params }),
    }),
  }),
  endpoint({
    method: "get",
    path: "/reviews",
    summary: "List reviews",
    access: tenantAdmin,
    query: reviews.query,
    response: ReviewsResponse,
    run: ({ db, query }) => reviews.answer(db, query),
  }),
  endpoint({
    method: "put",
    path: "/reviews/:review_id",
    summary: "Approve or reject a review",
    access: tenantAdmin,
    params: ids("review_id"),
    body: DecideReview,
    response: ReviewResponse,
    errors: ["review_not_found"],
    run: async ({ db, params, body }) => ({
      data: await db.call("storefront.review_decide", { ...body, ...params }),
    }),
  }),
];
