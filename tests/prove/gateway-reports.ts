/** Reports of gateways on payments: signed events, unsigned hints, and amounts that match no payment. */
import { atGateway, eventFor, sign } from "../support/payments.ts";
import { ManifestItems } from "./manifest-items.ts";
import type { Member } from "./world.ts";

const nobody: Member = { id: "", token: "" };

export class GatewayReports extends ManifestItems {
  /** One to three copies of the gateway's signed event at once, and one that says less than is due. */
  protected async tellSigned(number: string, total: number, a: number): Promise<boolean> {
    const { shop } = this.place;
    const right = eventFor(shop, number, total);
    const less = eventFor(shop, number, total - 1, { id: `pay_less_${number}` });
    const events = [...Array.from({ length: 1 + a % 3 }, () => right), ...a % 2 ? [] : [less]];
    const answers = await Promise.all(events.map((event) => this.notify("razorpay", event)));
    return answers.every(Boolean);
  }

  /** An amount that is too small matches no payment: it goes to the customer's wallet, or is refunded at the gateway. */
  protected async settleLess(number: string, amount: number, credit: boolean): Promise<void> {
    const { admin } = this.place;
    const transaction = `pay_less_${number}`;
    const open = await this.ask(
      admin,
      "GET",
      `/payment/webhook-events?open=true&search=${transaction}`,
      undefined,
      ({ data }) => data.length === 1 && data[0].gateway_transaction_id === transaction,
    );
    if (!open) return;
    const action = credit ? "credit_wallet" : "refund";
    const settled = await this.ask(
      admin,
      "POST",
      `/payment/webhook-events/${open.data[0].id}/resolve`,
      { resolution: credit ? "credited_by_adjustment" : "refunded_at_gateway", action },
      ({ data }) => data.action === action && !data.is_open,
    );
    if (settled) this.facts.report("resolved", transaction, `${action} 1 ${amount}`);
  }

  /** Paid at the gateway, and one or two hints of it, of which none proves anything. */
  protected async tellUnsigned(
    { redirect_url, gateway_order_id }: { redirect_url: string; gateway_order_id: string },
    a: number,
  ): Promise<boolean> {
    await atGateway(redirect_url, "pay", "yes");
    const hint = {
      terminal: "LOCAL001",
      actionCode: "0",
      responseCode: "00",
      statusMsg: "Approved",
      amount: "1",
      currency: "368",
      rrn: "123456789012",
      orderId: gateway_order_id,
    };
    // One after the other: while the first asks the gateway, a second is told to come again.
    for (let copy = 0; copy <= a % 2; copy++) {
      if (!await this.notify("gatewayone", hint)) return false;
    }
    return true;
  }

  private async notify(code: string, event: object): Promise<boolean> {
    const signature = sign(JSON.stringify(event));
    const answer = await this.ask(
      nobody,
      "POST",
      `/payment/webhooks/${code}`,
      event,
      ({ message }) => message === "received",
      [],
      code === "razorpay" ? { "x-gateway-signature": signature } : {},
    );
    return answer !== undefined;
  }
}
