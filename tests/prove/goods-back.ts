/** The operation of an order that lies in another warehouse on its way, is sent back, and received as the goods that it was. */
import { sql } from "../support/db.ts";
import { orderOf } from "../support/orders.ts";
import type { Step } from "./asking.ts";
import { OrderParts, reachable } from "./order-parts.ts";
import { type DriverOf, type Member, steadily } from "./world.ts";

/** As many as a cart of an order holds (`cartOf`). */
const ordered = 3;

interface Ordered {
  id: string;
  cart: string;
  delivery: string;
  total: number;
  payment: "paid" | "pending";
}

export class GoodsBack extends OrderParts {
  protected async orderComesBack(customer: Member, { a, b, c }: Step): Promise<void> {
    const order = await this.approvedOrder(customer, c % 2 ? "wallet" : "cash");
    if (!order || !await this.divert(order, this.driver(b))) return;
    const cancels = a % 2 === 0;
    const told = (status: string) =>
      this.facts.report("bought", order.cart, `${order.id} ${status} ${order.payment}`);
    const ended = () => {
      told("cancelled");
      if (order.payment === "paid") this.facts.report("refunded", order.id, String(order.total));
    };
    const back = await this.sendBackOf({ id: order.delivery, fee: 0 }, cancels);
    if (!back) return;
    if (cancels) ended();
    if (!await this.bringHome(back, this.driver(b + 1))) return;
    if (!cancels) ended();
    await this.restock(order.delivery);
  }

  private async approvedOrder(
    customer: Member,
    way: "wallet" | "cash",
  ): Promise<Ordered | undefined> {
    const { shop } = this.place;
    const cart = await this.cartOf(customer, shop.product.variant);
    if (!cart) return;
    const confirmed = await this.ask(
      customer,
      "POST",
      "/storefront/orders/confirm",
      { ...orderOf(shop, cart, way), address: reachable },
      ({ order }) => order.totalItems === ordered,
    );
    if (!confirmed) return;
    const { id, totalPrice: total, order_number: number } = confirmed.order;
    const payment = way === "wallet" ? "paid" : "pending";
    this.facts.report("bought", cart, `${id} pending ${payment}`);
    const delivery = await this.approveOrder(id, cart, payment);
    if (!delivery) return;
    const one = { id, number, cart, delivery, quantity: ordered, total, paid: way === "wallet" };
    return await this.pickOrder(one, false) ? { id, cart, delivery, total, payment } : undefined;
  }

  /** To the warehouse for parcels before it goes to its door: its driver brings it there, and it waits. */
  private async divert({ id, cart, delivery, payment }: Ordered, driver: DriverOf) {
    const { ops, shop, there } = this.place;
    const path = `/delivery/deliveries/${delivery}`;
    const found = await this.ask(
      ops,
      "GET",
      path,
      undefined,
      ({ delivery: seen }) => seen.id === delivery,
    );
    if (!found) return false;
    const diverted = await this.ask(
      ops,
      "POST",
      "/warehousing/package-transfers",
      {
        mode: "delivery_operation",
        operation_type: "single_delivery",
        source_warehouse_id: shop.shelf.warehouse,
        destination_warehouse_id: there,
        package_barcodes: [found.delivery.barcode],
      },
      ({ transfer_id }) => typeof transfer_id === "string",
    );
    if (!diverted) return false;
    this.facts.report("diverted", diverted.transfer_id, delivery);
    if (!await this.give(delivery, driver)) return false;
    for (const step of ["pickup", "depart", "complete"]) {
      const moved = await this.move(driver, delivery, step);
      if (!moved) return false;
      this.facts.report("bought", cart, `${id} shipped ${payment}`);
      if (step === "complete" && moved.delivery.status !== "pending") {
        this.facts.wrong.push(`${delivery} ends in a warehouse: ${moved.delivery.status}`);
      }
    }
    return true;
  }

  /** The goods are expected where they are sold from, and are stock again once they are received. */
  private async restock(delivery: string): Promise<void> {
    const { ops, shop, id: tenant } = this.place;
    const [part] = await steadily(() =>
      sql<{ receipt: string | null }[]>`select receiving_order_id as receipt
        from storefront.storefront_order_parts where tenant_id = ${tenant} and delivery_id = ${delivery}`
    );
    if (!part?.receipt) {
      this.facts.wrong.push(`the goods of ${delivery} are not expected`);
      return;
    }
    this.facts.report("restocked", part.receipt, `${delivery} pending 0`);
    const received = await this.ask(
      ops,
      "PUT",
      `/warehousing/receiving-orders/${part.receipt}`,
      { status: "received", item_details: [{ bin_id: shop.shelf.bin }] },
      ({ order }) =>
        order.id === part.receipt && order.status === "received" &&
        order.warehouse_id === shop.shelf.warehouse &&
        order.item_details[0].received_quantity === ordered,
    );
    if (received) this.facts.report("restocked", part.receipt, `${delivery} received ${ordered}`);
  }
}
