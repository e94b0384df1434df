/** Requests of parcels in the warehouse for parcels. */
import type { Requests } from "./ask.ts";

const deliveries = "/delivery/deliveries";

export const sendBackRequests: Requests<
  "divert" | "bringIn" | "takeIn" | "sendBack" | "callOff" | "execute"
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
  takeIn: (op, { stock, ids }) =>
    stock(`receiving-orders/${ids[`in ${op.receipt}`]}`, { status: "received" }, "PUT"),
  sendBack: (op, { ops, ids }) =>
    ops(`${deliveries}/${ids[op.name]}/${op.cancels ? "cancel" : "operational-return"}`, {
      reason: "model",
    }),
  callOff: (op, { ops, ids }) => ops(`${deliveries}/${ids[op.name]}/cancel`, { reason: "model" }),
  execute: (op, { ops, ids }) => ops(`${deliveries}/${ids[op.name]}/execute`, {}),
};
