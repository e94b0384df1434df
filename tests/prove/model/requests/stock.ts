/** Requests of stock on the shelves and picks of it. */
import type { Place } from "../../world.ts";
import type { Of } from "../ops.ts";
import { goodsAt, type Requests } from "./ask.ts";

export const stockRequests: Requests<
  | "receive"
  | "takeBack"
  | "writeOff"
  | "correct"
  | "transfer"
  | "pick"
  | "move"
  | "report"
  | "restock"
> = {
  receive(op, { place, stock }) {
    return stock(`inventory/${paths[op.type]}`, linesOf(op, place));
  },
  takeBack(op, { place, stock }) {
    return stock(`inventory/${paths[op.type]}`, linesOf(op, place));
  },
  writeOff(op, { place, stock }) {
    return stock(`inventory/${paths[op.type]}`, linesOf(op, place));
  },
  correct(op, { place, stock }) {
    const { warehouse, bin } = place.shelves[op.shelf];
    const where = { warehouse_id: warehouse, bin_id: bin, item_id: place.items[op.item] };
    return stock("inventory/adjustments", { ...where, delta: op.delta, reason: "model" });
  },
  transfer(op, { place, stock }) {
    const [from, to] = [place.shelves[op.from], place.shelves[1 - op.from]];
    return stock("inventory-transfers", {
      source_warehouse_id: from.warehouse,
      destination_warehouse_id: to.warehouse,
      items: [{
        item_id: place.items[op.item],
        quantity: op.quantity,
        source_bin_id: from.bin,
        destination_bin_id: to.bin,
      }],
    });
  },
  pick(op, { place, stock }) {
    const { warehouse, bin } = place.shelves[op.shelf];
    return stock("picking-orders", {
      warehouse_id: warehouse,
      order_type: "individual",
      status: "in_progress",
      item_details: [{ item_id: place.items[op.item], bin_id: bin, quantity: op.quantity }],
    });
  },
  move(op, { ids, stock }) {
    return op.reported
      ? stock(`picking-orders/${ids[op.name]}/progress`, { status: op.to, items: [] })
      : stock(`picking-orders/${ids[op.name]}`, { status: op.to }, "PUT");
  },
  report(op, { place, ids, stock }) {
    return stock(`picking-orders/${ids[op.name]}/progress`, {
      status: op.to,
      items: [{
        item_id: place.items[op.item],
        bin_id: place.shelves[op.shelf].bin,
        picked_quantity: op.picked,
      }],
    });
  },
  restock(op, asks) {
    const { place, stock } = asks;
    const { warehouse, bin } = goodsAt(asks, op.warehouse);
    return stock("inventory/receipts", {
      warehouse_id: warehouse,
      items: [{ item_id: place.shop.shelf.item, bin_id: bin, quantity: op.quantity }],
    });
  },
};

function linesOf(op: Of<"receive" | "takeBack" | "writeOff">, place: Place) {
  const { warehouse, bin } = place.shelves[op.shelf];
  return {
    warehouse_id: warehouse,
    ...(op.type === "receive" ? {} : { reason: "model" }),
    items: [{ item_id: place.items[op.item], bin_id: bin, quantity: op.quantity }],
  };
}

const paths = { receive: "receipts", takeBack: "returns", writeOff: "write-offs" } as const;
