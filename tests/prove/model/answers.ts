/** The answers in the model's words. */
import { sql } from "../../support/db.ts";
import type { Attempt } from "../caller.ts";
import type { Real } from "./real.ts";
import type { Of, Op } from "./ops.ts";
import { backName, partName, sentBackName } from "./state.ts";

type Body = Attempt["body"];

/** The answer to a request, of which later ones need ids; `first`: it is no repetition. */
export async function answerOf(op: Op, body: Body, real: Real, first: boolean): Promise<string> {
  const { data } = body;
  switch (op.type) {
    case "settle": {
      real.ids[op.id] = data.settlement_payment_id;
      if (op.way !== "remit") {
        return ` ${data.total_settled} of which ${data.total_delivery_fee_settled} in ${data.settled_count} leaves ${data.wallet_balance_after}`;
      }
      const short = data.shortage
        ? ` short ${data.shortage.amount} of ${real.nameOf(data.shortage.discrepancy_id)}`
        : "";
      return ` ${data.total_remitted} of which ${data.total_delivery_fee_remitted} in ${data.remitted_count} counted ${data.counted}${short}`;
    }
    case "unsettle":
      return ` ${data.total} of which ${data.delivery_fee} in ${data.items.length}`;
    case "declare":
      real.ids[op.name] = data.id;
      return ` ${data.status} ${data.declared_amount}`;
    case "count":
      real.ids[op.name] = data.id;
      return ` ${data.status} ${data.difference}`;
    case "resolve":
      return ` ${data.status} ${data.resolution}`;
    case "deposit":
    case "bank":
    case "unbring":
    case "uncounter":
    case "unpay":
      return ` ${data.amount}`;
    case "bring":
    case "counter":
    case "payDue":
      real.ids[op.id] = data.id;
      return ` ${data.amount}`;
    case "payOut":
      real.ids[op.id] = data.payout.id;
      return ` ${data.payout.amount} for ${data.payout.count}`;
    case "unpayOut":
      return ` ${data.payout.amount}`;
    case "adjust":
      return ` ${body.wallet.balance}`;
    case "step": {
      const said = ` ${body.delivery.status}`;
      if (op.what === "complete") {
        await expectedAfter(real, op);
        await dueAfter(real, body.delivery.original_delivery_id);
        return `${said} took ${body.cash.collected.cod}`;
      }
      if (op.what !== "return") return said;
      if (body.refund_due) real.ids[`due ${op.name}`] = body.refund_due.id;
      if (body.receiving_order_id) {
        real.ids[`back ${op.name}`] = real.ids[`in ${op.id}`] = body.receiving_order_id;
      }
      return said + (body.receiving_order_id ? " expected" : "") +
        (body.refunded ? " refunded" : "") +
        (body.refund_due ? ` due ${body.refund_due.amount}` : "");
    }
    case "outcome": {
      const { delivery, cash, returns: [back] } = data;
      return ` ${delivery.status} took ${cash.collected.cod}${
        back ? first ? beginReturn(real, op.name, back) : ` back ${back.status}` : ""
      }`;
    }
    case "undo":
      return ` ${data.delivery.status} without ${data.cash.cod}`;
    case "undoPickup":
      return ` ${data.delivery.status} without ${data.cash.delivery_fee}`;
    case "changeAmount":
      return ` ${data.delivery.cod_amount}`;
    case "redirect":
      return ` ${data.price.after}`;
    case "openStatement":
      real.ids[op.name] = data.statement.id;
      return ` ${data.statement.net} in ${data.statement.count}`;
    case "payStatement":
    case "reverseStatement":
    case "voidStatement":
      return ` ${data.statement.status}`;
    case "divert":
    case "consign":
      return "";
    case "orderReturn":
      real.ids[op.name] = body.delivery.id;
      return ` ${body.delivery.status} for ${body.delivery.price}`;
    case "bringIn":
      real.ids[`in ${op.id}`] = body.receiving_order_id;
      return ` ${body.delivery.status}${body.receiving_order_id ? " expected" : ""}`;
    case "takeIn":
      return ` ${body.order.status}`;
    case "sendBack":
      return sentBack(op, body, real);
    case "callOff":
      return ` ${body.delivery.status}`;
    case "execute":
    case "unprepare":
      return ` ${body.picking_order.status}`;
    case "book":
      return ` ${body.shipment.status} ${body.shipment.cash_due}`;
    case "unbook":
      return ` ${body.shipment.status}`;
    case "tell":
      await dueAfter(real, real.ids[op.name]);
      await expectedAfter(real, op);
      return ` ${body.outcome}`;
    case "carrierPays":
    case "unpayCarrier": {
      const { id, amount, charges, received, remitted_count, still_owed } = body.remittance;
      if (op.type === "carrierPays") real.ids[op.id] = id;
      return ` ${amount} of which ${charges} kept, ${received} came, in ${remitted_count} leaves ${still_owed}`;
    }
    case "handOver":
      real.ids[op.id] = body.bulk_assignment_id;
      return ` ${body.count} of which ${body.to_confirm} to confirm`;
    case "confirm":
      return ` ${body.updated_count}`;
    case "receive":
    case "takeBack":
    case "writeOff":
    case "correct":
    case "restock":
      return ` ${body.transactions[0].quantity}`;
    case "transfer":
      return "";
    case "pick":
      real.ids[op.name] = body.order.id;
      return ` ${body.order.status}`;
    case "move":
    case "report":
      return ` ${body.order.status} ${body.order.item_details[0].picked_quantity}`;
    case "fetch":
      return ` ${body.order.item_details[0].picked_quantity}`;
    case "order":
      real.ids[op.name] = body.order.id;
      return ` ${body.order.totalPrice}`;
    case "approve":
      return ` ${data.order.status} ${await partsOf(real, op.name, data.deliveries)}`;
    case "cancel":
      return ` ${data.order.status} back ${data.refund?.amount ?? 0}`;
    case "acceptShort":
      return ` ${data.order.total_price} back ${data.refund?.amount ?? 0}`;
    case "putBack":
      return ` ${body.order.status}`;
  }
}

/** Notes the fee that is due to the sender of this parcel, or of that which this return brought back. */
async function dueAfter(real: Real, of: string | null): Promise<void> {
  if (!of) return;
  const [{ original }] =
    await sql`select case delivery_flow when 'operational_return' then original_delivery_id else id end as original from delivery.deliveries
    where tenant_id = ${real.place.id} and id = ${of}`;
  const [due] = await sql`select id from money.payments
    where tenant_id = ${real.place.id} and delivery_id = ${original} and type = 'REFUND' and payment_method = 'cash' and status <> 'CANCELLED'`;
  if (due) real.ids[`due ${real.nameOf(original)}`] = due.id;
}

/** Keeps the receipt by which a warehouse expects what was brought to it, under the id of the report. */
async function expectedAfter(real: Real, { id, name }: Of<"tell" | "step">): Promise<void> {
  const [receipt] = await sql`select id from warehousing.receiving_orders
    where tenant_id = ${real.place.id} and delivery_id = ${real.ids[name]} and status = 'pending'`;
  if (receipt) real.ids[`in ${id}`] = receipt.id;
}

/** Notes the return that began at the door of a parcel; it is back with a picture. */
function beginReturn(real: Real, name: string, { id, status }: Body): string {
  const back = backName(name);
  real.ids[back] = id;
  real.ids[`item of ${back}`] = real.ids[`item of ${name}`];
  real.ids[`proof of ${back}`] = `${real.place.id}/deliveries/${id}/delivery-photo-model.jpg`;
  return ` back ${status}`;
}

/** Notes the deliveries of an approved order and their picks, and says from where they leave. */
async function partsOf(
  real: Real,
  name: string,
  deliveries: { delivery_id: string; warehouse_id: string; items: { quantity: number }[] }[],
): Promise<string> {
  const picks = await sql`select picking_order_id from storefront.storefront_order_parts
    where tenant_id = ${real.place.id} and order_id = ${real.ids[name]} order by position`;
  for (const [part, { delivery_id }] of deliveries.entries()) {
    real.ids[partName(name, part)] = delivery_id;
    real.ids[`pick of ${partName(name, part)}`] = picks[part].picking_order_id;
  }
  const { shop, there } = real.place;
  const warehouses = [shop.shelf.warehouse, real.second.warehouse, there];
  return deliveries.map(({ warehouse_id, items }) =>
    `${items[0].quantity} of ${warehouses.indexOf(warehouse_id)}`
  ).join(" and ");
}

/** Notes the delivery that brings a parcel back from the warehouse. */
function sentBack(op: Of<"sendBack">, body: Body, real: Real): string {
  const back = op.cancels ? body.operational_return : body.delivery;
  if (back) real.ids[sentBackName(op.name, op.id)] = back.id;
  if (!op.cancels) return ` ${back.status}`;
  if (body.refund_due) real.ids[`due ${op.name}`] = body.refund_due.id;
  return ` ${body.delivery.status}${body.refunded ? " refunded" : ""}${
    body.refund_due ? ` due ${body.refund_due.amount}` : ""
  }${back ? ` back ${back.status}` : ""}`;
}
