/** The operations that state what merchants are due, pay it out, and take that back. */
import { randomUUID } from "node:crypto";
import { sql } from "../support/db.ts";
import type { Step } from "./asking.ts";
import { Offers } from "./offers.ts";
import { type Member, steadily } from "./world.ts";

const statements = "/delivery/merchant-statements";

interface Stated {
  id: string;
  net: number;
  owner_user_id: string;
}

export class MerchantMoney extends Offers {
  /** A COD comes in, cash goes to the bank, and what is released to its owner is stated, and paid or voided at once or later. */
  async state({ a, b, c }: Step): Promise<void> {
    const { ops, admin } = this.place;
    const owner = this.merchant(a);
    await this.bringIn(owner, a, b);
    const opened = await this.ask(
      c % 2 ? ops : admin,
      "POST",
      statements,
      { owner_user_id: owner.id },
      ({ data: { statement: s } }) =>
        s.owner.id === owner.id && s.status === "open" && s.net > 0 && s.count > 0 &&
        s.net === s.gross_cod - s.fees + s.refunds + s.adjustments,
      ["statement_below_minimum"],
    );
    if (!opened) return;
    const { id, number, net, count } = opened.data.statement;
    this.facts.report("stated", id, `${number} ${net} ${count}`);
    const one: Stated = { id, net, owner_user_id: owner.id };
    if (b % 4 === 0) await this.endOne(one, c);
    else if (b % 4 > 1) await this.payOne(one, b, c);
    if (b % 4 === 3) await this.reverseOne(one);
  }

  private async bringIn(owner: Member, a: number, b: number): Promise<void> {
    const { dispatcher, id: tenant } = this.place;
    const driver = this.driver(b);
    const cod = 250 * (1 + a % 40);
    const made = await this.newDelivery(cod, { customer_id: owner.id });
    if (!made || !await this.give(made.id, driver)) return;
    for (const step of ["pickup", "complete"]) {
      if (!await this.move(driver, made.id, step)) return;
    }
    const amount = cod + made.price;
    this.facts.report("collected", made.id, `${driver.id} 1 ${amount}`);
    const [row] = await steadily(() =>
      sql`select id from money.cod_collections where tenant_id = ${tenant} and delivery_id = ${made.id}`
    );
    const reference = randomUUID();
    const remitted = await this.ask(
      dispatcher,
      "POST",
      "/delivery/cod-collections/remit",
      { scope: "selected", cod_collection_ids: [row.id], reference },
      ({ data }) => data.total_remitted === amount && data.remitted_count === 1,
      // Somebody else settled all of the driver's cash meanwhile.
      ["cod_collections_not_pending"],
    );
    if (remitted) {
      const { settlement_payment_id, shortage } = remitted.data;
      this.facts.report("settled", reference, `${settlement_payment_id} remit ${amount} 1`);
      if (shortage) this.facts.report("short", reference, String(shortage.amount));
    }
    await this.bank();
  }

  /** Most of what lies on the dispatcher's desk goes to the bank, so that COD that waits for it is released. */
  private async bank(): Promise<void> {
    const { dispatcher, id: tenant } = this.place;
    const [desk] = await steadily(() =>
      sql`select balance::float8 as balance from money.accounts where tenant_id = ${tenant}
        and kind = 'cash_on_hand' and owner_type = 'staff' and owner_user_id = ${dispatcher.id}`
    );
    const amount = Math.floor((desk?.balance ?? 0) * 0.8);
    if (amount < 1) return;
    const reference = randomUUID();
    const moved = await this.ask(
      dispatcher,
      "POST",
      "/delivery/cash-desks/transfers",
      { kind: "bank_deposit", amount, reference },
      ({ data }) => data.reference === reference && data.amount === amount,
      ["insufficient_desk_cash", "cash_desk_not_found"],
    );
    if (moved) {
      this.facts.report("moved", reference, `${moved.data.id} bank_deposit ${amount}`);
    }
  }

  /** In cash by the dispatcher, or by bank; its owner may say that it arrived. */
  async payStatement({ b, c }: Step): Promise<void> {
    const found = await this.statementIn("open", b);
    if (found) await this.payOne(found, b, c);
  }

  private async payOne({ id, net, owner_user_id }: Stated, b: number, c: number): Promise<void> {
    const { dispatcher, ops } = this.place;
    const [who, method] = c % 2 ? [dispatcher, "cash"] : [ops, "bank"];
    const reference = randomUUID();
    const paid = await this.ask(
      who,
      "POST",
      `${statements}/${id}/pay`,
      { method, reference },
      ({ data: { statement } }) =>
        statement.id === id && statement.status === "paid" && statement.net === net &&
        statement.payout.amount === net && statement.payout.method === method &&
        statement.payout.reference === reference,
      [
        "statement_already_paid",
        "statement_not_open",
        "statement_not_covered",
        "insufficient_desk_cash",
      ],
    );
    if (!paid) return;
    const { payout_id } = paid.data.statement;
    this.facts.report("merchantPaid", reference, `${payout_id} ${id} ${method} ${net}`);
    const owner = this.place.merchants.find((one) => one.id === owner_user_id);
    if (b % 2 || !owner) return;
    await this.ask(
      owner,
      "POST",
      `${statements}/${id}/confirm`,
      undefined,
      ({ data: { statement } }) => statement.id === id && statement.confirmed_at !== null,
      // Somebody reversed it meanwhile.
      ["statement_not_paid"],
    );
  }

  async reversePayout({ b }: Step): Promise<void> {
    const found = await this.statementIn("paid", b);
    if (found) await this.reverseOne(found);
  }

  private async reverseOne({ id, net }: Stated): Promise<void> {
    const reason = randomUUID();
    const back = await this.ask(
      this.place.admin,
      "POST",
      `${statements}/${id}/reverse`,
      { reason },
      ({ data: { statement } }) =>
        statement.id === id && statement.status === "open" && statement.payout_id === null,
      ["statement_not_paid"],
    );
    if (back) this.facts.report("merchantPaidBack", reason, `${id} ${net}`);
  }

  async voidStatement({ b, c }: Step): Promise<void> {
    const found = await this.statementIn("open", b);
    if (found) await this.endOne(found, c);
  }

  private async endOne({ id, net }: Stated, c: number): Promise<void> {
    const { ops, admin } = this.place;
    const reason = randomUUID();
    const path = `${statements}/${id}/void`;
    const ended = await this.ask(
      c % 2 ? ops : admin,
      "POST",
      path,
      { reason },
      ({ data: { statement } }) =>
        statement.id === id && statement.status === "void" && statement.void_reason === reason,
      ["statement_not_open"],
    );
    if (!ended) return;
    this.facts.report("voided", reason, `${id} ${net}`);
    await this.refused(admin, "POST", `${statements}/${id}/pay`, { method: "bank" }, [
      "statement_not_open",
    ]);
  }

  /** One of those that are so now; others may want it, too. */
  private async statementIn(status: "open" | "paid", die: number) {
    const found = await steadily(() =>
      sql`select id, net::float8 as net, owner_user_id from money.merchant_statements
        where tenant_id = ${this.place.id} and status = ${status} order by number`
    );
    return found[die % Math.max(found.length, 1)] as Stated | undefined;
  }
}
