/** The path of an approved order's goods: picked, perhaps short, delivered, and perhaps refused and received again. */
import { MerchantMoney } from "./merchant-money.ts";
import type { DriverOf } from "./world.ts";

export interface Approved {
  id: string;
  number: string;
  cart: string;
  delivery: string;
  quantity: number;
  total: number;
  /** Paid before: by wallet or at a gateway; else in cash at the door. */
  paid: boolean;
}

const price = 5_000;

export class OrderGoods extends MerchantMoney {
  protected async bringOrder(order: Approved, driver: DriverOf, dice: number): Promise<void> {
    const short = dice % 3 === 0 && order.quantity > 1;
    if (!await this.pickOrder(order, short)) return;
    if (short && !await this.acceptShort(order)) return;
    if (!await this.give(order.delivery, driver)) return;
    for (const step of ["pickup", "depart"]) {
      if (!await this.move(driver, order.delivery, step)) return;
      const payment = order.paid ? "paid" : "pending";
      this.facts.report("bought", order.cart, `${order.id} shipped ${payment}`);
    }
    if (dice % 2) {
      if (!await this.move(driver, order.delivery, "complete")) return;
      this.facts.report("bought", order.cart, `${order.id} delivered paid`);
      const due = order.total - (short ? price : 0);
      if (!order.paid) this.facts.report("collected", order.delivery, `${driver.id} 1 ${due}`);
    } else await this.refuseOrder(order, driver, order.quantity - (short ? 1 : 0));
  }

  /** Approves an order that one warehouse has whole. Answers its delivery; undefined when the answer did not come. */
  protected async approveOrder(id: string, cart: string, payment: string) {
    const approved = await this.ask(
      this.place.admin,
      "PUT",
      `/storefront/orders/${id}/approve`,
      {},
      ({ data }) => data.order.id === id && data.deliveries.length === 1,
    );
    if (!approved) return undefined;
    this.facts.report("bought", cart, `${id} confirmed ${payment}`);
    return approved.data.deliveries[0].delivery_id as string;
  }

  protected async pickOrder({ id, number, quantity }: Approved, short: boolean): Promise<boolean> {
    const { ops, shop } = this.place;
    const path = "/warehousing/picking-orders";
    const listed = await this.ask(
      ops,
      "GET",
      `${path}?search=${number}`,
      undefined,
      ({ orders }) =>
        orders.filter((one: { order_id: string }) => one.order_id === id).length === 1,
    );
    const task = listed?.orders.find((one: { order_id: string }) => one.order_id === id);
    if (!task) return false;
    const line = { item_id: shop.shelf.item, bin_id: shop.shelf.bin, quantity };
    const picked_quantity = quantity - (short ? 1 : 0);
    const picked = await this.ask(
      ops,
      "PUT",
      `${path}/${task.id}`,
      { status: "completed", item_details: [{ ...line, picked_quantity }] },
      ({ order }) =>
        order.status === "completed" && order.item_details[0].picked_quantity === picked_quantity,
    );
    return picked !== undefined;
  }

  private async acceptShort({ id, total, paid }: Approved): Promise<boolean> {
    const accepted = await this.ask(
      this.place.admin,
      "POST",
      `/storefront/orders/${id}/accept-short`,
      undefined,
      ({ data }) =>
        data.order.total_price === total - price &&
        (data.refund?.amount ?? 0) === (paid ? price : 0),
    );
    if (accepted && paid) this.facts.report("refunded", id, String(price));
    return accepted !== undefined;
  }

  /** Refused at the door and received again; the order ends with its delivery, and what was paid is refunded. */
  private async refuseOrder(order: Approved, driver: DriverOf, left: number): Promise<void> {
    const { ops, shop } = this.place;
    if (!await this.move(driver, order.delivery, "fail")) return;
    const back = await this.move(driver, order.delivery, "return");
    if (!back) return;
    this.facts.report("returned", order.delivery, "nothing");
    this.facts.report(
      "bought",
      order.cart,
      `${order.id} cancelled ${order.paid ? "paid" : "pending"}`,
    );
    if (order.paid) this.facts.report("refunded", order.id, String(order.total));
    const receipt: string = back.receiving_order_id;
    this.facts.report("restocked", receipt, `${order.delivery} pending 0`);
    const received = await this.ask(
      ops,
      "PUT",
      `/warehousing/receiving-orders/${receipt}`,
      { status: "received", item_details: [{ bin_id: shop.shelf.bin }] },
      (answer) =>
        answer.order.status === "received" &&
        answer.order.item_details[0].received_quantity === left,
    );
    if (!received) return;
    this.facts.ended("assigned", order.delivery);
    this.facts.report("restocked", receipt, `${order.delivery} received ${left}`);
  }
}
