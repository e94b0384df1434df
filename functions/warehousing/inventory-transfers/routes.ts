import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { canManageOrViewWarehouse, canManageWarehouse } from "../access.ts";
import { CreateTransfer, transferList, TransferResponse, TransfersResponse } from "./schemas.ts";

/** Stock that goes from one warehouse to another at a stroke. */
export const inventoryTransfers: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/inventory-transfers",
    summary: "List inventory transfers",
    access: canManageOrViewWarehouse,
    query: transferList.query,
    response: TransfersResponse,
    async run({ db, query }) {
      const { rows: inventory_transfers, ...page } = await transferList.run(db, query);
      return { inventory_transfers, ...page };
    },
  }),
  endpoint({
    method: "get",
    path: "/inventory-transfers/:transfer_id",
    summary: "Read an inventory transfer with its movements",
    access: canManageOrViewWarehouse,
    params: ids("transfer_id"),
    response: TransferResponse,
    errors: ["inventory_transfer_not_found"],
    run: ({ db, params }) =>
      db.call("warehousing.inventory_transfer_get", { id: params.transfer_id }),
  }),
  endpoint({
    method: "post",
    path: "/inventory-transfers",
    summary: "Move stock to another warehouse, all of it or nothing",
    access: canManageWarehouse,
    body: CreateTransfer,
    response: TransferResponse,
    status: 201,
    errors: [
      "warehouses_must_differ",
      "warehouse_not_found",
      "bin_not_found",
      "bin_inactive",
      "bin_of_sorting_session",
      "inventory_item_not_found",
      "item_of_parcel",
      "insufficient_stock",
      "transfer_reference_exists",
    ],
    run: ({ db, body }) => db.call("warehousing.inventory_transfer_create", body),
  }),
];
