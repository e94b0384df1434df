/** An order that no warehouse has alone: it leaves from two, and ends part by part. */
import { randomUUID } from "node:crypto";
import type { Body } from "../support/api.ts";
import { sql } from "../support/db.ts";
import { orderOf } from "../support/orders.ts";
import { newProduct } from "../support/storefront.ts";
import { newItem } from "../support/warehouses.ts";
import type { Step } from "./asking.ts";
import { OrderGoods } from "./order-goods.ts";
import { type Member, steadily } from "./world.ts";

const [price, fee] = [5_000, 1_000];
/** Units in each of the two warehouses; all of them are ordered. */
const there = [2, 1];
const ordered = 3;

export class OrderParts extends OrderGoods {
  /** Goods of its own in both warehouses, all of them ordered in cash, approved, and brought, refused or cancelled. */
  protected async orderFromTwo(customer: Member, { a, c }: Step): Promise<void> {
    const { shop, admin, tenant } = this.place;
    const { item, variant } = await steadily(async () => {
      const item = await newItem(tenant);
      const { variant } = await newProduct(tenant, shop.store);
      await sql`update storefront.product_variants set inventory_item_id = ${item} where id = ${variant}`;
      return { item, variant };
    });
    for (const [place, quantity] of there.entries()) {
      const { warehouse: warehouse_id, bin: bin_id } = this.place.shelves[place];
      const notes = randomUUID();
      const body = { warehouse_id, notes, items: [{ item_id: item, bin_id, quantity }] };
      const path = "/warehousing/inventory/receipts";
      const done = await this.ask(
        this.place.ops,
        "POST",
        path,
        body,
        ({ transactions }) => transactions[0].quantity === quantity,
      );
      if (!done) return;
      this.facts.report("received", notes, `${done.receipt_id} ${quantity}`);
    }
    const cart = await this.cartOf(customer, variant);
    if (!cart) return;
    const confirmed = await this.ask(
      customer,
      "POST",
      "/storefront/orders/confirm",
      { ...orderOf(shop, cart, "cash"), address: reachable },
      ({ order }) => order.totalItems === ordered,
    );
    if (!confirmed) return;
    const { id } = confirmed.order;
    const told = (state: string) => this.facts.report("bought", cart, `${id} ${state}`);
    told("pending pending");
    const approved = await this.ask(
      admin,
      "PUT",
      `/storefront/orders/${id}/approve`,
      {},
      ({ data }) =>
        data.order.id === id && data.deliveries.length === 2 &&
        data.deliveries.every((part: Body, place: number) =>
          part.warehouse_id === this.place.shelves[place].warehouse &&
          part.items[0].quantity === there[place]
        ),
    );
    if (!approved) return;
    told("confirmed pending");
    this.facts.report("split", id, "2");
    await this.refused(admin, "PUT", `/storefront/orders/${id}/approve`, {}, [
      "order_not_pending",
    ]);
    if (c % 4 === 0) {
      const cancelled = await this.ask(
        admin,
        "PUT",
        `/storefront/orders/${id}/cancel`,
        { reason: "other" },
        ({ data }) => data.order.id === id && data.inventory_released && data.refund === null,
      );
      if (cancelled) told("cancelled pending");
      return;
    }
    const driver = this.driver(a);
    for (const [place, { delivery_id: delivery }] of approved.data.deliveries.entries()) {
      if (!await this.give(delivery, driver)) return;
      if (!await this.move(driver, delivery, "pickup")) return;
      told("shipped pending");
      // The cash that one part collects: its goods, and for the first part also the fee.
      const due = price * there[place] + (place === 0 ? fee * ordered : 0);
      if (!await this.move(driver, delivery, "complete")) return;
      this.facts.report("collected", delivery, `${driver.id} 1 ${due}`);
      if (place === 0) continue;
      told("delivered paid");
    }
  }

  protected async cartOf(customer: Member, variantId: string): Promise<string | undefined> {
    const carts = "/storefront/carts";
    const opened = await this.ask(
      customer,
      "POST",
      carts,
      { marketId: this.place.shop.store.id },
      ({ data }) => data.status === "active" && data.items.length === 0,
    );
    if (!opened) return;
    const cart: string = opened.data.id;
    const filled = await this.ask(
      customer,
      "POST",
      `${carts}/${cart}/items`,
      { variantId, quantity: ordered },
      ({ data }) => data.id === cart && data.totalItems === ordered,
    );
    return filled && cart;
  }
}

/** Without its coordinates nobody could be sent there: drivers go to zones. */
export const reachable = {
  full_address: "Street 14, house 3",
  city: "Baghdad",
  country: "IQ",
  lat: 33.31,
  long: 44.37,
  contact_info: { phone: "+9647701234567", email: "buyer@example.test" },
};
