import { anyOf } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { isCustomer, tenantAdmin } from "../access.ts";
import {
  AddAddress,
  addressBook,
  AddressesResponse,
  AddressResponse,
  MarketQuery,
  PaymentMethodsResponse,
} from "./schemas.ts";

/** The choices of a customer before ordering: payment methods and addresses. */
export const checkout: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/payment-methods",
    summary: "How a live market can be paid",
    access: anyOf(isCustomer, tenantAdmin),
    query: MarketQuery,
    response: PaymentMethodsResponse,
    errors: ["market_not_found"],
    run: async ({ db, query }) => ({
      data: await db.call("storefront.payment_methods_get", { market_id: query.marketId }),
    }),
  }),
  endpoint({
    method: "get",
    path: "/addresses",
    summary: "My address book",
    access: isCustomer,
    query: addressBook.query,
    response: AddressesResponse,
    run: ({ db, query }) => addressBook.answer(db, query),
  }),
  endpoint({
    method: "post",
    path: "/addresses",
    summary: "Add to my address book",
    access: isCustomer,
    body: AddAddress,
    response: AddressResponse,
    status: 201,
    run: async ({ db, body }) => ({
      data: await db.call("storefront.customer_address_create", body),
    }),
  }),
];
