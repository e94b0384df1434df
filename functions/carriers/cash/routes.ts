import { permission } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { CarrierParams } from "../tenant/schemas.ts";
import {
  collectionsOf,
  CollectionsResponse,
  Remit,
  RemittanceResponse,
  remittancesOf,
  RemittancesResponse,
  RemittedResponse,
  Reverse,
} from "./schemas.ts";

const OfRemittance = CarrierParams.extend(ids("remittance_id").shape);

/** Cash that external carriers took at the door: what they owe, and what they pay of it. */
export const carrierCash: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/tenant/:carrier_code/collections",
    summary: "List the cash a carrier collected, with what it owes in each currency",
    access: permission("view:tenant", "manage:tenant"),
    params: CarrierParams,
    query: collectionsOf.query,
    response: CollectionsResponse,
    run: ({ db, params, query }) => collectionsOf.answer(db, params.carrier_code, query),
  }),
  endpoint({
    method: "get",
    path: "/tenant/:carrier_code/remittances",
    summary: "List what a carrier paid of the cash it collected, and what of it was written off",
    access: permission("view:tenant", "manage:tenant"),
    params: CarrierParams,
    query: remittancesOf.query,
    response: RemittancesResponse,
    run: ({ db, params, query }) => remittancesOf.answer(db, params.carrier_code, query),
  }),
  endpoint({
    method: "get",
    path: "/tenant/:carrier_code/remittances/:remittance_id",
    summary: "Read a payment of a carrier with the collections it paid",
    access: permission("view:tenant", "manage:tenant"),
    params: OfRemittance,
    response: RemittanceResponse,
    errors: ["remittance_not_found"],
    run: async ({ db, params }) => ({
      remittance: await db.call("money.carrier_remittance_read", params),
    }),
  }),
  endpoint({
    method: "post",
    path: "/tenant/:carrier_code/remittances",
    person: true,
    summary:
      "Enter what a carrier paid of the cash it collected, or will not pay; all of it or nothing",
    access: permission("manage:tenant"),
    params: CarrierParams,
    body: Remit,
    response: RemittedResponse,
    status: 201,
    errors: [
      "carrier_not_found",
      "too_many_decimals",
      "charges_exceed_remittance",
      "no_pending_collections",
      "cod_collections_not_pending",
      "settlement_amount_mismatch",
      "remittance_exceeds_owed",
      "remittance_amount_mismatch",
      "remittance_reference_exists",
    ],
    run: async ({ db, params, body }) => ({
      remittance: await db.call("money.carrier_remittance_enter", { ...body, ...params }),
    }),
  }),
  endpoint({
    method: "post",
    path: "/tenant/:carrier_code/remittances/:remittance_id/reverse",
    person: true,
    summary: "Reverse a payment or write-off that was entered wrongly; its cash is owed again",
    access: permission("manage:tenant"),
    params: OfRemittance,
    body: Reverse,
    response: RemittedResponse,
    errors: ["remittance_not_found", "remittance_already_reversed", "insufficient_desk_cash"],
    run: async ({ db, params, body }) => ({
      remittance: await db.call("money.carrier_remittance_take_back", { ...body, ...params }),
    }),
  }),
];
