/** The operations of customers: a cart that is ordered, approved, and then brought or cancelled. */
import { orderOf } from "../support/orders.ts";
import type { Step } from "./asking.ts";
import { GatewayReports } from "./gateway-reports.ts";
import { reachable } from "./order-parts.ts";
import type { Member } from "./world.ts";

/** How customers pay; both last ones are gateways. */
const ways = ["wallet", "cash", "razorpay", "gatewayone"] as const;

export class Purchases extends GatewayReports {
  /** Those who are not buying at the moment: everybody has one cart. */
  readonly #customers: Member[] = [...this.place.customers];

  /** A cart that is ordered, approved, and then brought or cancelled, which gives back what was paid. */
  async buy({ a, b, c }: Step): Promise<void> {
    const customer = this.#customers.shift();
    if (!customer) return await this.adjust({ a, b, c });
    try {
      await this.order(customer, a, b, c);
    } finally {
      this.#customers.push(customer);
    }
  }

  /** As buying, of goods that two warehouses have together. */
  async split(step: Step): Promise<void> {
    const customer = this.#customers.shift();
    if (!customer) return await this.adjust(step);
    try {
      await this.orderFromTwo(customer, step);
    } finally {
      this.#customers.push(customer);
    }
  }

  /** As buying; the order comes back from the warehouse that it was sent through. */
  async sendGoodsBack(step: Step): Promise<void> {
    const customer = this.#customers.shift();
    if (!customer) return await this.adjust(step);
    try {
      await this.orderComesBack(customer, step);
    } finally {
      this.#customers.push(customer);
    }
  }

  private async order(customer: Member, a: number, b: number, c: number): Promise<void> {
    const { shop, admin } = this.place;
    const opened = await this.ask(customer, "POST", "/storefront/carts", {
      marketId: shop.store.id,
    }, ({ data }) => data.status === "active" && data.items.length === 0);
    if (!opened) return;
    const cart: string = opened.data.id;
    const quantity = 1 + a % 3;
    const filled = await this.ask(customer, "POST", `/storefront/carts/${cart}/items`, {
      variantId: shop.product.variant,
      quantity,
    }, ({ data }) => data.id === cart && data.totalItems === quantity);
    if (!filled) return;
    const way = ways[c % ways.length];
    const gateway = way === "razorpay" || way === "gatewayone";
    const confirmed = await this.ask(
      customer,
      "POST",
      "/storefront/orders/confirm",
      { ...orderOf(shop, cart, way), address: reachable },
      ({ order, instructions }) =>
        order.totalItems === quantity && Boolean(instructions?.redirect_url) === gateway,
    );
    if (!confirmed) return;
    const { id, totalPrice, order_number } = confirmed.order;
    let paid = way === "wallet" ? "paid" : "pending";
    this.facts.report("bought", cart, `${id} pending ${paid}`);
    if (gateway && b % 5) {
      const { instructions } = confirmed;
      const told = way === "razorpay"
        ? await this.tellSigned(instructions.gateway_order_id, totalPrice, a)
        : await this.tellUnsigned(instructions, a);
      if (!told) return;
      if (way === "razorpay" && a % 2 === 0) {
        await this.settleLess(instructions.gateway_order_id, totalPrice - 1, a % 4 === 0);
      }
      paid = "paid";
      this.facts.report("bought", cart, `${id} pending ${paid}`);
      this.facts.report("charged", id, `1 ${totalPrice}`);
    }
    // An order that is unpaid at the gateway is not approved.
    if (b % 4 && (paid === "paid" || !gateway)) {
      const delivery = await this.approveOrder(id, cart, paid);
      if (!delivery) return;
      if (b % 2 && c % 5) {
        const order = { id, number: order_number, cart, delivery, quantity, total: totalPrice };
        await this.bringOrder({ ...order, paid: paid === "paid" }, this.driver(a + c), a + b);
      }
    }
    if (b % 2) return;
    const cancelled = await this.ask(admin, "PUT", `/storefront/orders/${id}/cancel`, {
      reason: "other",
    }, ({ data }) => data.order.id === id);
    if (!cancelled) return;
    this.facts.report("bought", cart, `${id} cancelled ${paid}`);
    if (paid === "paid") this.facts.report("refunded", id, String(totalPrice));
  }
}
