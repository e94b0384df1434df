/** Drivers are paid out what they earned with every delivery, and some of it was a mistake. */
import { randomUUID } from "node:crypto";
import type { Step } from "./asking.ts";
import { Shortages } from "./shortages.ts";

const path = "/delivery/driver-pay/payouts";

export class DriverPay extends Shortages {
  /** Into the wallet, by the administrator, or from a desk; some payouts are reversed. */
  async payOut({ a, b, c }: Step): Promise<void> {
    const { dispatcher, admin } = this.place;
    const driver = this.driver(a);
    const method = c % 2 ? "wallet" : "cash";
    const who = method === "wallet" || b % 5 === 0 ? admin : dispatcher;
    const reference = randomUUID();
    const paid = await this.ask(
      who,
      "POST",
      path,
      { driver_id: driver.id, method, reference },
      ({ data: { payout } }) =>
        payout.reference === reference && payout.driver.id === driver.id &&
        payout.method === method && payout.amount > 0 && payout.count > 0,
      ["nothing_to_pay", "insufficient_desk_cash"],
    );
    if (!paid) return;
    const { id, amount, count } = paid.data.payout;
    const made = `${id} ${method} ${amount} ${count}`;
    this.facts.report("paidOut", reference, made);
    if (b % 3) return;
    const back = await this.ask(
      who,
      "POST",
      `${path}/${id}/reverse`,
      { reason: reference },
      ({ data: { payout } }) => payout.id === id && payout.reversal_reason === reference,
      ["insufficient_wallet_balance"],
    );
    if (back) this.facts.report("paidOut", reference, `${made} reversed`);
  }
}
