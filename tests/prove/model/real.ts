/** The operations of the model against the functions: they are sent, and answered in the model's words. */
import { randomUUID } from "node:crypto";
import { type CashOptions, newCash } from "../../support/cod.ts";
import { sql } from "../../support/db.ts";
import { order as deliveryOf } from "../../support/deliveries.ts";
import { newCart } from "../../support/orders.ts";
import type { Asked, Attempt, Caller } from "../caller.ts";
import type { Place } from "../world.ts";
import { requestOf, type Second } from "./requests.ts";
import { backName, type Op, partName, type Place as Destination, type Row } from "./state.ts";

type Body = Attempt["body"];

/** Refusals that say the same in several codes: which of them comes depends on what the caller may still see. */
const alike: Partial<Record<Op["type"], [string, ...string[]]>> = {
  step: ["not_the_drivers", "forbidden", "assignment_ended", "delivery_not_found"],
  outcome: [
    "not_now",
    "forbidden",
    "assignment_ended",
    "delivery_not_found",
    "delivery_status_changed",
    "invalid_status_transition",
  ],
  undo: ["not_the_drivers", "forbidden", "delivery_not_found"],
  move: ["picking_ended", "invalid_status_transition"],
  report: ["picking_ended", "invalid_status_transition", "picking_items_fixed"],
  fetch: [
    "not_to_be_picked",
    "invalid_status_transition",
    "picking_items_fixed",
    "picking_line_not_found",
    "picked_too_much",
  ],
};

export class Real {
  /** Ids by the names of the model. */
  readonly ids: Record<string, string> = {};
  /** The tokens of the owners of parcels. */
  readonly owners: Record<string, string> = {};
  /** The keys that operations are sent under. */
  readonly #keys = new Map<string, string>();
  /** Requests that were done, as they were sent: at a repetition the names may mean other records. */
  readonly #asked = new Map<string, Asked>();
  /** The operations whose answers were recorded. */
  readonly #recorded = new Set<string>();

  constructor(
    readonly place: Place,
    readonly second: Second,
    private readonly caller: Caller,
    /** The places that a parcel may go to. */
    readonly places: Record<Destination, string>,
  ) {}

  /** Cash that a driver took, booked as a delivery books it. */
  async take(
    name: string,
    { driver, cod, fee }: Omit<Row, "status">,
    release: CashOptions["release"],
  ): Promise<void> {
    const { id } = await newCash(this.place.tenant, {
      driver: this.place.drivers[driver].id,
      cod,
      fee,
      release,
    });
    this.ids[name] = id;
  }

  /** A parcel whose driver has taken it, and its fee, from its sender. */
  async send(
    name: string,
    { driver, customer, cod }: { driver: number; customer: number | null; cod: number },
  ): Promise<void> {
    const { place } = this;
    const sender = customer === null ? null : place.customers[customer].id;
    const { delivery } = await this.done({
      token: place.ops.token,
      path: "/delivery/deliveries",
      body: deliveryOf(place.ground, {
        customer_id: sender,
        payer_type: "sender",
        cod_amount: cod,
        package: { items: [{ name: "Thing", quantity: 2, unit_price: cod / 2 }] },
      }),
    });
    this.ids[name] = delivery.id;
    if (customer !== null) this.owners[name] = place.customers[customer].token;
    const [{ id }] = await sql`select id from delivery.delivery_items
      where tenant_id = ${place.id} and delivery_id = ${delivery.id}`;
    this.ids[`item of ${name}`] = id;
    await this.give(name, driver);
    await this.done({
      token: place.drivers[driver].token,
      path: `/delivery/deliveries/${delivery.id}/pickup`,
      body: {},
    });
  }

  /** Puts a delivery on the list of a driver, who accepts it where an answer is asked for. */
  async give(name: string, driver: number): Promise<void> {
    const { id } = await this.done({
      token: this.place.ops.token,
      path: "/delivery/assignments",
      body: { delivery_id: this.ids[name], driver_id: this.place.drivers[driver].id },
    });
    await this.done({
      token: this.place.drivers[driver].token,
      method: "PUT",
      path: `/delivery/assignments/${id}`,
      body: { status: "accepted" },
    }, ["assignment_response_not_required"]);
  }

  private async done(asked: Asked, or: readonly string[] = []): Promise<Body> {
    const seen = await this.caller.surely(asked);
    if (seen.status >= 200 && seen.status < 300 || or.includes(seen.body.code)) return seen.body;
    throw new Error(`${asked.path}: ${seen.status} ${seen.text.slice(0, 500)}`);
  }

  /** The preparation of an operation; a customer has one cart. */
  async prepare(op: Op): Promise<void> {
    if (op.type !== "order" || this.ids[`cart ${op.name}`]) return;
    const customer = this.place.customers[op.customer].id;
    this.ids[`cart ${op.name}`] = await newCart(this.place.shop, op.quantity, customer);
  }

  /** Does it, and says what was answered as the model does. */
  async run(op: Op): Promise<string> {
    const key = this.#keys.get(op.id) ?? randomUUID();
    this.#keys.set(op.id, key);
    const sent = JSON.stringify(op);
    const asked = this.#asked.get(sent) ?? requestOf(op, this);
    const seen = await this.caller.surely({ ...asked, key });
    if (seen.status < 200 || seen.status >= 300) {
      const code = seen.body.code ?? `status ${seen.status}`;
      return alike[op.type]?.includes(code) ? alike[op.type]![0] : code;
    }
    this.#asked.set(sent, asked);
    return `ok${await this.answer(op, seen.body)}`;
  }

  /** Notes the fee that is due to the sender of a parcel which this return brought back. */
  private async dueAfter(original: string | null): Promise<void> {
    if (!original) return;
    const [due] = await sql`select id from money.payments
      where tenant_id = ${this.place.id} and delivery_id = ${original} and type = 'REFUND' and payment_method = 'cash'`;
    if (due) this.ids[`due ${this.nameOf(original)}`] = due.id;
  }

  /** Notes the return that began at the door of a parcel; it is back with a picture. */
  private back(name: string, { id, status }: Body): string {
    const back = backName(name);
    this.ids[back] = id;
    this.ids[`item of ${back}`] = this.ids[`item of ${name}`];
    this.ids[`proof of ${back}`] = `${this.place.id}/deliveries/${id}/delivery-photo-model.jpg`;
    return ` back ${status}`;
  }

  private async answer(op: Op, body: Body): Promise<string> {
    const { data } = body;
    // A repetition says what is known, of records whose names may have passed to others.
    const first = !this.#recorded.has(op.id);
    this.#recorded.add(op.id);
    switch (op.type) {
      case "settle": {
        this.ids[op.id] = data.settlement_payment_id;
        if (op.way !== "remit") {
          return ` ${data.total_settled} of which ${data.total_delivery_fee_settled} in ${data.settled_count} leaves ${data.wallet_balance_after}`;
        }
        const short = data.shortage
          ? ` short ${data.shortage.amount} of ${this.nameOf(data.shortage.discrepancy_id)}`
          : "";
        return ` ${data.total_remitted} of which ${data.total_delivery_fee_remitted} in ${data.remitted_count} counted ${data.counted}${short}`;
      }
      case "unsettle":
        return ` ${data.total} of which ${data.delivery_fee} in ${data.items.length}`;
      case "count":
        this.ids[op.name] = data.id;
        return ` ${data.status} ${data.difference}`;
      case "resolve":
        return ` ${data.status} ${data.resolution}`;
      case "deposit":
      case "unbring":
      case "unpay":
        return ` ${data.amount}`;
      case "bring":
      case "payDue":
        this.ids[op.id] = data.id;
        return ` ${data.amount}`;
      case "payOut":
        this.ids[op.id] = data.payout.id;
        return ` ${data.payout.amount} for ${data.payout.count}`;
      case "unpayOut":
        return ` ${data.payout.amount}`;
      case "adjust":
        return ` ${body.wallet.balance}`;
      case "step": {
        const said = ` ${body.delivery.status}`;
        if (op.what === "complete") {
          await this.dueAfter(body.delivery.original_delivery_id);
          return `${said} took ${body.cash.collected.cod}`;
        }
        if (op.what !== "return") return said;
        if (body.refund_due) this.ids[`due ${op.name}`] = body.refund_due.id;
        if (body.receiving_order_id) this.ids[`back ${op.name}`] = body.receiving_order_id;
        return said + (body.receiving_order_id ? " expected" : "") +
          (body.refunded ? " refunded" : "") +
          (body.refund_due ? ` due ${body.refund_due.amount}` : "");
      }
      case "outcome": {
        const { delivery, cash, returns: [back] } = data;
        return ` ${delivery.status} took ${cash.collected.cod}${
          back ? first ? this.back(op.name, back) : ` back ${back.status}` : ""
        }`;
      }
      case "undo":
        return ` ${data.delivery.status} without ${data.cash.cod}`;
      case "changeAmount":
        return ` ${data.delivery.cod_amount}`;
      case "redirect":
        return ` ${data.price.after}`;
      case "openStatement":
        this.ids[op.name] = data.statement.id;
        return ` ${data.statement.net} in ${data.statement.count}`;
      case "payStatement":
      case "reverseStatement":
      case "voidStatement":
        return ` ${data.statement.status}`;
      case "handOver":
        this.ids[op.id] = body.bulk_assignment_id;
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
        this.ids[op.name] = body.order.id;
        return ` ${body.order.status}`;
      case "move":
      case "report":
        return ` ${body.order.status} ${body.order.item_details[0].picked_quantity}`;
      case "fetch":
        return ` ${body.order.item_details[0].picked_quantity}`;
      case "order":
        this.ids[op.name] = body.order.id;
        return ` ${body.order.totalPrice}`;
      case "approve":
        return ` ${data.order.status} ${await this.parts(op.name, data.deliveries)}`;
      case "cancel":
        return ` ${data.order.status} back ${data.refund?.amount ?? 0}`;
      case "acceptShort":
        return ` ${data.order.total_price} back ${data.refund?.amount ?? 0}`;
      case "putBack":
        return ` ${body.order.status}`;
    }
  }

  /** Notes the deliveries of an approved order and their picks, and says from where they leave. */
  private async parts(
    name: string,
    deliveries: { delivery_id: string; warehouse_id: string; items: { quantity: number }[] }[],
  ): Promise<string> {
    const picks = await sql`select picking_order_id from storefront.storefront_order_parts
      where tenant_id = ${this.place.id} and order_id = ${this.ids[name]} order by position`;
    for (const [part, { delivery_id }] of deliveries.entries()) {
      this.ids[partName(name, part)] = delivery_id;
      this.ids[`pick of ${partName(name, part)}`] = picks[part].picking_order_id;
    }
    return deliveries.map(({ warehouse_id, items }) =>
      `${items[0].quantity} of ${warehouse_id === this.second.warehouse ? 1 : 0}`
    ).join(" and ");
  }

  /** The model's name of an id; the id itself if the model does not know it. */
  nameOf(id: string): string {
    return Object.keys(this.ids).find((name) => this.ids[name] === id) ?? id;
  }
}
