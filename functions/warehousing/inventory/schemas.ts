import { z } from "zod";
import {
  contains,
  defineList,
  equal,
  flag,
  foundBy,
  id,
  since,
  until,
} from "../../../shared/api/list.ts";
import {
  Id,
  listResponse,
  LongText,
  NamedRef,
  PersonRef,
  Text,
  Timestamp,
} from "../../../shared/schemas/schemas.ts";
import { scannedText } from "../../../shared/schemas/digits.ts";
import { maxText } from "../../../shared/schemas/sizes.ts";

const Word = z.string().trim().min(1).max(200);

/** Whole units of an item. */
export const Units = z.int().min(1).max(1_000_000_000);
/** The number of a lot or a piece, whichever keyboard it was typed on: it is one number, and kept so. */
export const LotNumber = maxText(200).overwrite(scannedText);
export const Lot = LotNumber.min(1).nullish();

/** Reserving is the business of orders: stock never comes in reserved. */
export const StockStatus = z.string().regex(/^(?!reserved$)[a-z][a-z_]{0,31}$/);

export const CreateItem = z.object({
  name: Text,
  sku: Word,
  barcode: z.string().overwrite(scannedText).min(1).max(200).nullish(),
  brand: Word.nullish(),
  model: Word.nullish(),
  unit_size: z.number().positive().max(999_999_999).multipleOf(0.001).optional(),
  is_serialized: z.boolean().optional(),
  is_active: z.boolean().optional(),
}).meta({ id: "CreateInventoryItem" });
export const UpdateItem = CreateItem.partial().meta({ id: "UpdateInventoryItem" });

/** The description of an item, without its timestamps and stock. */
export const ItemCard = z.object({
  id: Id,
  name: z.string(),
  sku: z.string(),
  barcode: z.string().nullable(),
  brand: z.string().nullable(),
  model: z.string().nullable(),
  unit_size: z.number(),
  is_active: z.boolean(),
}).meta({ id: "InventoryItemCard" });
const Item = ItemCard.extend({
  is_serialized: z.boolean(),
  created_at: Timestamp,
  updated_at: Timestamp,
}).meta({ id: "InventoryItem" });

export const ItemResponse = z.object({ inventory_item: Item });
export const ItemsResponse = listResponse(Item);

export const ItemRef = z.object({ id: Id, name: z.string(), sku: z.string() }).meta({
  id: "InventoryItemRef",
});
export const BinRef = z.object({ id: Id, code: z.string(), name: z.string() }).meta({
  id: "BinRef",
});

const Stock = z.object({
  id: Id,
  warehouse_id: Id,
  bin_id: Id,
  item_id: Id,
  status: z.string(),
  lot_number: z.string().nullable(),
  serial_number: z.string().nullable(),
  quantity: z.int(),
  reserved_for_type: z.string().nullable(),
  reserved_for_id: Id.nullable(),
  item: ItemRef,
  bin: BinRef,
  warehouse: NamedRef,
  created_at: Timestamp,
  updated_at: Timestamp,
}).meta({ id: "Stock" });
export const InventoryResponse = listResponse(Stock);

export const Movement = z.object({
  id: Id,
  transaction_type: z.string(),
  quantity: z.int(),
  warehouse_id: Id,
  lot_number: z.string().nullable(),
  serial_number: z.string().nullable(),
  item: ItemRef,
  from_bin: BinRef.nullable(),
  to_bin: BinRef.nullable(),
}).meta({ id: "InventoryMovement" });

export const CreateReceipt = z.object({
  warehouse_id: Id,
  transaction_type: z.enum(["receive", "initial_stock"]).optional(),
  notes: LongText.nullish(),
  items: z.array(z.object({
    item_id: Id,
    bin_id: Id,
    quantity: Units,
    status: StockStatus.optional(),
    lot_number: Lot,
    serial_number: Lot,
  })).min(1).max(1_000),
}).meta({ id: "CreateInventoryReceipt" });
export const ReceiptResponse = z.object({ receipt_id: Id, transactions: z.array(Movement) });

/** Goods that come back without a delivery; what is damaged is put aside. */
export const CreateReturn = z.object({
  warehouse_id: Id,
  reason: Text,
  notes: Text.nullish(),
  items: z.array(z.object({
    item_id: Id,
    bin_id: Id,
    quantity: Units,
    status: z.enum(["available", "damaged"]).optional(),
    lot_number: Lot,
    serial_number: Lot,
  })).min(1).max(1_000),
}).meta({ id: "CreateInventoryReturn" });
export const ReturnResponse = z.object({ return_id: Id, transactions: z.array(Movement) });

/**
 * Lost or spoilt goods. Of a lot or a piece `lot` or `serial` says which; another name for it is refused, not ignored.
 */
export const CreateWriteOff = z.object({
  warehouse_id: Id,
  reason: Text,
  items: z.array(z.strictObject({
    item_id: Id,
    bin_id: Id,
    status: StockStatus.optional(),
    lot: Lot,
    serial: Lot,
    quantity: Units,
    note: Text.nullish(),
  })).min(1).max(1_000),
}).meta({ id: "CreateWriteOff" });
export const WriteOffResponse = z.object({ write_off_id: Id, transactions: z.array(Movement) });

const WriteOff = z.object({
  id: Id,
  warehouse: NamedRef,
  reason: z.string(),
  written_off_by: PersonRef.nullable().describe("Null: an API key"),
  created_at: Timestamp,
  lines: z.int(),
  units: z.int(),
}).meta({ id: "WriteOff" });
export const WriteOffsResponse = listResponse(WriteOff);
export const WriteOffRead = z.object({
  write_off: WriteOff.extend({
    items: z.array(z.object({
      id: Id,
      item: ItemRef,
      bin: BinRef,
      status: z.string(),
      lot_number: z.string().nullable(),
      serial_number: z.string().nullable(),
      quantity: z.int(),
      note: z.string().nullable(),
    })).describe("The lines in the order they were given; `id` is that of the movement"),
  }),
});

export const writeOffList = defineList({
  view: "warehousing.write_offs_list",
  sort: ["created_at"],
  params: {
    warehouse_id: id("warehouse_id"),
    /** Those that took units of this item. */
    item_id: { ...foundBy("warehousing.write_offs_of"), schema: Id },
    /** Words of the reason. */
    reason: contains("reason"),
    written_off_by: id("written_off_by_id"),
    date_from: since("created_at"),
    date_to: until("created_at"),
  },
  hidden: ["warehouse_id", "written_off_by_id"],
  limit: { default: 20, max: 100 },
});

export const CreateAdjustment = z.object({
  warehouse_id: Id,
  item_id: Id,
  bin_id: Id,
  status: StockStatus.optional(),
  lot_number: Lot,
  serial_number: Lot,
  delta: z.int().min(-1_000_000_000).max(1_000_000_000).refine((delta) => delta !== 0, {
    params: { reason_key: "reason_not_zero" },
  }).describe("Units found (positive) or missing (negative)"),
  reason: Text,
}).meta({ id: "CreateInventoryAdjustment" });
export const AdjustmentResponse = z.object({ adjustment_id: Id, transactions: z.array(Movement) });

/** From one place of a warehouse into another; the status changes where `to_status` says so. */
export const CreateMove = z.object({
  warehouse_id: Id,
  notes: LongText.nullish(),
  items: z.array(
    z.object({
      item_id: Id,
      from_bin_id: Id,
      to_bin_id: Id,
      quantity: Units,
      status: StockStatus.optional(),
      to_status: StockStatus.optional(),
      lot_number: Lot,
      serial_number: Lot,
    }).refine(
      ({ from_bin_id, to_bin_id, status = "available", to_status = status }) =>
        from_bin_id !== to_bin_id || status !== to_status,
      { params: { reason_key: "reason_lies_here" }, path: ["to_bin_id"] },
    ),
  ).min(1).max(1_000),
}).meta({ id: "CreateInventoryMove" });
export const MoveResponse = z.object({ move_id: Id, transactions: z.array(Movement) });

export const itemList = defineList({
  view: "warehousing.inventory_items_list",
  search: ["name", "sku", "barcode"],
  sort: ["created_at", "name", "sku", "updated_at"],
  params: {
    sku: equal("sku"),
    barcode: { ...equal("barcode"), schema: z.string().max(200).overwrite(scannedText) },
    is_active: flag("is_active"),
    is_serialized: flag("is_serialized"),
  },
  limit: { default: 20, max: 100 },
});

export const inventoryList = defineList({
  view: "warehousing.inventory_list",
  sort: ["created_at", "quantity", "updated_at"],
  params: {
    warehouse_id: id("warehouse_id"),
    item_id: id("item_id"),
    bin_id: id("bin_id"),
    status: equal("status"),
    lot_number: { ...equal("lot_number"), schema: LotNumber },
    serial_number: { ...equal("serial_number"), schema: LotNumber },
    /** A picking order in progress, a store's order or a waybill: what is set aside for it, and where it lies. */
    reserved_for_id: id("reserved_for_id"),
    search: foundBy("warehousing.items_found", "item_id"),
  },
  limit: { default: 20, max: 100 },
});
