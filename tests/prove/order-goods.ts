/** The path of an approved order's goods: picked, perhaps short, delivered, and perhaps refused or sent back, and received again. */
import { sql } from "../support/db.ts";
import { MerchantMoney } from "./merchant-money.ts";
import { type DriverOf, steadily } from "./world.ts";

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
      if (dice % 4 === 1) {
        const got = order.quantity - (short ? 1 : 0);
        await this.sendBackUnits(order, driver, dice % 8 === 1 ? got : 1);
      }
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

  /** Their customer sends so many of them back; the warehouse that sent them expects and receives as many. */
  private async sendBackUnits(order: Approved, driver: DriverOf, units: number): Promise<void> {
    const { ops, shop, ground, id: tenant } = this.place;
    const path = "/delivery/deliveries";
    const found = await this.ask(
      ops,
      "GET",
      `${path}/${order.delivery}`,
      undefined,
      ({ delivery }) => delivery.id === order.delivery && delivery.items.length === 1,
    );
    if (!found) return;
    const made = await this.ask(ops, "POST", path, {
      delivery_flow: "customer_return",
      original_delivery_id: order.delivery,
      delivery_service_id: ground.service,
      payer_type: "sender",
      payment_method: "cash",
      unit_size: 1,
      return_items: [{ delivery_item_id: found.delivery.items[0].id, quantity: units }],
    }, ({ delivery }) => delivery.delivery_flow === "customer_return");
    if (!made || !await this.give(made.id, driver)) return;
    for (const step of ["pickup", "depart", "complete"]) {
      if (!await this.move(driver, made.id, step)) return;
      const fee = `${driver.id} 1 ${made.delivery.price}`;
      this.facts.report("collected", `${made.id} pickup`, fee);
    }
    const [expected] = await steadily(() =>
      sql<{ id: string }[]>`select id from warehousing.receiving_orders
        where tenant_id = ${tenant} and delivery_id = ${made.id}`
    );
    if (!expected) {
      this.facts.wrong.push(`the goods that ${made.id} brought are not expected`);
      return;
    }
    this.facts.report("restocked", expected.id, `${order.delivery} pending 0`);
    const received = await this.ask(
      ops,
      "PUT",
      `/warehousing/receiving-orders/${expected.id}`,
      { status: "received", item_details: [{ bin_id: shop.shelf.bin }] },
      (answer) =>
        answer.order.status === "received" &&
        answer.order.item_details[0].item_id === shop.shelf.item &&
        answer.order.item_details[0].received_quantity === units,
    );
    if (!received) return;
    this.facts.report("restocked", expected.id, `${order.delivery} received ${units}`);
  }
}
