/** The operations that move parcels and cash: orders, assignments, deliveries, settlements, adjustments. */
import { randomUUID } from "node:crypto";
import type { Body } from "../support/api.ts";
import { sql } from "../support/db.ts";
import { order as deliveryOf } from "../support/deliveries.ts";
import { Asking, type Step } from "./asking.ts";
import { type DriverOf, steadily } from "./world.ts";

export class Cash extends Asking {
  protected async newDelivery(cod: number, more: object = {}): Promise<Body | undefined> {
    const reference = randomUUID();
    const made = await this.ask(
      this.place.ops,
      "POST",
      "/delivery/deliveries",
      deliveryOf(this.place.ground, { cod_amount: cod, barcode: reference, ...more }),
      ({ delivery }) => delivery?.barcode === reference,
      ["insufficient_wallet_balance"],
    );
    if (made) this.facts.report("ordered", reference, `${made.delivery.id} ${cod}`);
    return made?.delivery;
  }

  /** Assigned to the driver, who accepts; true when it is theirs. */
  protected async give(id: string, driver: DriverOf): Promise<boolean> {
    const given = await this.ask(this.place.ops, "POST", "/delivery/assignments", {
      delivery_id: id,
      driver_id: driver.id,
    }, (answer) => typeof answer.id === "string");
    if (!given) return false;
    this.facts.report("assigned", id, driver.id);
    const status = "accepted";
    await this.ask(
      driver,
      "PUT",
      `/delivery/assignments/${given.id}`,
      { status },
      (answer) => answer.id === given.id && answer.status === status,
      // Orders on their way from the sender's door need no answer by the driver.
      ["assignment_not_pending", "assignment_response_not_required"],
    );
    return true;
  }

  /** Ordered, given to a driver, carried to its receiver, who pays for both. */
  async deliver({ a, b }: Step): Promise<void> {
    const cod = 250 + 250 * (a % 90);
    const driver = this.driver(b);
    const made = await this.newDelivery(cod);
    if (!made || !await this.give(made.id, driver)) return;
    const { id } = made;
    for (const step of ["pickup", "depart", "complete"]) {
      const moved = await this.ask(
        driver,
        "POST",
        `/delivery/deliveries/${id}/${step}`,
        {},
        (answer) => answer.delivery?.id === id,
      );
      if (!moved) return;
      if (step === "complete") {
        const { cod_amount, price } = moved.delivery;
        this.facts.report("collected", id, `${driver.id} 1 ${cod_amount + price}`);
      }
    }
  }

  /** Three at once for one driver, in any order; one of them taken back. */
  async bulk({ a, b, c }: Step): Promise<void> {
    const driver = this.driver(b);
    const ids: string[] = [];
    for (let n = 0; n < 3; n++) {
      const made = await this.newDelivery(0);
      if (made) ids.push(made.id);
    }
    if (!ids.length) return;
    const made = await this.ask(
      this.place.dispatcher,
      "POST",
      "/delivery/assignments/bulk",
      { driver_id: driver.id, delivery_ids: c % 2 ? ids : [...ids].reverse() },
      (answer) => answer.count === ids.length && answer.assignment_ids.length === ids.length,
    );
    if (!made) return;
    for (const id of ids) this.facts.report("assigned", id, driver.id);
    const assignment: string = made.assignment_ids[a % ids.length];
    const back = await this.ask(
      this.place.ops,
      "POST",
      `/delivery/assignments/${assignment}/unassign`,
      {},
      (answer) => answer.id === assignment && ids.includes(answer.delivery_id),
    );
    if (back) this.facts.ended("assigned", back.delivery_id);
  }

  remit = (step: Step) => this.settleCash(step, "remit");
  settle = (step: Step) => this.settleCash(step, "settle-by-wallet");

  private async settleCash(
    { a, b, c }: Step,
    way: "remit" | "settle-by-wallet",
  ): Promise<void> {
    const { place } = this;
    const driver = this.driver(a);
    const all = c % 4 === 0;
    const rows = all
      ? []
      : await steadily(() =>
        sql`select id from money.cod_collections where tenant_id = ${place.id} and driver_id = ${driver.id}
        and status = 'collected' and reversed_at is null order by random() limit ${1 + b % 5}`
      );
    if (!all && rows.length === 0) return;
    const reference = randomUUID();
    const ids: string[] = rows.map(({ id }) => id);
    const settled = await this.ask(
      c % 2 ? place.dispatcher : driver,
      "POST",
      `/delivery/cod-collections/${way}`,
      all
        ? { scope: "all", driver_id: driver.id, reference }
        : { scope: "selected", cod_collection_ids: ids, reference },
      ({ data }) => {
        const list = data.remitted_collections ?? data.settled_collections;
        const taken: string[] = list.map((row: { cod_collection_id: string }) =>
          row.cod_collection_id
        );
        return all || (taken.length === ids.length && ids.every((id) => taken.includes(id)));
      },
      ["cod_collections_not_pending", "no_pending_collections", "insufficient_wallet_balance"],
    );
    if (!settled) return;
    const { data } = settled;
    const { settlement_payment_id: id } = data;
    const told = way === "remit"
      ? `${id} remit ${data.total_remitted} ${data.remitted_count}`
      : `${id} wallet ${data.total_settled} ${data.settled_count}`;
    this.facts.report("settled", reference, told);
    // This caller remits a handover that another caller counted short and has not remitted yet.
    if (data.shortage) this.facts.report("short", reference, String(data.shortage.amount));
    if (a % 5) return;
    const back = await this.ask(
      place.admin,
      "POST",
      `/delivery/cod-settlements/${id}/reverse`,
      { reason: reference },
      ({ data }) => data.settlement_payment_id === id && data.reversal_reason === reference,
      [
        "insufficient_desk_cash",
        "insufficient_wallet_balance",
        // Another caller said meanwhile what became of the shortage that was remitted with it.
        ...data.shortage ? ["settlement_not_reversible"] : [],
      ],
    );
    if (back) this.facts.report("settled", reference, `${told} reversed`);
  }

  /** Cash of the dispatcher's or the administrator's desk goes to the bank or to the other; some of it comes back. */
  async deposit({ a, b, c }: Step): Promise<void> {
    const { dispatcher, admin } = this.place;
    const [giver, taker] = b % 5 ? [dispatcher, admin] : [admin, dispatcher];
    const [amount, reference] = [1 + a, randomUUID()];
    const kind = c % 2 ? "bank_deposit" : "handover";
    const path = "/delivery/cash-desks/transfers";
    const moved = await this.ask(
      giver,
      "POST",
      path,
      { kind, amount, reference, ...(kind === "handover" ? { to_user_id: taker.id } : {}) },
      ({ data }) =>
        data.reference === reference && data.amount === amount && data.from_user.id === giver.id,
      ["insufficient_desk_cash", "cash_desk_not_found"],
    );
    if (!moved) return;
    const { id } = moved.data;
    this.facts.report("moved", reference, `${id} ${kind} ${amount}`);
    if (b % 3) return;
    const back = await this.ask(
      giver,
      "POST",
      `${path}/${id}/reverse`,
      { reason: reference },
      ({ data }) => data.id === id && data.reversal_reason === reference,
      ["insufficient_desk_cash"],
    );
    if (back) this.facts.report("moved", reference, `${id} ${kind} ${amount} reversed`);
  }

  /** A driver at the counter pays into their wallet or is paid out of it, and something is bought; some of it is reversed. */
  async counter({ a, b, c }: Step): Promise<void> {
    const { dispatcher } = this.place;
    const kind =
      (["wallet_deposit", "wallet_payout", "expense", "bank_withdrawal"] as const)[c % 4];
    const [amount, reference] = [1 + a, randomUUID()];
    const path = "/delivery/cash-desks/transfers";
    const made = await this.ask(
      dispatcher,
      "POST",
      path,
      {
        ...{ kind, amount, reference, notes: "At the counter" },
        ...(kind.startsWith("wallet") ? { wallet_id: this.driver(b).wallet } : {}),
      },
      ({ data }) => data.reference === reference && data.amount === amount && data.kind === kind,
      ["insufficient_desk_cash", "cash_desk_not_found", "insufficient_wallet_balance"],
    );
    if (!made) return;
    const { id } = made.data;
    this.facts.report("moved", reference, `${id} ${kind} ${amount}`);
    if (b % 3) return;
    const back = await this.ask(
      dispatcher,
      "POST",
      `${path}/${id}/reverse`,
      { reason: reference },
      ({ data }) => data.id === id && data.reversal_reason === reference,
      ["insufficient_desk_cash", "insufficient_wallet_balance"],
    );
    if (back) this.facts.report("moved", reference, `${id} ${kind} ${amount} reversed`);
  }

  /** Money from outside into a driver's wallet, or out of it. */
  async adjust({ a, b, c }: Step): Promise<void> {
    const { wallet } = this.driver(a);
    const [amount, direction, reason] = [1 + b, c % 3 ? "credit" : "debit", randomUUID()];
    const done = await this.ask(
      this.place.admin,
      "POST",
      `/delivery/wallets/${wallet}/adjust`,
      { amount, direction, reason },
      ({ wallet: shown, transaction }) =>
        shown.id === wallet && transaction.description === reason &&
        Math.abs(transaction.amount) === amount && transaction.direction === direction,
      ["insufficient_wallet_balance"],
    );
    if (done) this.facts.report("adjusted", reason, `${done.payment_id} ${amount} ${direction}`);
  }
}
