/** Requests of the shop's orders. */
import { home, orderOf } from "../../../support/orders.ts";
import { goodsAt, type Requests } from "./ask.ts";

const orders = "/storefront/orders";

export const orderRequests: Requests<
  "order" | "approve" | "cancel" | "acceptShort" | "fetch" | "putBack"
> = {
  order(op, { place, ids, by }) {
    return by(
      place.customers[op.customer].token,
      `${orders}/confirm`,
      {
        ...orderOf(place.shop, ids[`cart ${op.name}`], op.wallet ? "wallet" : "cash"),
        // As far from one of the shop's warehouses as from the other.
        address: { ...home, lat: 33.31, long: 44.37 },
      },
    );
  },
  approve(op, { ids, admin }) {
    return admin(`${orders}/${ids[op.name]}/approve`, {}, "PUT");
  },
  cancel(op, { ids, admin }) {
    return admin(`${orders}/${ids[op.name]}/cancel`, { reason: "other" }, "PUT");
  },
  acceptShort(op, { ids, admin }) {
    return admin(`${orders}/${ids[op.name]}/accept-short`, undefined);
  },
  fetch(op, asks) {
    const { place, ids, stock } = asks;
    return stock(`picking-orders/${ids[`pick of ${op.name}`]}/progress`, {
      status: "completed",
      items: [{
        item_id: place.shop.shelf.item,
        bin_id: goodsAt(asks, op.warehouse).bin,
        picked_quantity: op.found,
      }],
    });
  },
  putBack(op, asks) {
    const { ids, stock } = asks;
    return stock(
      `receiving-orders/${ids[`back ${op.name}`] ?? ids[op.name]}`,
      {
        status: "received",
        item_details: [{ bin_id: goodsAt(asks, op.warehouse).bin }],
      },
      "PUT",
    );
  },
};
