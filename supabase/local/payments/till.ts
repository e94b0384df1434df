/** The checkouts opened here and their state. Kept in memory: a demo does not outlive its process. */
import { randomInt, randomUUID } from "node:crypto";

export interface Payment {
  id: string;
  gateway: "gatewayone" | "razorpay";
  /** The backend's number. */
  orderId: string;
  description: string;
  /** As the gateway counts: major units for gatewayone, minor ones for razorpay. */
  amount: string;
  currency: string;
  backRef: string;
  state: "open" | "paid" | "declined";
  transaction: string;
  /** Tells the backend; answers what it said. `base`: the stack's address. */
  notify(base: string): Promise<string>;
}

export class Till {
  private readonly payments = new Map<string, Payment>();

  add(payment: Omit<Payment, "id" | "state" | "transaction">): Payment {
    const id = `plink_${randomUUID().replaceAll("-", "").slice(0, 14)}`;
    const added: Payment = { ...payment, id, state: "open", transaction: "" };
    this.payments.set(id, added);
    return added;
  }

  get(id: string): Payment | undefined {
    return this.payments.get(id);
  }

  ofOrder(gateway: Payment["gateway"], orderId: string): Payment | undefined {
    return [...this.payments.values()].find((one) =>
      one.gateway === gateway && one.orderId === orderId
    );
  }

  /** A number as the gateway gives one: twelve digits of a card network, or a payment's name. */
  transaction(gateway: Payment["gateway"]): string {
    return gateway === "gatewayone"
      ? String(randomInt(100_000_000_000, 281_474_976_710_655)).slice(0, 12)
      : `pay_${randomUUID().replaceAll("-", "").slice(0, 14)}`;
  }
}
