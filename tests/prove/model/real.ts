/** The operations of the model against the functions: what is asked, what is answered in the model's words. */
import { randomUUID } from "node:crypto";
import { type CashOptions, newCash } from "../../support/cod.ts";
import { sql } from "../../support/db.ts";
import { order as deliveryOf } from "../../support/deliveries.ts";
import { home, newCart, orderOf } from "../../support/orders.ts";
import type { Asked, Attempt, Caller } from "../caller.ts";
import type { Place } from "../world.ts";
import { backName, type Of, type Op, partName, type Row } from "./state.ts";

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

/** The second warehouse of the shop. */
export interface Second {
  warehouse: string;
  bin: string;
}

export class Real {
  /** Ids by the names of the model. */
  readonly ids: Record<string, string> = {};
  /** The keys that operations are sent under. */
  readonly #keys = new Map<string, string>();

  constructor(
    readonly place: Place,
    readonly second: Second,
    private readonly caller: Caller,
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
    const seen = await this.caller.surely({ ...this.question(op), key });
    if (seen.status < 200 || seen.status >= 300) {
      const code = seen.body.code ?? `status ${seen.status}`;
      return alike[op.type]?.includes(code) ? alike[op.type]![0] : code;
    }
    return `ok${await this.answer(op, seen.body)}`;
  }

  private question(op: Op): Asked {
    const { place, ids } = this;
    const by = (token: string, path: string, body: unknown, method = "POST"): Asked => ({
      token,
      method,
      path,
      body,
    });
    const admin = (path: string, body: unknown, method?: string) =>
      by(place.admin.token, path, body, method);
    const desk = (path: string, body: unknown) => by(place.dispatcher.token, path, body);
    const stock = (path: string, body: unknown, method?: string) =>
      by(place.ops.token, `/warehousing/${path}`, body, method);
    const orders = "/storefront/orders";
    switch (op.type) {
      case "settle": {
        const driver = place.drivers[op.driver];
        return by(
          op.office ? place.dispatcher.token : driver.token,
          `/delivery/cod-collections/${op.way}`,
          op.rows === "all"
            ? { scope: "all", driver_id: driver.id }
            : { scope: "selected", cod_collection_ids: op.rows.map((name) => ids[name]) },
        );
      }
      case "unsettle":
        return admin(`/delivery/cod-settlements/${ids[op.settlement]}/reverse`, {
          reason: "model",
        });
      case "count":
        return desk("/delivery/cod-collections/handover", {
          driver_id: place.drivers[op.driver].id,
          amount: op.declared,
          counted_amount: op.counted,
        });
      case "resolve":
        return desk(`/delivery/cod-collections/handovers/${ids[op.name]}/resolve`, {
          resolution: op.way,
          ...(op.way === "recounted" ? { counted_amount: op.declared } : {}),
        });
      case "deposit":
        return desk("/delivery/cash-desks/transfers", { kind: "bank_deposit", amount: op.amount });
      case "bring":
        return admin("/delivery/cash-desks/transfers", {
          kind: "handover",
          from_owner_type: "driver",
          from_user_id: place.drivers[op.driver].id,
          to_user_id: place.dispatcher.id,
          amount: op.amount,
        });
      case "unbring":
        return admin(`/delivery/cash-desks/transfers/${ids[op.transfer]}/reverse`, {
          reason: "model",
        });
      case "payDue":
        return desk(`/delivery/cash-desks/refunds/${ids[`due ${op.name}`] ?? ids[op.name]}/pay`, {
          reference: op.id,
        });
      case "unpay":
        return desk(`/delivery/cash-desks/transfers/${ids[op.payment]}/reverse`, {
          reason: "model",
        });
      case "payOut": {
        const pay = {
          driver_id: place.drivers[op.driver].id,
          method: op.wallet ? "wallet" : "cash",
        };
        return (op.wallet ? admin : desk)("/delivery/driver-pay/payouts", pay);
      }
      case "unpayOut":
        return admin(`/delivery/driver-pay/payouts/${ids[op.payout]}/reverse`, { reason: "model" });
      case "adjust":
        return admin(`/delivery/wallets/${place.drivers[op.driver].wallet}/adjust`, {
          amount: op.amount,
          direction: op.credit ? "credit" : "debit",
          reason: "model",
        });
      case "step":
        return by(
          place.drivers[op.driver].token,
          `/delivery/deliveries/${ids[op.name]}/${op.what}`,
          op.what === "fail"
            ? { reason: "absent" }
            : op.what === "complete" && ids[`proof of ${op.name}`]
            ? { proof: { photo_urls: [ids[`proof of ${op.name}`]] } }
            : {},
        );
      case "outcome":
        return by(
          place.drivers[op.driver].token,
          `/delivery/deliveries/${ids[op.name]}/outcome`,
          { result: op.result, ...this.reported(op) },
        );
      case "handOver":
        return by(
          place.ops.token,
          `/delivery/assignments/driver/${place.drivers[op.from].id}/hand-over`,
          { to_driver_id: place.drivers[op.to].id, delivery_ids: [ids[op.name]] },
        );
      case "confirm":
        return by(
          place.drivers[op.to].token,
          `/delivery/assignments/bulk/${ids[op.hand]}`,
          { status: op.accept ? "accepted" : "rejected" },
          "PUT",
        );
      case "receive":
      case "takeBack":
      case "writeOff":
        return stock(`inventory/${paths[op.type]}`, this.lines(op));
      case "correct": {
        const { warehouse, bin } = place.shelves[op.shelf];
        const where = { warehouse_id: warehouse, bin_id: bin, item_id: place.items[op.item] };
        return stock("inventory/adjustments", { ...where, delta: op.delta, reason: "model" });
      }
      case "transfer": {
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
      }
      case "restock": {
        const { warehouse, bin } = this.goodsAt(op.warehouse);
        return stock("inventory/receipts", {
          warehouse_id: warehouse,
          items: [{ item_id: place.shop.shelf.item, bin_id: bin, quantity: op.quantity }],
        });
      }
      case "pick": {
        const { warehouse, bin } = place.shelves[op.shelf];
        return stock("picking-orders", {
          warehouse_id: warehouse,
          order_type: "individual",
          status: "in_progress",
          item_details: [{ item_id: place.items[op.item], bin_id: bin, quantity: op.quantity }],
        });
      }
      case "move":
        return op.reported
          ? stock(`picking-orders/${ids[op.name]}/progress`, { status: op.to, items: [] })
          : stock(`picking-orders/${ids[op.name]}`, { status: op.to }, "PUT");
      case "report":
        return stock(`picking-orders/${ids[op.name]}/progress`, {
          status: op.to,
          items: [{
            item_id: place.items[op.item],
            bin_id: place.shelves[op.shelf].bin,
            picked_quantity: op.picked,
          }],
        });
      case "fetch":
        return stock(`picking-orders/${ids[`pick of ${op.name}`]}/progress`, {
          status: "completed",
          items: [{
            item_id: place.shop.shelf.item,
            bin_id: this.goodsAt(op.warehouse).bin,
            picked_quantity: op.found,
          }],
        });
      case "order":
        return by(
          place.customers[op.customer].token,
          `${orders}/confirm`,
          {
            ...orderOf(place.shop, ids[`cart ${op.name}`], op.wallet ? "wallet" : "cash"),
            // As far from one of the shop's warehouses as from the other.
            address: { ...home, lat: 33.31, long: 44.37 },
          },
        );
      case "approve":
        return admin(`${orders}/${ids[op.name]}/approve`, {}, "PUT");
      case "cancel":
        return admin(`${orders}/${ids[op.name]}/cancel`, { reason: "other" }, "PUT");
      case "acceptShort":
        return admin(`${orders}/${ids[op.name]}/accept-short`, undefined);
      case "putBack":
        return stock(
          `receiving-orders/${ids[`back ${op.name}`] ?? ids[op.name]}`,
          { status: "received", item_details: [{ bin_id: this.goodsAt(op.warehouse).bin }] },
          "PUT",
        );
    }
  }

  /** The fields of a result at the door. */
  private reported({ name, result }: Of<"outcome">) {
    switch (result) {
      case "partial":
        return { items: [{ delivery_item_id: this.ids[`item of ${name}`], quantity: 1 }] };
      case "exchanged":
        return { taken_back: [{ name: "Other thing", quantity: 1 }] };
      case "refused":
        return { reason_code: "refused" };
      case "postponed":
        return {
          reason_code: "postponed",
          postponed_to: new Date(Date.now() + 3 * 86_400_000).toISOString().slice(0, 10),
        };
    }
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

  /** Where the shop's product lies in one of its two warehouses. */
  private goodsAt(warehouse: number): Second {
    return warehouse ? this.second : this.place.shop.shelf;
  }

  private lines(op: Of<"receive" | "takeBack" | "writeOff">) {
    const { warehouse, bin } = this.place.shelves[op.shelf];
    return {
      warehouse_id: warehouse,
      ...(op.type === "receive" ? {} : { reason: "model" }),
      items: [{ item_id: this.place.items[op.item], bin_id: bin, quantity: op.quantity }],
    };
  }

  private async answer(op: Op, body: Body): Promise<string> {
    const { data } = body;
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
          back ? this.back(op.name, back) : ""
        }`;
      }
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

const paths = { receive: "receipts", takeBack: "returns", writeOff: "write-offs" } as const;
