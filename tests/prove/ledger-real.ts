/** The operations of the model against the functions, and the state of the database in the model's words. */
import { newCash } from "../support/cod.ts";
import { sql } from "../support/db.ts";
import { newCart, orderOf } from "../support/orders.ts";
import type { Asked, Attempt, Caller } from "./caller.ts";
import type { Op, Row, State } from "./ledger-model.ts";
import type { Place } from "./world.ts";

export class Real {
  /** Ids by the names of the model. */
  readonly ids: Record<string, string> = {};

  constructor(readonly place: Place, private readonly caller: Caller) {}

  /** Cash that a driver took, booked as a delivery books it. */
  async take(name: string, { driver, cod, fee }: Omit<Row, "status">): Promise<void> {
    const { id } = await newCash(this.place.tenant, {
      driver: this.place.drivers[driver].id,
      cod,
      fee,
    });
    this.ids[name] = id;
  }

  /** Does it, and says what was answered as the model does. */
  async run(op: Op): Promise<string> {
    if (op.type === "order") {
      this.ids[`cart ${op.name}`] = await newCart(
        this.place.shop,
        op.quantity,
        this.place.customers[op.customer].id,
      );
    }
    const missing = "name" in op && op.type !== "order" && op.type !== "pick" && !this.ids[op.name];
    if (missing) return op.type === "move" ? "picking_order_not_found" : "order_not_found";
    if (op.type === "unsettle" && !this.ids[`settlement ${op.key}`]) return "settlement_not_found";
    const seen = await this.caller.surely(this.question(op));
    if (seen.status < 200 || seen.status >= 300) return seen.body.code ?? `status ${seen.status}`;
    return this.answer(op, seen.body);
  }

  private question(op: Op): Asked {
    const { place, ids } = this;
    const shelf = (index: number) => place.shelves[index];
    const put = (path: string, body: unknown): Asked => ({
      token: place.admin.token,
      method: "PUT",
      path: `/storefront/orders/${path}`,
      body,
    });
    const stock = (path: string, body: unknown, method = "POST"): Asked => ({
      token: place.ops.token,
      method,
      path: `/warehousing/${path}`,
      body,
    });
    switch (op.type) {
      case "settle": {
        const driver = place.drivers[op.driver];
        return {
          token: op.office ? place.dispatcher.token : driver.token,
          path: `/delivery/cod-collections/${op.way}`,
          key: op.key,
          body: op.rows === "all"
            ? { scope: "all", driver_id: driver.id }
            : { scope: "selected", cod_collection_ids: op.rows.map((name) => ids[name]) },
        };
      }
      case "unsettle":
        return {
          token: place.admin.token,
          path: `/delivery/cod-settlements/${ids[`settlement ${op.key}`]}/reverse`,
          body: { reason: "model" },
        };
      case "adjust":
        return {
          token: place.admin.token,
          path: `/delivery/wallets/${place.drivers[op.driver].wallet}/adjust`,
          body: { amount: op.amount, direction: op.credit ? "credit" : "debit", reason: "model" },
        };
      case "receive": {
        const { warehouse, bin } = shelf(op.shelf);
        const line = { item_id: place.items[op.item], bin_id: bin, quantity: op.quantity };
        return stock("inventory/receipts", { warehouse_id: warehouse, items: [line] });
      }
      case "correct": {
        const { warehouse, bin } = shelf(op.shelf);
        const where = { warehouse_id: warehouse, bin_id: bin, item_id: place.items[op.item] };
        return stock("inventory/adjustments", { ...where, delta: op.delta, reason: "model" });
      }
      case "writeOff":
      case "takeBack": {
        const { warehouse, bin } = shelf(op.shelf);
        const line = { item_id: place.items[op.item], bin_id: bin, quantity: op.quantity };
        return stock(`inventory/${op.type === "writeOff" ? "write-offs" : "returns"}`, {
          warehouse_id: warehouse,
          reason: "model",
          items: [line],
        });
      }
      case "transfer": {
        const [from, to] = [shelf(op.from), shelf(1 - op.from)];
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
      case "pick": {
        const { warehouse, bin } = shelf(op.shelf);
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
      case "order":
        return {
          token: place.customers[op.customer].token,
          path: "/storefront/orders/confirm",
          body: orderOf(place.shop, ids[`cart ${op.name}`], op.wallet ? "wallet" : "cash"),
        };
      case "approve":
        return put(`${ids[op.name]}/approve`, {});
      case "cancel":
        return put(`${ids[op.name]}/cancel`, { reason: "other" });
    }
  }

  private answer(op: Op, body: Attempt["body"]): string {
    switch (op.type) {
      case "settle": {
        const { data } = body;
        this.ids[`settlement ${op.key}`] = data.settlement_payment_id;
        return op.way === "remit"
          ? `ok ${data.total_remitted} of which ${data.total_delivery_fee_remitted} in ${data.remitted_count}`
          : `ok ${data.total_settled} of which ${data.total_delivery_fee_settled} in ${data.settled_count} leaves ${data.wallet_balance_after}`;
      }
      case "unsettle":
        return `ok ${body.data.total} of which ${body.data.delivery_fee} in ${body.data.items.length}`;
      case "adjust":
        return `ok ${body.wallet.balance}`;
      case "receive":
      case "takeBack":
      case "writeOff":
      case "correct":
        return `ok ${body.transactions[0].quantity}`;
      case "transfer":
        return "ok";
      case "pick":
        this.ids[op.name] = body.order.id;
        return `ok ${body.order.status}`;
      case "move":
        return `ok ${body.order.status}`;
      case "order":
        this.ids[op.name] = body.order.id;
        return `ok ${body.order.totalPrice}`;
      case "approve":
      case "cancel":
        return `ok ${body.data.order.status}`;
    }
  }

  /** The database in the model's words; what a model has besides are the answers it remembers. */
  async state(): Promise<Omit<State, "keys">> {
    const { place } = this;
    const [seen] = await sql`select
      (select jsonb_object_agg(id, status) from money.cod_collections where tenant_id = ${place.id}) as rows,
      (select jsonb_object_agg(coalesce(owner_user_id::text, 'house'), balance) from money.accounts
        where tenant_id = ${place.id} and kind = 'wallet') as wallets,
      (select jsonb_object_agg(k, q) from (select warehouse_id || ' ' || item_id as k, sum(quantity) as q from warehousing.stock
        where tenant_id = ${place.id} and status = 'available' group by 1) s) as units,
      (select jsonb_object_agg(id, status) from warehousing.picking_orders
        where tenant_id = ${place.id} and order_id is null) as picks,
      (select jsonb_object_agg(id, status) from storefront.storefront_orders where tenant_id = ${place.id}) as orders`;
    const units = (warehouse: string, item: string): number =>
      seen.units?.[`${warehouse} ${item}`] ?? 0;
    const named = (list: Record<string, string> | null) => {
      const names = new Map(Object.entries(this.ids).map(([name, id]) => [id, name]));
      return Object.fromEntries(
        Object.entries(list ?? {}).map(([id, status]) => [names.get(id) ?? id, status]),
      );
    };
    return {
      rows: named(seen.rows),
      drivers: place.drivers.map(({ id }) => seen.wallets[id]),
      customers: place.customers.map(({ id }) => seen.wallets[id]),
      house: seen.wallets.house ?? 0,
      units: place.shelves.map(({ warehouse }) =>
        place.items.map((item) => units(warehouse, item))
      ),
      goods: units(place.shop.shelf.warehouse, place.shop.shelf.item),
      picks: named(seen.picks),
      orders: named(seen.orders),
    } as never;
  }
}
