/** The operations that change a parcel on its way, or put out of force how it ended. */
import { randomUUID } from "node:crypto";
import type { Body } from "../support/api.ts";
import type { Step } from "./asking.ts";
import { Parcels } from "./parcels.ts";
import type { DriverOf, Member } from "./world.ts";

const deliveries = "/delivery/deliveries";
/** Why an outcome cannot be undone: its cash was settled meanwhile, or its COD spent. */
const kept = ["outcome_is_settled", "insufficient_wallet_balance"];

export class OnTheWay extends Parcels {
  protected merchant = (index: number): Member =>
    this.place.merchants[index % this.place.merchants.length];

  /** Delivered wholly or in part, or refused; that is undone, and perhaps it is delivered all the same. */
  async undo({ a, b, c }: Step): Promise<void> {
    const driver = this.driver(b);
    const unit_price = 250 * (1 + a % 20);
    const made = await this.newDelivery(2 * unit_price, {
      customer_id: this.merchant(a).id,
      package: { items: [{ name: "Thing", quantity: 2, unit_price }] },
    });
    if (!made || !await this.give(made.id, driver)) return;
    const { id, price } = made;
    for (const step of ["pickup", ...b % 2 ? ["depart"] : []]) {
      if (!await this.move(driver, id, step)) return;
    }
    const result = (["delivered", "partial", "refused"] as const)[c % 3];
    const cod = { delivered: 2 * unit_price, partial: unit_price, refused: 0 }[result];
    const due = result === "refused" ? 0 : cod + price;
    const report = await this.reportOf(id, driver, result);
    if (!report) return;
    const ended = await this.ask(
      driver,
      "POST",
      `${deliveries}/${id}/outcome`,
      report,
      ({ data: { delivery, returns, cash: { collected } } }) =>
        delivery.id === id && returns.length === (result === "partial" ? 1 : 0) &&
        collected.cod + collected.delivery_fee === due,
    );
    if (!ended) return;
    const collected = `${driver.id} 1 ${due}`;
    const [back] = ended.data.returns;
    if (due) this.facts.report("collected", id, collected);
    if (back) this.facts.report("assigned", back.id, driver.id);
    const reason = randomUUID();
    const undone = await this.ask(
      a % 2 ? driver : this.place.ops,
      "POST",
      `${deliveries}/${id}/outcome/undo`,
      { reason },
      ({ data: { delivery, cash } }) =>
        delivery.id === id && delivery.status === (b % 2 ? "in_transit" : "picked_up") &&
        cash.cod === cod && cash.cod + cash.delivery_fee === due,
      kept,
    );
    if (!undone) return;
    this.facts.report("undone", reason, `${id} ${result}`);
    if (back) this.facts.ended("assigned", back.id);
    if (due) {
      this.facts.ended("collected", id);
      this.facts.report("uncollected", id, collected);
    }
    await this.refused(this.place.ops, "POST", `${deliveries}/${id}/outcome/undo`, { reason }, [
      "outcome_already_undone",
    ]);
    if (c % 2 && await this.move(driver, id, "complete")) {
      this.facts.report("collected", id, `${driver.id} 1 ${2 * unit_price + price}`);
    }
  }

  private async reportOf(id: string, driver: DriverOf, result: string): Promise<Body | undefined> {
    if (result === "refused") return { result, reason_code: "refused" };
    if (result === "delivered") return { result };
    const found = await this.ask(
      driver,
      "GET",
      `${deliveries}/${id}`,
      undefined,
      ({ delivery }) => delivery.id === id && delivery.items.length === 1,
    );
    if (!found) return;
    const [{ id: delivery_item_id }] = found.delivery.items;
    return { result, items: [{ delivery_item_id, quantity: 1 }] };
  }

  /** Another COD on the road: the office decides, or its driver requests it and the owner does. */
  async changeAmount({ a, b, c }: Step): Promise<void> {
    const driver = this.driver(b);
    const owner = this.merchant(a);
    const [before, after] = [250 * (2 + a % 40), 250 * (1 + b % 40)];
    const made = await this.newDelivery(before, { customer_id: owner.id });
    if (!made || !await this.give(made.id, driver)) return;
    const { id, price } = made;
    if (!await this.move(driver, id, "pickup")) return;
    const path = `${deliveries}/${id}/amount-changes`;
    if (before === after) {
      return await this.refused(this.place.ops, "POST", path, {
        cod_amount: after,
        reason: "None",
      }, ["amount_unchanged"]);
    }
    const reason = `amount ${randomUUID()}`;
    const requested = c % 2 === 1;
    const asked = await this.ask(
      requested ? driver : this.place.ops,
      "POST",
      path,
      { cod_amount: after, reason },
      ({ data: { amount_change: one, delivery } }) =>
        one.reason === reason && one.old_cod_amount === before && one.new_cod_amount === after &&
        one.status === (requested ? "pending" : "approved") &&
        delivery.cod_amount === (requested ? before : after),
    );
    if (!asked) return;
    const report = (status: string) =>
      this.facts.report("changed", reason, `${id} ${before} ${after} ${status}`);
    report(requested ? "pending" : "approved");
    let due = requested ? before : after;
    if (requested) {
      const status = b % 3 ? "approved" : "declined";
      const decided = await this.ask(
        // An owner only lowers it by then.
        status === "approved" && after > before ? this.place.ops : owner,
        "POST",
        `${path}/${asked.data.amount_change.id}/${status === "approved" ? "approve" : "decline"}`,
        {},
        ({ data: { amount_change } }) => amount_change.status === status,
      );
      if (!decided) return;
      report(status);
      if (status === "approved") due = after;
    }
    if (await this.move(driver, id, "complete")) {
      this.facts.report("collected", id, `${driver.id} 1 ${due + price}`);
    }
  }

  /** Paid by a wallet and sent further away, perhaps nearer again, and perhaps brought back, which refunds the net. */
  async sendElsewhere({ a, b, c }: Step): Promise<void> {
    const { customers, ops, roads, ground } = this.place;
    const driver = this.driver(b);
    const owner = customers[a % customers.length];
    const made = await this.newDelivery(0, {
      customer_id: owner.id,
      delivery_service_id: roads.service,
      payer_type: "sender",
      payment_method: "wallet",
    });
    if (!made) return;
    const { id } = made;
    let fee: number = made.price;
    const changes: number[] = [];
    for (const to of [roads.far, ...b % 2 ? [ground.to] : []]) {
      const before = fee;
      const sent = await this.ask(
        c % 2 ? owner : ops,
        "POST",
        `${deliveries}/${id}/redirect`,
        { dropoff_address_id: to },
        ({ data: { delivery, price } }) =>
          delivery.id === id && delivery.dropoff_address_id === to && price.charged === "wallet" &&
          price.before === before && price.after - before === price.difference &&
          (price.difference > 0) === (to === roads.far),
        ["insufficient_wallet_balance"],
      );
      if (!sent) return;
      fee = sent.data.price.after;
      changes.push(sent.data.price.difference);
      const net = changes.reduce((sum, one) => sum + one, 0);
      this.facts.report("redirected", id, `${to} ${changes.length} ${net}`);
    }
    if (c % 3 || !await this.give(id, driver)) return;
    for (const step of ["pickup", "depart"]) if (!await this.move(driver, id, step)) return;
    if (!await this.move(driver, id, "return")) return;
    this.facts.ended("assigned", id);
    this.facts.report("returned", id, `${owner.id} ${fee}`);
  }
}
