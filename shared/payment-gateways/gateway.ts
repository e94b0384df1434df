/**
 * The interface of a payment gateway. A new one is a file beside this one and a line in `registry.ts`;
 * its code is a payment method of type gateway in sql/storefront/market/data.sql.
 */
import type { z } from "zod";

/** A payment as a gateway is asked about it. */
export interface GatewayPayment {
  id: string;
  tenant_id: string;
  gateway_code: string;
  /** Our number at the gateway: 12 to 18 digits, never used twice. */
  gateway_order_id: string;
  /** The gateway's own number for it. */
  gateway_reference: string | null;
  /** In major units, as text: `25000.000`. */
  amount: string;
  currency: string;
  /** ISO 4217 number of the currency. */
  numeric_code: string;
  /** Digits after the point that the gateway counts minor units by. */
  exponent: number;
  description: string | null;
  back_ref: string | null;
  expires_at: string;
  settings: Record<string, unknown>;
}

/** With what the tenant calls the gateway: its secrets, opened. */
export type Secrets = Readonly<Record<string, string>>;

/** Where the customer pays. */
export interface Opened {
  redirect_url: string;
  gateway_reference: string | null;
}

/** A gateway's report of a payment, in the states of `money.payment_apply`. */
export interface Facts {
  kind: "paid" | "failed" | "refunded" | "none";
  /** The gateway's word for it. */
  event: string;
  gateway_order_id?: string;
  reference?: string;
  transaction_id?: string;
  refund_id?: string;
  amount?: string;
  unit?: "major" | "minor";
  currency?: string;
  terminal?: string;
  /** The order it names besides, which must be ours. */
  order?: string;
  /** Our account at the gateway whose secret signed it. */
  account?: string;
}

export interface Gateway {
  readonly code: string;
  /** The settings of a tenant that are no secrets. */
  readonly settings: z.ZodObject;
  /** Names of what it keeps sealed. */
  readonly secrets: readonly [string, ...string[]];
  /** Without which it cannot be used. */
  readonly needs: readonly string[];
  open(payment: GatewayPayment, secrets: Secrets, notifyUrl: string): Promise<Opened>;
  /** How the payment stands by the gateway's own word. */
  ask(payment: GatewayPayment, secrets: Secrets): Promise<Facts>;
  /** Notifications that their signature proves; absent where notifications prove nothing. */
  readonly signed?: {
    /** The header in which the gateway itself sends the signature; relays of ours send `x-gateway-signature`. */
    readonly header: string;
    read(body: unknown): Facts;
  };
}

/** The gateway could not be asked, or answered what it never should: nothing is known. */
export class GatewayAway extends Error {}

/** The gateway could be asked, and knows no such payment, or not any more: some forget a payment when its time is over. */
export class PaymentNotKnown extends GatewayAway {}

/** Minor units as a whole number; a fraction of one cannot be paid. */
export function minorUnits({ amount, exponent }: GatewayPayment): number {
  const [whole, fraction = ""] = amount.split(".");
  const digits = fraction.padEnd(exponent, "0");
  if (/[^0]/.test(digits.slice(exponent))) throw new GatewayAway("a fraction of a minor unit");
  const units = Number(whole + digits.slice(0, exponent));
  if (!Number.isSafeInteger(units)) throw new GatewayAway("too large an amount");
  return units;
}
