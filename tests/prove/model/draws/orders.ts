/** Draws of the shop's orders. */
import type { State } from "../state.ts";
import { customers, type Draws, one } from "./draw.ts";

export const orderDraws: Draws<
  "order" | "approve" | "cancel" | "acceptShort" | "fetch" | "putBack"
> = {
  // At times more than one warehouse has.
  order: ({ serial, state }, [a, b, c, d]) => ({
    type: "order",
    name: `order ${serial + 1}`,
    customer: a % customers,
    quantity: d % 4 ? 1 + b % 6 : Math.max(...state.goods) + 1 + b % 2,
    wallet: c % 2 === 0,
  }),
  approve({ state }, [a]) {
    const orders = Object.entries(state.orders);
    if (!orders.length) return;
    return { type: "approve", name: one(orders, a, ({ status }) => status === "pending")[0] };
  },
  cancel({ state }, [a, b]) {
    const orders = Object.entries(state.orders);
    // Else few orders would live to see their goods leave.
    if (!orders.length || b % 2) return;
    return { type: "cancel", name: one(orders, a)[0] };
  },
  acceptShort({ state }, [a]) {
    const orders = Object.entries(state.orders);
    if (!orders.length) return;
    const isShort = ({ parts }: State["orders"][string]) =>
      parts.some(({ quantity, short, found, left }) =>
        !left && found !== null && found < quantity - short
      );
    return { type: "acceptShort", name: one(orders, a, isShort)[0] };
  },
  fetch({ state }, [a, b]) {
    const parts = Object.entries(state.parcels).filter(([, { of }]) => of);
    if (!parts.length) return;
    const [name, { of }] = one(
      parts,
      a,
      ({ status }) => status === "pending" || status === "accepted",
    );
    const { warehouse, quantity } = state.orders[of!.order].parts[of!.part];
    return { type: "fetch", name, warehouse, found: b % 2 ? quantity : b % (quantity + 1) };
  },
  putBack({ state }, [a]) {
    const parts = Object.entries(state.parcels).filter(([, { of }]) => of);
    if (!parts.length) return;
    const [name, { of, status }] = one(parts, a, ({ status }) => status === "returned");
    // Seldom what has not come back.
    if (status !== "returned" && a % 8) return;
    const { warehouse, backAt } = state.orders[of!.order].parts[of!.part];
    return { type: "putBack", name, warehouse: backAt ?? warehouse };
  },
};
