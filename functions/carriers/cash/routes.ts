import { can } from "../../../shared/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/endpoint.ts";
import { CarrierParams } from "../tenant/schemas.ts";
import { collectionsOf, CollectionsResponse, Remit, RemittanceResponse } from "./schemas.ts";

/** Cash that external carriers took at the door: what they owe, and what they pay of it. */
export const carrierCash: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/tenant/:carrier_code/collections",
    summary: "List the cash a carrier collected, with what it owes in each currency",
    access: can("view:tenant", "manage:tenant"),
    params: CarrierParams,
    query: collectionsOf.query,
    response: CollectionsResponse,
    errors: ["invalid_column_filters"],
    async run({ db, params, query }) {
      const { rows, ...page } = await collectionsOf.run(db, params.carrier_code, query);
      return { collections: rows, ...page };
    },
  }),
  endpoint({
    method: "post",
    path: "/tenant/:carrier_code/remittances",
    summary: "Enter what a carrier paid of the cash it collected; all of it or nothing",
    access: can("manage:tenant"),
    params: CarrierParams,
    body: Remit,
    response: RemittanceResponse,
    status: 201,
    errors: [
      "carrier_not_found",
      "too_many_decimals",
      "no_pending_collections",
      "cod_collections_not_pending",
      "settlement_amount_mismatch",
      "remittance_exceeds_owed",
      "remittance_amount_mismatch",
      "remittance_reference_exists",
    ],
    run: async ({ db, params, body }) => ({
      remittance: await db.call("money.carrier_remit", { ...body, ...params }),
    }),
  }),
];
