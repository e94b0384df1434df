import { z } from "zod";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { defineList, equal, foundBy, id, since, someOf, until } from "../../../shared/api/list.ts";
import {
  Id,
  listResponse,
  NamedRef,
  PersonRef,
  Timestamp,
} from "../../../shared/schemas/schemas.ts";
import { canManageOrViewWarehouse } from "../access.ts";
import { LotNumber, Movement } from "./schemas.ts";

const kinds = [
  "initial_stock",
  "receive",
  "pick",
  "move",
  "adjust",
  "return",
  "count",
  "transfer_in",
  "transfer_out",
  "write_off",
] as const;

const list = defineList({
  view: "warehousing.inventory_transactions_list",
  idType: "bigint",
  sort: ["created_at", "quantity"],
  // As they were booked: what began earlier may have waited for the stock and been booked later.
  sortColumns: { created_at: "id" },
  params: {
    item_id: id("item_id"),
    warehouse_id: id("warehouse_id"),
    transaction_type: someOf("transaction_type", kinds),
    /** Whatever moved the goods: a receipt, a return, a move, an order, a count. */
    reference_id: id("reference_id"),
    lot_number: { ...equal("lot_number"), schema: LotNumber },
    serial_number: { ...equal("serial_number"), schema: LotNumber },
    performed_by: id("performed_by_id"),
    date_from: since("created_at"),
    date_to: until("created_at"),
    /** A part of the item's name, SKU or barcode. */
    search: foundBy("warehousing.items_found", "item_id"),
  },
  made: "all",
  hidden: ["item_id", "warehouse_id", "reference_id", "performed_by_id"],
  limit: { default: 20, max: 100 },
});

const Transaction = Movement.omit({ warehouse_id: true }).extend({
  transaction_type: z.enum(kinds),
  warehouse: NamedRef,
  from_status: z.string().nullable().describe("The status that the units had; null: they came in"),
  to_status: z.string().nullable().describe("The status that they have since; null: they left"),
  reference: z.object({ type: z.string(), id: Id }).nullable().describe(
    "The record that moved them, as events name it",
  ),
  reason: z.string().nullable(),
  note: z.string().nullable(),
  performed_by: PersonRef.nullable(),
  created_at: Timestamp,
}).meta({ id: "InventoryTransaction" });

/** The history of goods: each movement that changed what lies where. Setting aside for an order moves nothing. */
export const inventoryTransactions: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/inventory/transactions",
    summary: "List the movements of goods, newest first: of an item, a warehouse, a receipt",
    access: canManageOrViewWarehouse,
    query: list.query,
    response: listResponse(Transaction),
    async run({ db, query }) {
      const { data, ...page } = await list.answer(db, query);
      return {
        data: data.map(({ movement_id, ...row }) => ({ ...row, id: movement_id })),
        ...page,
      };
    },
  }),
];
