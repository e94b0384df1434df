/** Every gateway, by its code. Loaded when one is used. */
import type { Gateway } from "./gateway.ts";

const gateways: Readonly<Record<string, () => Promise<{ gateway: Gateway }>>> = {
  gatewayone: () => import("./gatewayone.ts"),
  razorpay: () => import("./razorpay.ts"),
};

export const gatewayCodes = Object.keys(gateways);

export async function gatewayNamed(code: string): Promise<Gateway | undefined> {
  return Object.hasOwn(gateways, code) ? (await gateways[code]()).gateway : undefined;
}
