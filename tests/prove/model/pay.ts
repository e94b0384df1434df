/** Drivers' pay: payouts of what was earned, and their reversal. */
import { deliveryPay } from "../world.ts";
import type { Of, State } from "./state.ts";

export function payOut(state: State, { id, driver, wallet }: Of<"payOut">): string {
  const amount = state.earned[driver];
  if (amount === 0) return "nothing_to_pay";
  if (wallet) state.drivers[driver] += amount;
  else {
    if ((state.desk ?? 0) < amount) return "insufficient_desk_cash";
    state.desk = state.desk! - amount;
  }
  state.earned[driver] = 0;
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
  state.earned[driver] += amount;
  return `ok ${amount}`;
}
