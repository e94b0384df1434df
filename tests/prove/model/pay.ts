/** Drivers' pay: payouts of what was earned, and their reversal. */
import { deliveryPay } from "../world.ts";
import type { Of } from "./ops.ts";
import type { State } from "./state.ts";

const dueTo = (state: State, driver: number) =>
  Object.values(state.pay).filter((pay) => pay.driver === driver && pay.payout === null);

/** The pay that a driver earned and did not get yet. */
export const earned = (state: State, driver: number): number =>
  dueTo(state, driver).length * deliveryPay;

export function payOut(state: State, { id, driver, wallet }: Of<"payOut">): string {
  const amount = earned(state, driver);
  if (amount === 0) return "nothing_to_pay";
  if (wallet) state.drivers[driver] += amount;
  else {
    if ((state.desk ?? 0) < amount) return "insufficient_desk_cash";
    state.desk = state.desk! - amount;
  }
  for (const pay of dueTo(state, driver)) pay.payout = id;
  state.payouts[id] = { driver, wallet, amount, reversed: false };
  return `ok ${amount} for ${amount / deliveryPay}`;
}

export function unpayOut(state: State, { payout }: Of<"unpayOut">): string {
  const paid = state.payouts[payout];
  if (paid.reversed) return "driver_payout_already_reversed";
  const { driver, wallet, amount } = paid;
  if (wallet) {
    if (state.drivers[driver] < amount) return "insufficient_wallet_balance";
    state.drivers[driver] -= amount;
  } else state.desk = state.desk! + amount;
  paid.reversed = true;
  for (const pay of Object.values(state.pay)) if (pay.payout === payout) pay.payout = null;
  return `ok ${amount}`;
}
