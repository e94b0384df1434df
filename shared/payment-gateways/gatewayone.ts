/**
 * A card gateway whose notifications are not signed: anybody could send one. So a notification is only a
 * reason to ask, and nothing is paid until the gateway's own answer says so.
 */
import { z } from "zod";
import { addressOf, askGateway } from "./call.ts";
import { type Facts, type Gateway, GatewayAway, type GatewayPayment } from "./gateway.ts";

const Word = z.string().max(200);
const Login = z.object({ access_token: z.string().optional(), token: z.string().optional() });
const Created = z.object({ data: z.object({ url: z.url({ protocol: /^https?$/ }) }) });

/** A notification, and the gateway's answer about a payment. All texts, as documented. */
export const Notification = z.object({
  terminal: Word,
  actionCode: Word,
  responseCode: Word,
  statusMsg: Word,
  amount: Word,
  currency: Word,
  rrn: Word,
  /** Any text: a number nobody knows is answered like every other. */
  orderId: Word,
});
const Answer = z.union([
  z.object({ data: Notification.partial().required({ actionCode: true, responseCode: true }) })
    .transform(({ data }) => data),
  Notification.partial().required({ actionCode: true, responseCode: true }),
]);

/** Of an action that may still succeed, the codes after which it never will. */
const finalCodes = new Set(["-19", "-22", "-25", "-30", "-32"]);

async function login(base: string, { username, password }: Readonly<Record<string, string>>) {
  const { access_token, token } = await askGateway(`${base}/auth/merchant/login`, {
    method: "POST",
    body: { username, password },
  }, Login);
  const bearer = access_token ?? token;
  if (!bearer) throw new GatewayAway("no token");
  return { authorization: `Bearer ${bearer}` };
}

/** `25000.000` as the gateway writes it: without zeros nobody needs. */
const plain = (amount: string) => amount.includes(".") ? amount.replace(/\.?0+$/, "") : amount;

function kindOf(actionCode: string, responseCode: string): Facts["kind"] {
  if (actionCode === "0" && responseCode === "00") return "paid";
  if (actionCode === "2" || finalCodes.has(responseCode)) return "failed";
  return "none";
}

export const gateway: Gateway = {
  code: "gatewayone",
  settings: z.strictObject({
    /** Where payments must have been taken. */
    terminal: z.string().trim().min(1).max(64),
  }),
  secrets: ["username", "password"],
  needs: ["terminal", "username", "password"],
  async open(payment, secrets, notifyUrl) {
    const base = addressOf("gatewayone");
    const { data } = await askGateway(`${base}/transaction`, {
      method: "POST",
      headers: await login(base, secrets),
      body: {
        orderId: payment.gateway_order_id,
        orderDesc: payment.description ?? payment.gateway_order_id,
        amount: plain(payment.amount),
        currency: payment.numeric_code,
        transactionType: "1",
        backRef: payment.back_ref,
        notifyUrl,
      },
    }, Created);
    return { redirect_url: data.url, gateway_reference: null };
  },
  async ask(payment: GatewayPayment, secrets): Promise<Facts> {
    const base = addressOf("gatewayone");
    const answer = await askGateway(
      `${base}/transaction/${payment.gateway_order_id}/checkStatus`,
      { method: "GET", headers: await login(base, secrets) },
      Answer,
    );
    return {
      kind: kindOf(answer.actionCode, answer.responseCode),
      event: `status ${answer.actionCode}/${answer.responseCode}`,
      // The order it names is compared as well: an answer about another one pays nothing.
      gateway_order_id: payment.gateway_order_id,
      order: answer.orderId ?? "",
      transaction_id: answer.rrn ?? "",
      amount: answer.amount ?? "",
      unit: "major",
      currency: answer.currency ?? "",
      terminal: answer.terminal ?? "",
    };
  },
};
