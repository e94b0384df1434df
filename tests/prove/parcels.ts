/** The operations that move parcels with their stock and money: returns, warehouses, handoffs and waybills. */
import { randomUUID } from "node:crypto";
import type { Body } from "../support/api.ts";
import type { Step } from "./asking.ts";
import { DriverPay } from "./driver-pay.ts";
import type { DriverOf, Member } from "./world.ts";

/** A parcel of two legs that lies in a warehouse; `leg` takes it to its receiver. */
interface Staged {
  parent: string;
  leg: string;
  /** The recipient's payment, for goods and delivery. */
  due: number;
}

const waybills = "/warehousing/waybills";

export class Parcels extends DriverPay {
  /** Paid from its sender's wallet, carried, and brought back, which gives them the fee back. */
  async comeBack({ a, b, c }: Step): Promise<void> {
    const driver = this.driver(b);
    const customer = this.place.customers[a % this.place.customers.length];
    const made = await this.newDelivery(0, {
      customer_id: customer.id,
      payer_type: "sender",
      payment_method: "wallet",
    });
    if (!made || !await this.give(made.id, driver)) return;
    for (const step of ["pickup", "depart", ...c % 2 ? ["fail"] : []]) {
      if (!await this.move(driver, made.id, step)) return;
    }
    const back = await this.move(driver, made.id, "return");
    if (!back) return;
    this.facts.ended("assigned", made.id);
    this.facts.report("returned", made.id, `${customer.id} ${back.delivery.price}`);
  }

  /** A van breaks down: picked up by one, handed over on the road, and confirmed by the other or not. */
  async breakDown({ a, b, c }: Step): Promise<void> {
    const [from, to] = [this.driver(b), this.driver(b + 1)];
    const cod = 250 * (1 + a % 20);
    const made = await this.newDelivery(cod, { payer_type: "sender" });
    if (!made || !await this.give(made.id, from)) return;
    if (!await this.move(from, made.id, "pickup")) return;
    const { id, price } = made;
    this.facts.report("collected", `${id} pickup`, `${from.id} 1 ${price}`);
    const path = `/delivery/assignments/driver/${from.id}/hand-over`;
    const handed = await this.ask(
      this.place.ops,
      "POST",
      path,
      { to_driver_id: to.id, delivery_ids: [id] },
      (answer) => answer.count === 1 && answer.to_confirm === 1 && answer.kept.length === 0,
    );
    if (!handed) return;
    this.facts.report("assigned", id, to.id);
    await this.refused(this.place.ops, "POST", path, { to_driver_id: to.id, delivery_ids: [id] }, [
      "assignment_not_found",
    ]);
    await this.refused(to, "POST", `/delivery/deliveries/${id}/complete`, {}, [
      "assignment_not_accepted",
    ]);
    const status = c % 3 ? "accepted" : "rejected";
    const said = await this.ask(
      to,
      "PUT",
      `/delivery/assignments/bulk/${handed.bulk_assignment_id}`,
      { status },
      (answer) => answer.status === status && answer.updated_count === 1,
    );
    if (!said) return;
    const [holder, other] = status === "accepted" ? [to, from] : [from, to];
    this.facts.report("assigned", id, holder.id);
    await this.refused(other, "POST", `/delivery/deliveries/${id}/complete`, {}, [
      // Rejected, it was never the other's; accepted, it is no more.
      status === "accepted" ? "assignment_ended" : "forbidden",
      "delivery_not_found",
    ]);
    if (!await this.move(holder, id, "complete")) return;
    // Cash that was collected before stays with its collector.
    this.facts.report("collected", id, `${holder.id} 1 ${cod}`);
  }

  /** At the door one of two things is kept, or all of them against others; the driver brings back the rest. */
  async atDoor({ a, b, c }: Step): Promise<void> {
    const driver = this.driver(b);
    const unit_price = 250 * (1 + a % 40);
    const made = await this.newDelivery(2 * unit_price, {
      package: { items: [{ name: "Thing", quantity: 2, unit_price }] },
    });
    if (!made || !await this.give(made.id, driver)) return;
    for (const step of ["pickup", "depart"]) if (!await this.move(driver, made.id, step)) return;
    const path = `/delivery/deliveries/${made.id}`;
    const found = await this.ask(
      driver,
      "GET",
      path,
      undefined,
      ({ delivery }) => delivery.id === made.id && delivery.items.length === 1,
    );
    if (!found) return;
    const [{ id: delivery_item_id }] = found.delivery.items;
    const report = c % 2
      ? { result: "partial", items: [{ delivery_item_id, quantity: 1 }] }
      : { result: "exchanged", taken_back: [{ name: "Other thing", quantity: 1 }] };
    const done = await this.ask(
      driver,
      "POST",
      `${path}/outcome`,
      report,
      ({ data }) =>
        data.delivery.id === made.id && data.returns.length === 1 &&
        data.cash.collected.cod === unit_price * (c % 2 ? 1 : 2),
    );
    if (!done) return;
    const { returns: [back], cash: { collected } } = done.data;
    this.facts.report("assigned", back.id, driver.id);
    this.facts.report(
      "collected",
      made.id,
      `${driver.id} 1 ${collected.cod + collected.delivery_fee}`,
    );
  }

  /** Through a warehouse into a driver's hands, and then to its door, or back into the warehouse. */
  async handOver({ a, b, c }: Step): Promise<void> {
    const staged = await this.stage(a, this.driver(b));
    const driver = this.driver(b + 1);
    if (!staged || !await this.takeOver(staged.leg, driver)) return;
    if (c % 3) await this.deliverLeg(staged, driver);
    else await this.bringBack(staged, driver);
  }

  /** By waybill to another warehouse, and from there to its door. */
  async travel({ a, b, c }: Step): Promise<void> {
    const { ops, ground, there } = this.place;
    const staged = await this.stage(a, this.driver(b));
    if (!staged) return;
    const notes = randomUUID();
    const made = await this.ask(
      ops,
      "POST",
      waybills,
      {
        source_warehouse_id: ground.warehouse,
        destination_warehouse_id: there,
        delivery_ids: [staged.leg],
        notes,
      },
      ({ waybill }) => waybill.notes === notes && waybill.delivery_count === 1,
    );
    if (!made) return;
    const { id } = made.waybill;
    this.facts.report("travelled", notes, `${id} drafted`);
    const steps: [name: string, body: object, status: string][] = [
      ["seal", { seal_number: "S" }, "drafted"],
      ["driver-handover", { driver_id: this.driver(c).id }, "in_transit"],
      ["receive", {}, "received"],
      ["close", {}, "closed"],
    ];
    for (const [name, body, status] of steps) {
      const moved = await this.ask(
        ops,
        "POST",
        `${waybills}/${id}/${name}`,
        body,
        ({ waybill }) => waybill.id === id && waybill.status === status,
      );
      if (!moved) return;
      this.facts.report("travelled", notes, `${id} ${status}`);
    }
    const driver = this.driver(b + 1);
    if (c % 2 && await this.takeOver(staged.leg, driver)) await this.deliverLeg(staged, driver);
  }

  /** Ordered through the warehouse and brought there. */
  private async stage(a: number, driver: DriverOf): Promise<Staged | undefined> {
    const made = await this.newDelivery(250 * (1 + a % 20), {
      staged: true,
      warehouse_id: this.place.ground.warehouse,
    });
    if (!made) return;
    const [inbound, leg] = made.legs.map(({ id }: { id: string }) => id);
    if (!await this.give(inbound, driver)) return;
    for (const step of ["pickup", "depart", "complete"]) {
      if (!await this.move(driver, inbound, step)) return;
    }
    return { parent: made.id, leg, due: made.cod_amount + made.price };
  }

  /** Picked in its warehouse and taken over by the driver. */
  protected async takeOver(leg: string, driver: DriverOf): Promise<boolean> {
    const picked = await this.ask(
      this.place.ops,
      "POST",
      `/delivery/deliveries/${leg}/execute`,
      {},
      ({ picking_order: order }) => order.delivery_id === leg,
    );
    if (!picked || !await this.give(leg, driver)) return false;
    const path = `/delivery/handoffs?delivery_id=${leg}&status=pending`;
    const listed = await this.ask(
      driver,
      "GET",
      path,
      undefined,
      ({ data }) => data.length === 1 && data[0].delivery_id === leg,
    );
    if (!listed) return false;
    const { id } = listed.data[0];
    const taken = await this.ask(
      driver,
      "POST",
      `/delivery/handoffs/${id}/pickup`,
      {},
      ({ handoff }) => handoff.id === id && handoff.status === "completed",
    );
    if (taken) this.facts.report("handed", id, `${leg} ${driver.id}`);
    return taken !== undefined;
  }

  private async deliverLeg({ parent, leg, due }: Staged, driver: DriverOf): Promise<void> {
    if (!await this.move(driver, leg, "depart")) return;
    const done = await this.move(driver, leg, "complete");
    // Cash is of the parcel, not of its leg.
    if (done) this.facts.report("collected", parent, `${driver.id} 1 ${due}`);
  }

  private async bringBack({ leg }: Staged, driver: DriverOf): Promise<void> {
    for (const step of ["depart", "fail"]) if (!await this.move(driver, leg, step)) return;
    const back = await this.move(driver, leg, "return");
    if (!back) return;
    const order: string = back.receiving_order_id;
    const received = await this.ask(
      this.place.ops,
      "PUT",
      `/warehousing/receiving-orders/${order}`,
      { status: "received" },
      (answer) => answer.order.id === order && answer.order.status === "received",
    );
    if (received) this.facts.ended("assigned", leg);
  }

  protected move(driver: Member, id: string, step: string): Promise<Body | undefined> {
    return this.ask(
      driver,
      "POST",
      `/delivery/deliveries/${id}/${step}`,
      step === "fail" ? { reason: "absent" } : {},
      ({ delivery }) => delivery?.id === id,
    );
  }
}
