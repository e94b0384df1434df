/** Requests of parcels in the warehouse for parcels. */
import { goodsAt, type Requests } from "./ask.ts";

const deliveries = "/delivery/deliveries";

export const sendBackRequests: Requests<
  "divert" | "bringIn" | "takeIn" | "sendBack" | "callOff" | "execute" | "unprepare" | "orderReturn"
> = {
  divert: (op, { stock, ids, third }) =>
    stock("package-transfers", {
      mode: "delivery_operation",
      operation_type: "single_delivery",
      source_warehouse_id: ids[`source of ${op.name}`],
      destination_warehouse_id: third.warehouse,
      package_barcodes: [ids[`barcode of ${op.name}`]],
    }),
  bringIn: (op, { by, place, ids, third }) =>
    by(place.drivers[op.driver].token, `${deliveries}/${ids[op.name]}/return`, {
      warehouse_id: third.warehouse,
    }),
  takeIn: ({ receipt, goods }, asks) =>
    asks.stock(`receiving-orders/${asks.ids[`in ${receipt}`]}`, {
      status: "received",
      ...(goods
        ? {
          item_details: [{
            bin_id: goodsAt(asks, goods.warehouse).bin,
            received_quantity: goods.received,
            damaged_quantity: goods.damaged,
          }],
        }
        : {}),
    }, "PUT"),
  sendBack: (op, { ops, ids }) =>
    ops(`${deliveries}/${ids[op.name]}/${op.cancels ? "cancel" : "operational-return"}`, {
      reason: "model",
    }),
  callOff: (op, { ops, ids }) => ops(`${deliveries}/${ids[op.name]}/cancel`, { reason: "model" }),
  orderReturn: (op, { by, place, ids, places, third }) =>
    by(op.owner === null ? place.ops.token : place.customers[op.owner].token, deliveries, {
      delivery_flow: "customer_return",
      original_delivery_id: ids[op.parcel],
      delivery_service_id: place.ground.service,
      payer_type: op.payer,
      payment_method: op.wallet ? "wallet" : "cash",
      unit_size: 2,
      ...(op.units
        ? {
          return_items: [{ delivery_item_id: ids[`item of ${op.parcel}`], quantity: op.units }],
        }
        : {}),
      ...(op.to === "there"
        ? { dropoff_warehouse_id: third.warehouse }
        : op.to === "home"
        ? {}
        : { dropoff_address_id: places[op.to] }),
    }),
  execute: (op, { ops, ids }) => ops(`${deliveries}/${ids[op.name]}/execute`, {}),
  unprepare: (op, { ops, ids }) => ops(`${deliveries}/${ids[op.name]}/execute/undo`, {}),
};
