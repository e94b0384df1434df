/** The operations of parcels that come into a warehouse which they were not ordered from, and go back from there. */
import type { Body } from "../support/api.ts";
import type { Step } from "./asking.ts";
import { Carriers } from "./carriers.ts";
import type { DriverOf } from "./world.ts";

const deliveries = "/delivery/deliveries";

/** A parcel that lies in the warehouse for parcels, and its fee, which its sender paid; none of an order's. */
export interface Lying {
  id: string;
  fee: number;
  sender?: string;
}

/** The delivery that brings such a parcel back. */
export interface Back {
  id: string;
  parcel: Lying;
  /** Its order was cancelled by the same call: the fee is given back at once, and not when it is home. */
  cancels: boolean;
}

export class SendBacks extends Carriers {
  /** Not met at its door and received in the warehouse; sent back, perhaps cancelled and sent anew, and brought home. */
  async sendBack({ a, b, c }: Step): Promise<void> {
    const parcel = await this.layBy(a, this.driver(b));
    if (!parcel) return;
    const cancels = a % 3 === 0;
    let back = await this.sendBackOf(parcel, cancels);
    if (!back) return;
    if (cancels || b % 3 === 0) {
      back = await this.callOff(back);
      if (!back) return;
    }
    if (c % 4 === 0) return;
    if (c % 4 > 1) await this.bringHome(back, this.driver(b + 1));
    else await this.carryHome(back);
  }

  /** Brought by its driver, and there once the staff have it: then it waits. */
  private async layBy(dice: number, driver: DriverOf): Promise<Lying | undefined> {
    const { customers, there, ops } = this.place;
    const { id: sender } = customers[dice % customers.length];
    const made = await this.newDelivery(250 * (dice % 3), {
      customer_id: sender,
      payer_type: "sender",
      payment_method: "wallet",
    });
    if (!made || !await this.give(made.id, driver)) return;
    const { id, price: fee } = made;
    for (const step of ["pickup", "depart", "fail"]) {
      if (!await this.move(driver, id, step)) return;
    }
    const brought = await this.ask(
      driver,
      "POST",
      `${deliveries}/${id}/return`,
      { warehouse_id: there },
      ({ delivery, receiving_order_id, refunded }) =>
        delivery.id === id && delivery.status === "in_transit" && receiving_order_id && !refunded,
    );
    if (!brought) return;
    const receipt: string = brought.receiving_order_id;
    this.facts.report("takenIn", receipt, `${id} pending`);
    const received = await this.ask(
      ops,
      "PUT",
      `/warehousing/receiving-orders/${receipt}`,
      { status: "received" },
      ({ order }) => order.id === receipt && order.status === "received",
    );
    if (!received) return;
    this.facts.report("takenIn", receipt, `${id} received`);
    this.facts.ended("assigned", id);
    return { id, fee, sender };
  }

  /** By a delivery of its own; a second one is refused. */
  protected async sendBackOf(parcel: Lying, cancels: boolean): Promise<Back | undefined> {
    const { id, fee } = parcel;
    const path = `${deliveries}/${id}/${cancels ? "cancel" : "operational-return"}`;
    const body = { reason: "unwanted" };
    const made = (answer: Body): Body => cancels ? answer.operational_return : answer.delivery;
    const sent = await this.ask(
      this.place.ops,
      "POST",
      path,
      body,
      (answer) =>
        made(answer).original_delivery_id === id && made(answer).status === "pending" &&
        (!cancels || answer.delivery.status === "cancelled" && answer.refunded === fee > 0),
    );
    if (!sent) return;
    const back = { id: made(sent).id, parcel, cancels };
    this.reportBack(back, "under way");
    await this.refused(this.place.ops, "POST", path, body, [
      cancels ? "invalid_status_transition" : "return_already_exists",
    ]);
    return back;
  }

  /** The parcel waits as before, and is sent back once more; that of a cancelled order goes back in any case. */
  private async callOff(back: Back): Promise<Back | undefined> {
    const { id, parcel, cancels } = back;
    const path = `${deliveries}/${id}/cancel`;
    const body = { reason: "wanted after all" };
    if (cancels) {
      await this.refused(this.place.ops, "POST", path, body, ["invalid_status_transition"]);
      return back;
    }
    const off = await this.ask(
      this.place.ops,
      "POST",
      path,
      body,
      ({ delivery, operational_return }) =>
        delivery.id === id && delivery.status === "cancelled" && operational_return === null,
    );
    if (!off) return;
    this.facts.report("sentBack", id, `${parcel.id} cancelled`);
    return await this.sendBackOf(parcel, false);
  }

  /** Picked for a driver, who takes it over and delivers it where it came from. True when that is done. */
  protected async bringHome(back: Back, driver: DriverOf): Promise<boolean> {
    if (!await this.takeOver(back.id, driver)) return false;
    if (!await this.move(driver, back.id, "complete")) return false;
    this.cameHome(back);
    return true;
  }

  /** Picked for another company, which does the same. */
  private async carryHome(back: Back): Promise<void> {
    const picked = await this.ask(
      this.place.ops,
      "POST",
      `${deliveries}/${back.id}/execute`,
      {},
      ({ picking_order: order }) => order.delivery_id === back.id,
    );
    if (!picked || !await this.giveToCarrier(back.id)) return;
    const booked = await this.book(back.id);
    if (!booked || !await this.tellTwice(booked, "picked_up")) return;
    if (await this.tellTwice(booked, "delivered")) this.cameHome(back);
  }

  private cameHome(back: Back): void {
    const { parcel: { id, fee, sender }, cancels } = back;
    this.reportBack(back, "delivered");
    if (!cancels) this.facts.report("returned", id, sender ? `${sender} ${fee}` : "nothing");
  }

  /** How its parcel ended, and how much of its fee was given back. */
  private reportBack({ id, parcel, cancels }: Back, status: "under way" | "delivered"): void {
    const isHome = status === "delivered";
    const original = cancels ? "cancelled" : isHome ? "returned" : "pending";
    const refund = cancels || isHome ? parcel.fee : 0;
    this.facts.report("sentBack", id, `${parcel.id} ${original} ${refund} ${status}`);
  }
}
