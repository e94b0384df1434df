import { either } from "../../../shared/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/endpoint.ts";
import { pagination } from "../../../shared/list.ts";
import { customers, tenantAdmin } from "../people.ts";
import {
  AddAddress,
  addressBook,
  AddressesResponse,
  AddressResponse,
  MarketQuery,
  PaymentMethodsResponse,
} from "./schemas.ts";

/** What a customer chooses from before he orders: how to pay and where to. */
export const checkout: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/payment-methods",
    summary: "How a live market can be paid",
    access: either(customers, tenantAdmin),
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
    access: customers,
    query: addressBook.query,
    response: AddressesResponse,
    async run({ db, query }) {
      const page = await addressBook.run(db, query);
      return { data: page.rows, pagination: pagination(page) };
    },
  }),
  endpoint({
    method: "post",
    path: "/addresses",
    summary: "Add to my address book",
    access: customers,
    body: AddAddress,
    response: AddressResponse,
    status: 201,
    run: async ({ db, body }) => ({
      data: await db.call("storefront.customer_address_create", body),
    }),
  }),
];
