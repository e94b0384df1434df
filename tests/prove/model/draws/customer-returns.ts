/** Draws of what customers send back. */
import { unitsLeft, unitsOf } from "../customer-returns.ts";
import type { Parcel, State } from "../state.ts";
import { type Draws, one } from "./draw.ts";

export const customerReturnDraws: Draws<"orderReturn"> = {
  orderReturn({ state, serial }, [a, b, c, d]) {
    const original = originalOf(state, a);
    if (!original) return;
    const [parcel, { customer, of, place }] = original;
    const owner = customer !== null && b % 3 === 0 ? customer : null;
    const units = Math.max(unitsOf(state, parcel), 1);
    const to = (["home", "home", "there", place === "far" ? "near" : "far"] as const)[d % 4];
    return {
      ...{ type: "orderReturn", name: `return ${serial + 1}`, parcel, owner },
      units: c % 3 ? 1 + a % (units + (c % 5 ? 0 : 1)) : null,
      payer: b % 4 === 1 ? "receiver" : "sender",
      wallet: b % 4 > 1,
      to: of && to === "near" ? "far" : to,
    };
  },
};

/** A parcel that was delivered and is not all on its way back; more often one of an order, of which there are few. */
function originalOf(state: State, die: number): [string, Parcel] | undefined {
  const parcels = Object.entries(state.parcels);
  const fit = parcels.filter(([name]) => isToReturn(state, name));
  const ofOrders = fit.filter(([, { of }]) => of);
  const list = die % 2 && ofOrders.length ? ofOrders : fit;
  return list.length ? one(die % 9 === 4 ? parcels : list, die) : undefined;
}

export function isToReturn(state: State, name: string): boolean {
  const { status, from, back, returns } = state.parcels[name];
  return status === "delivered" && !from && !back && !returns && unitsLeft(state, name) > 0;
}
