/** Cash that is counted before it is remitted, and found to be less; and fees that go back to who paid them in cash. */
import { randomUUID } from "node:crypto";
import { sql } from "../support/db.ts";
import type { Step } from "./asking.ts";
import { Cash } from "./cash.ts";
import { steadily } from "./world.ts";

const handovers = "/delivery/cod-collections/handover";

export class Shortages extends Cash {
  /** Counted short and remitted all the same: the rest is the driver's shortage until it is resolved, or taken back. */
  async comeShort({ a, b, c }: Step): Promise<void> {
    const { dispatcher, admin, id: tenant } = this.place;
    const driver = this.driver(a);
    const rows = await steadily(() =>
      sql`select id, amount from money.cod_collections where tenant_id = ${tenant} and driver_id = ${driver.id}
        and status = 'collected' and reversed_at is null order by random() limit ${1 + b % 3}`
    );
    if (rows.length === 0) return;
    const amount = rows.reduce((sum, row) => sum + Number(row.amount), 0);
    const missing = 1 + c % amount;
    const [notes, reference] = [randomUUID(), randomUUID()];
    const counted = await this.ask(
      dispatcher,
      "POST",
      handovers,
      { driver_id: driver.id, amount, counted_amount: amount - missing, notes },
      ({ data }) => data.status === "discrepancy" && data.difference === -missing,
    );
    if (!counted) return;
    const { id } = counted.data;
    this.facts.report("declared", notes, `${id} discrepancy none`);
    const ids: string[] = rows.map((row) => row.id);
    const remitted = await this.ask(
      dispatcher,
      "POST",
      "/delivery/cod-collections/remit",
      { scope: "selected", cod_collection_ids: ids, reference },
      // Another count of the same amount may be older.
      ({ data }) =>
        data.total_remitted === amount && data.remitted_count === ids.length &&
        data.counted + (data.shortage?.amount ?? 0) === amount &&
        (data.shortage?.discrepancy_id !== id || data.shortage.amount === missing),
      ["cod_collections_not_pending"],
    );
    if (remitted) {
      const { settlement_payment_id, remitted_count } = remitted.data;
      this.facts.report(
        "settled",
        reference,
        `${settlement_payment_id} remit ${amount} ${remitted_count}`,
      );
      if (remitted.data.shortage) {
        this.facts.report("short", reference, String(remitted.data.shortage.amount));
      }
    }
    const way = (["written_off", "driver_owes", "recounted"] as const)[b % 4];
    if (!way) return;
    // Until its cash is remitted, another caller who settles it some other way cancels the handover.
    const isRemitted = remitted?.data.shortage?.discrepancy_id === id;
    const resolved = await this.ask(
      c % 2 ? dispatcher : admin,
      "POST",
      `/delivery/cod-collections/handovers/${id}/resolve`,
      { resolution: way, ...(way === "recounted" ? { counted_amount: amount } : {}) },
      ({ data }) => data.id === id && data.status === "resolved" && data.resolution === way,
      ["insufficient_wallet_balance", ...isRemitted ? [] : ["handover_not_in_discrepancy"]],
    );
    if (!resolved) return;
    this.facts.report("declared", notes, `${id} resolved ${way}`);
    // It is over: another way is refused.
    await this.refused(
      dispatcher,
      "POST",
      `/delivery/cod-collections/handovers/${id}/resolve`,
      { resolution: "written_off" },
      ["handover_not_in_discrepancy"],
    );
  }

  /** Its sender paid the fee in cash and gets it back: into the wallet, or from a desk where there is none. */
  async giveBack({ a, b, c }: Step): Promise<void> {
    const { customers, dispatcher } = this.place;
    const driver = this.driver(b);
    const sender = c % 2 ? customers[a % customers.length].id : null;
    const made = await this.newDelivery(0, { customer_id: sender, payer_type: "sender" });
    if (!made || !await this.give(made.id, driver)) return;
    const fee: number = made.price;
    for (const step of ["pickup", "depart"]) {
      const moved = await this.ask(
        driver,
        "POST",
        `/delivery/deliveries/${made.id}/${step}`,
        {},
        ({ delivery }) => delivery.id === made.id,
      );
      if (!moved) return;
      this.facts.report("collected", `${made.id} pickup`, `${driver.id} 1 ${fee}`);
    }
    const back = await this.ask(
      driver,
      "POST",
      `/delivery/deliveries/${made.id}/return`,
      {},
      ({ delivery, refunded, refund_due }) =>
        delivery.id === made.id && refunded === Boolean(sender) &&
        (sender ? refund_due === null : refund_due.amount === fee),
    );
    if (!back) return;
    this.facts.ended("assigned", made.id);
    this.facts.report("returned", made.id, sender ? `${sender} ${fee}` : "nothing");
    if (sender) return;
    const reference = randomUUID();
    const path = `/delivery/cash-desks/refunds/${back.refund_due.id}/pay`;
    const paid = await this.ask(
      dispatcher,
      "POST",
      path,
      { reference },
      ({ data }) => data.kind === "refund" && data.amount === fee && data.reference === reference,
      ["insufficient_desk_cash", "cash_desk_not_found"],
    );
    if (!paid) return;
    this.facts.report("moved", reference, `${paid.data.id} refund ${fee}`);
    await this.refused(dispatcher, "POST", path, { reference: randomUUID() }, [
      "cash_refund_already_paid",
    ]);
  }
}
