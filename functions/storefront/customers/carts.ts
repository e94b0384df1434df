import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { isCustomer } from "../access.ts";
import { AddItem, CartResponse, OpenCart, UpdateItem } from "./schemas.ts";

const notMine = ["cart_not_found", "cart_not_active"] as const;

/** A customer's cart. */
export const carts: AnyEndpoint[] = [
  endpoint({
    method: "post",
    path: "/carts",
    summary: "My cart in a live market; the one I have, or a new one",
    access: isCustomer,
    body: OpenCart,
    response: CartResponse,
    status: 201,
    errors: ["market_not_found"],
    run: async ({ db, body }) => ({
      data: await db.call("storefront.cart_open", { market_id: body.marketId }),
    }),
  }),
  endpoint({
    method: "get",
    path: "/carts/:cart_id",
    summary: "Read my cart at the prices of now",
    access: isCustomer,
    params: ids("cart_id"),
    response: CartResponse,
    errors: ["cart_not_found"],
    run: async ({ db, params }) => ({ data: await db.call("storefront.cart_get", params) }),
  }),
  endpoint({
    method: "post",
    path: "/carts/:cart_id/items",
    summary: "Put a variant into my cart, or more of it",
    access: isCustomer,
    params: ids("cart_id"),
    body: AddItem,
    response: CartResponse,
    status: 201,
    errors: [
      ...notMine,
      "market_not_found",
      "variant_not_found",
      "cart_quantity_exceeded",
      "cart_full",
    ],
    run: async ({ db, params, body }) => ({
      data: await db.call("storefront.cart_item_add", {
        ...params,
        variant_id: body.variantId,
        quantity: body.quantity,
      }),
    }),
  }),
  endpoint({
    method: "put",
    path: "/carts/:cart_id/items/:cart_item_id",
    summary: "Say how many of an item I want",
    access: isCustomer,
    params: ids("cart_id", "cart_item_id"),
    body: UpdateItem,
    response: CartResponse,
    errors: [...notMine, "cart_item_not_found"],
    run: async ({ db, params, body }) => ({
      data: await db.call("storefront.cart_item_update", { ...params, ...body }),
    }),
  }),
  endpoint({
    method: "delete",
    path: "/carts/:cart_id/items/:cart_item_id",
    summary: "Take an item out of my cart",
    access: isCustomer,
    params: ids("cart_id", "cart_item_id"),
    response: CartResponse,
    errors: [...notMine, "cart_item_not_found"],
    run: async ({ db, params }) => ({
      data: await db.call("storefront.cart_item_remove", params),
    }),
  }),
];
