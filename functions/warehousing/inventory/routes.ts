import { type AnyEndpoint, endpoint, versionedBy } from "../../../shared/api/endpoint.ts";
import type { ErrorCode } from "../../../shared/errors/errors.ts";
import { importEndpoint } from "../../../shared/api/csv/import.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { canManageOperations, canManageOrViewWarehouse, canManageWarehouse } from "../access.ts";
import {
  AdjustmentResponse,
  CreateAdjustment,
  CreateItem,
  CreateMove,
  CreateReceipt,
  CreateReturn,
  CreateWriteOff,
  inventoryList,
  InventoryResponse,
  itemList,
  ItemResponse,
  ItemsResponse,
  MoveResponse,
  ReceiptResponse,
  ReturnResponse,
  UpdateItem,
  writeOffList,
  WriteOffRead,
  WriteOffResponse,
  WriteOffsResponse,
} from "./schemas.ts";

const arriving: readonly ErrorCode[] = [
  "warehouse_not_found",
  "bin_not_found",
  "bin_inactive",
  "inventory_item_not_found",
  "serial_number_required",
  "serial_quantity_must_be_one",
  "serial_number_taken",
];

/** Inventory: items, their places, and stock coming in. */
export const inventory: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/inventory-items",
    summary: "List what warehouses keep",
    access: canManageOrViewWarehouse,
    query: itemList.query,
    response: ItemsResponse,
    async run({ db, query }) {
      const { rows: inventory_items, ...page } = await itemList.run(db, query);
      return { inventory_items, ...page };
    },
  }),
  endpoint({
    method: "post",
    path: "/inventory-items",
    summary: "Add an item that warehouses keep",
    access: canManageWarehouse,
    body: CreateItem,
    response: ItemResponse,
    status: 201,
    errors: ["item_sku_exists"],
    run: ({ db, body }) => db.call("warehousing.inventory_item_create", body),
  }),
  importEndpoint({
    path: "/inventory-items/import",
    summary: "Add the items of a CSV file",
    access: canManageWarehouse,
    line: CreateItem,
    maxLines: 5_000,
    core: "warehousing.inventory_item_import",
    lineErrors: ["item_sku_exists"],
  }),
  endpoint({
    method: "get",
    path: "/inventory-items/:inventory_item_id",
    version: versionedBy("warehousing.inventory_items", "inventory_item_id"),
    summary: "Read an item",
    access: canManageOrViewWarehouse,
    params: ids("inventory_item_id"),
    response: ItemResponse,
    errors: ["inventory_item_not_found"],
    run: ({ db, params }) =>
      db.call("warehousing.inventory_item_get", { id: params.inventory_item_id }),
  }),
  endpoint({
    method: "put",
    path: "/inventory-items/:inventory_item_id",
    version: versionedBy("warehousing.inventory_items", "inventory_item_id"),
    summary: "Change an item, or take it out of use",
    access: canManageWarehouse,
    params: ids("inventory_item_id"),
    body: UpdateItem,
    response: ItemResponse,
    errors: ["inventory_item_not_found", "item_sku_exists", "item_has_stock"],
    run: ({ db, params, body }) =>
      db.call("warehousing.inventory_item_update", { ...body, id: params.inventory_item_id }),
  }),
  endpoint({
    method: "get",
    path: "/inventory",
    summary: "List what lies where",
    access: canManageOrViewWarehouse,
    query: inventoryList.query,
    response: InventoryResponse,
    async run({ db, query }) {
      const { rows, ...page } = await inventoryList.run(db, query);
      return { inventory: rows, ...page };
    },
  }),
  endpoint({
    method: "post",
    path: "/inventory/receipts",
    summary: "Take goods into a warehouse",
    access: canManageWarehouse,
    body: CreateReceipt,
    response: ReceiptResponse,
    status: 201,
    errors: ["inventory_item_inactive", ...arriving],
    run: ({ db, body }) => db.call("warehousing.receipt_create", body),
  }),
  endpoint({
    method: "post",
    path: "/inventory/returns",
    summary: "Take goods back that come without a delivery",
    access: canManageWarehouse,
    body: CreateReturn,
    response: ReturnResponse,
    status: 201,
    errors: ["inventory_item_inactive", "item_of_parcel", ...arriving],
    run: ({ db, body }) => db.call("warehousing.return_create", body),
  }),
  endpoint({
    method: "get",
    path: "/inventory/write-offs",
    summary: "List what was written off, newest first",
    access: canManageOrViewWarehouse,
    query: writeOffList.query,
    response: WriteOffsResponse,
    async run({ db, query }) {
      const { rows: write_offs, ...page } = await writeOffList.run(db, query);
      return { write_offs, ...page };
    },
  }),
  endpoint({
    method: "get",
    path: "/inventory/write-offs/:write_off_id",
    summary: "Read a write-off with its lines",
    access: canManageOrViewWarehouse,
    params: ids("write_off_id"),
    response: WriteOffRead,
    errors: ["write_off_not_found"],
    run: ({ db, params }) => db.call("warehousing.write_off_get", { id: params.write_off_id }),
  }),
  endpoint({
    method: "post",
    path: "/inventory/write-offs",
    summary: "Write off what is lost or spoilt, all of it or nothing",
    access: canManageOperations,
    body: CreateWriteOff,
    response: WriteOffResponse,
    status: 201,
    errors: [
      "warehouse_not_found",
      "bin_not_found",
      "inventory_item_not_found",
      "item_of_parcel",
      "insufficient_stock",
    ],
    run: ({ db, body }) => db.call("warehousing.write_off_create", body),
  }),
  endpoint({
    method: "post",
    path: "/inventory/moves",
    summary: "Move stock to other places of its warehouse, all of it or nothing",
    access: canManageWarehouse,
    body: CreateMove,
    response: MoveResponse,
    status: 201,
    errors: ["insufficient_stock", ...arriving],
    run: ({ db, body }) => db.call("warehousing.move_create", body),
  }),
  endpoint({
    method: "post",
    path: "/inventory/adjustments",
    summary: "Correct the stock of a bin",
    access: canManageWarehouse,
    body: CreateAdjustment,
    response: AdjustmentResponse,
    status: 201,
    errors: ["insufficient_stock", ...arriving],
    run: ({ db, body }) => db.call("warehousing.adjustment_create", body),
  }),
];
