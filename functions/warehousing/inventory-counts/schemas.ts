import { z } from "zod";
import { defineList, flag, foundBy, id, since, until } from "../../../shared/api/list.ts";
import {
  Id,
  listResponse,
  LongText,
  NamedRef,
  PersonRef,
  Timestamp,
} from "../../../shared/schemas/schemas.ts";
import { BinRef, ItemRef, Lot, Movement, StockStatus } from "../inventory/schemas.ts";

/** A place: whatever of it is not said is none, or available. */
interface Place {
  item_id: string;
  bin_id: string;
  status?: string;
  lot_number?: string | null;
  serial_number?: string | null;
}

const placeOf = ({ item_id, bin_id, status = "available", lot_number, serial_number }: Place) =>
  JSON.stringify([item_id, bin_id, status, lot_number ?? null, serial_number ?? null]);

export const CreateCount = z.object({
  warehouse_id: Id,
  notes: LongText.nullish(),
  whole_bins: z.boolean().optional().meta({
    description: "The named bins were counted completely: stock of other lines there is missing",
  }),
  items: z.array(z.object({
    item_id: Id,
    bin_id: Id,
    counted: z.int().min(0).max(1_000_000_000).meta({
      description:
        "Everything in the bin with this status, lot and serial number; of what is available also what is set aside for orders",
    }),
    status: StockStatus.optional(),
    lot_number: Lot,
    serial_number: Lot,
  })).min(1).max(1_000).superRefine((lines, context) => {
    const counted = new Set<string>();
    for (const [line, place] of lines.map(placeOf).entries()) {
      if (counted.has(place)) {
        const params = { reason_key: "reason_place_twice" };
        context.addIssue({ code: "custom", path: [line, "item_id"], params });
      }
      counted.add(place);
    }
  }),
}).meta({ id: "CreateInventoryCount" });

const Count = z.object({
  id: Id,
  warehouse: NamedRef,
  notes: z.string().nullable(),
  whole_bins: z.boolean(),
  counted_by: PersonRef.nullable().describe("Null: an API key"),
  created_at: Timestamp,
  lines: z.int().describe(
    "Places that were counted, and those of them where something else lay than the books said",
  ),
  differences: z.int(),
  units_found: z.int(),
  units_missing: z.int(),
}).meta({ id: "InventoryCount" });

const CountWithLines = Count.extend({
  items: z.array(z.object({
    item: ItemRef,
    bin: BinRef,
    status: z.string(),
    lot_number: z.string().nullable(),
    serial_number: z.string().nullable(),
    expected: z.int().describe(
      "The quantity by the books; for available stock including what is reserved for orders",
    ),
    counted: z.int(),
    difference: z.int().describe("Units found (positive) or missing (negative)"),
  })).describe(
    "The lines in the order they were given; followed by other stock of completely counted bins",
  ),
}).meta({ id: "InventoryCountDetail" });

export const CountResponse = z.object({ count: CountWithLines });
export const CreateCountResponse = CountResponse.extend({ transactions: z.array(Movement) });
export const CountsResponse = listResponse(Count);

export const countList = defineList({
  view: "warehousing.inventory_counts_list",
  sort: ["created_at", "units_missing", "differences"],
  params: {
    warehouse_id: id("warehouse_id"),
    counted_by: id("counted_by_id"),
    /** `true`: only counts where something differed. */
    differing: flag("differing"),
    date_from: since("created_at"),
    date_to: until("created_at"),
    search: foundBy("warehousing.inventory_counts_with"),
  },
  hidden: ["warehouse_id", "counted_by_id", "differing"],
  limit: { default: 20, max: 100 },
});
