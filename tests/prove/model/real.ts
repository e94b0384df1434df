/** The operations of the model against the functions: they are sent, and answered in the model's words. */
import { randomUUID } from "node:crypto";
import { external } from "../../support/carriers.ts";
import { type CashOptions, newCash } from "../../support/cod.ts";
import { sql } from "../../support/db.ts";
import { order as deliveryOf } from "../../support/deliveries.ts";
import { newCart } from "../../support/orders.ts";
import type { Asked, Attempt, Caller } from "../caller.ts";
import type { Place } from "../world.ts";
import { answerOf } from "./answers.ts";
import { requestOf } from "./requests.ts";
import type { Second } from "./requests/ask.ts";
import type { Op, Place as Destination } from "./ops.ts";
import type { Row } from "./state.ts";

type Body = Attempt["body"];

/** Refusals that say the same in several codes: which of them comes depends on what the caller may still see. */
const alike: Partial<Record<Op["type"], [string, ...string[]]>> = {
  step: [
    "not_the_drivers",
    "forbidden",
    "assignment_ended",
    "delivery_not_found",
    "handoff_not_found",
  ],
  bringIn: ["not_the_drivers", "forbidden", "assignment_ended", "delivery_not_found"],
  outcome: [
    "not_now",
    "forbidden",
    "assignment_ended",
    "delivery_not_found",
    "delivery_status_changed",
    "invalid_status_transition",
  ],
  undo: ["not_the_drivers", "forbidden", "assignment_ended", "delivery_not_found"],
  undoPickup: ["not_the_drivers", "forbidden", "assignment_ended", "delivery_not_found"],
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
    readonly third: Second,
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

  /** A parcel for a carrier, whose receiver pays its fee in cash. */
  async hire(
    name: string,
    { customer, cod }: { customer: number | null; cod: number },
  ): Promise<void> {
    const { place } = this;
    const { delivery } = await this.done({
      token: place.ops.token,
      path: "/delivery/deliveries",
      body: deliveryOf(place.ground, {
        ...external,
        customer_id: customer === null ? null : place.customers[customer].id,
        cod_amount: cod,
      }),
    });
    this.ids[name] = delivery.id;
    if (customer !== null) this.owners[name] = place.customers[customer].token;
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
    // A parcel that is picked in a warehouse is handed over there.
    const [handoff] = await sql`select id from delivery.package_handoffs
      where tenant_id = ${this.place.id} and delivery_id = ${
      this.ids[name]
    } and status = 'pending'`;
    if (handoff) this.ids[`handoff of ${name}`] = handoff.id;
  }

  private async done(asked: Asked, or: readonly string[] = []): Promise<Body> {
    const seen = await this.caller.surely(asked);
    if (seen.status >= 200 && seen.status < 300 || or.includes(seen.body.code)) return seen.body;
    throw new Error(`${asked.path}: ${seen.status} ${seen.text.slice(0, 500)}`);
  }

  /** The preparation of an operation: a customer has one cart, and a parcel has a number and a place. */
  async prepare(op: Op): Promise<void> {
    const tenant_id = this.place.id;
    if (op.type === "putBack") {
      const [part] =
        await sql`select receiving_order_id as id from storefront.storefront_order_parts
        where tenant_id = ${tenant_id} and delivery_id = ${this.ids[op.name]}`;
      if (part?.id) this.ids[`back ${op.name}`] = part.id;
    }
    if (op.type === "tell" || op.type === "divert") {
      const [parcel] =
        await sql`select delivery_code, barcode, pickup_warehouse_id from delivery.deliveries
        where tenant_id = ${tenant_id} and id = ${this.ids[op.name]}`;
      this.ids[`number of ${op.name}`] = `SIM-${parcel.delivery_code}`;
      this.ids[`barcode of ${op.name}`] = parcel.barcode;
      this.ids[`source of ${op.name}`] = parcel.pickup_warehouse_id;
    }
    const opened = op.type === "orderReturn" ? op.parcel : op.type === "outcome" ? op.name : null;
    if (opened) {
      const [item] = await sql`select id from delivery.delivery_items
        where tenant_id = ${tenant_id} and delivery_id = ${this.ids[opened]}`;
      this.ids[`item of ${opened}`] ??= item.id;
    }
    if (op.type === "redirect" && op.place === "home") {
      // Where it was sold or sent from, wherever it was fetched by then.
      const [home] = await sql`select coalesce(o.ordered_from_address_id, o.pickup_address_id) as id
        from delivery.deliveries r
        join delivery.deliveries o on o.tenant_id = r.tenant_id and o.id = r.original_delivery_id
        where r.tenant_id = ${tenant_id} and r.id = ${this.ids[op.name]}`;
      this.ids[`home of ${op.name}`] = home.id;
    }
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
      // Somebody who has it already takes it over a second time.
      if (code === "handoff_not_pending") return "invalid_status_transition";
      return alike[op.type]?.includes(code) ? alike[op.type]![0] : code;
    }
    this.#asked.set(sent, asked);
    // A repetition says what is known, of records whose names may have passed to others.
    const first = !this.#recorded.has(op.id);
    this.#recorded.add(op.id);
    return `ok${await answerOf(op, seen.body, this, first)}`;
  }

  /** The model's name of an id; the id itself if the model does not know it. */
  nameOf(id: string): string {
    return Object.keys(this.ids).find((name) => this.ids[name] === id) ?? id;
  }
}
