import { z } from "zod";
import { defineList, id } from "../../../shared/api/list.ts";
import { Id, LongText, NamedRef, PersonRef, Timestamp } from "../../../shared/schemas/schemas.ts";
import { BinRef, ItemCard, Lot, Movement, Units } from "../inventory/schemas.ts";

export const CreateTransfer = z.object({
  source_warehouse_id: Id,
  destination_warehouse_id: Id,
  reference_number: z.string().trim().min(1).max(100).nullish(),
  notes: LongText.nullish(),
  items: z.array(z.object({
    item_id: Id,
    quantity: Units,
    source_bin_id: Id,
    destination_bin_id: Id,
    lot_number: Lot.describe("Only stock of this lot, or this very piece"),
    serial_number: Lot,
  })).min(1).max(1_000),
}).meta({ id: "CreateInventoryTransfer" });

const TransferItem = z.object({
  item_id: Id,
  quantity: z.int(),
  source_bin_id: Id,
  destination_bin_id: Id,
  lot_number: z.string().nullable(),
  serial_number: z.string().nullable(),
}).meta({ id: "InventoryTransferItem" });

const Transfer = z.object({
  id: Id,
  tenant_id: Id,
  reference_number: z.string(),
  source_warehouse_id: Id,
  destination_warehouse_id: Id,
  status: z.literal("completed"),
  items: z.array(TransferItem),
  notes: z.string().nullable(),
  performed_by: Id.nullable(),
  created_at: Timestamp,
  source_warehouse: NamedRef,
  destination_warehouse: NamedRef,
  performer: PersonRef.nullable(),
}).meta({ id: "InventoryTransfer" });

export const TransferResponse = z.object({
  inventory_transfer: Transfer.extend({
    items: z.array(TransferItem.extend({
      item: ItemCard,
      source_bin: BinRef,
      destination_bin: BinRef,
    })),
    transactions: z.array(Movement),
  }),
});
export const TransfersResponse = z.object({
  inventory_transfers: z.array(Transfer),
  page: z.int(),
  limit: z.int(),
  total: z.int(),
});

export const transferList = defineList({
  view: "warehousing.inventory_transfers_list",
  search: ["reference_number"],
  sort: ["created_at", "reference_number"],
  params: {
    source_warehouse_id: id("source_warehouse_id"),
    destination_warehouse_id: id("destination_warehouse_id"),
  },
  limit: { default: 20, max: 100 },
});
