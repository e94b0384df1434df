/** Requests of cash: settlements, counts, desks, payouts of drivers' pay. */
import type { Requests } from "./ask.ts";

export const cashRequests: Requests<
  | "settle"
  | "unsettle"
  | "declare"
  | "count"
  | "resolve"
  | "deposit"
  | "bring"
  | "unbring"
  | "counter"
  | "uncounter"
  | "payDue"
  | "unpay"
  | "payOut"
  | "unpayOut"
  | "adjust"
> = {
  settle(op, { place, ids, by }) {
    const driver = place.drivers[op.driver];
    return by(
      op.office ? place.dispatcher.token : driver.token,
      `/delivery/cod-collections/${op.way}`,
      op.rows === "all"
        ? { scope: "all", driver_id: driver.id }
        : { scope: "selected", cod_collection_ids: op.rows.map((name) => ids[name]) },
    );
  },
  unsettle(op, { ids, admin }) {
    return admin(`/delivery/cod-settlements/${ids[op.settlement]}/reverse`, {
      reason: "model",
    });
  },
  declare(op, { place, by }) {
    return by(place.drivers[op.driver].token, "/delivery/cod-collections/handover", {
      amount: op.declared,
    });
  },
  count(op, { place, desk }) {
    return desk("/delivery/cod-collections/handover", {
      driver_id: place.drivers[op.driver].id,
      amount: op.declared,
      counted_amount: op.counted,
    });
  },
  resolve(op, { ids, desk }) {
    return desk(`/delivery/cod-collections/handovers/${ids[op.name]}/resolve`, {
      resolution: op.way,
      ...(op.way === "recounted" ? { counted_amount: op.declared } : {}),
    });
  },
  deposit(op, { desk }) {
    return desk("/delivery/cash-desks/transfers", { kind: "bank_deposit", amount: op.amount });
  },
  bring(op, { place, admin }) {
    return admin("/delivery/cash-desks/transfers", {
      kind: "handover",
      from_owner_type: "driver",
      from_user_id: place.drivers[op.driver].id,
      to_user_id: place.dispatcher.id,
      amount: op.amount,
    });
  },
  unbring(op, { ids, admin }) {
    return admin(`/delivery/cash-desks/transfers/${ids[op.transfer]}/reverse`, {
      reason: "model",
    });
  },
  counter(op, { place, desk }) {
    const wallet = op.kind === "wallet_payout" || op.kind === "wallet_deposit";
    return desk("/delivery/cash-desks/transfers", {
      kind: op.kind,
      amount: op.amount,
      ...(wallet ? { wallet_id: place.drivers[op.driver].wallet } : {}),
      reference: op.id,
      notes: "model",
    });
  },
  uncounter(op, { ids, desk }) {
    return desk(`/delivery/cash-desks/transfers/${ids[op.transfer]}/reverse`, {
      reason: "model",
    });
  },
  payDue(op, { ids, desk }) {
    return desk(`/delivery/cash-desks/refunds/${ids[`due ${op.name}`] ?? ids[op.name]}/pay`, {
      reference: op.id,
    });
  },
  unpay(op, { ids, desk }) {
    return desk(`/delivery/cash-desks/transfers/${ids[op.payment]}/reverse`, {
      reason: "model",
    });
  },
  payOut(op, { place, admin, desk }) {
    const pay = {
      driver_id: place.drivers[op.driver].id,
      method: op.wallet ? "wallet" : "cash",
    };
    return (op.wallet ? admin : desk)("/delivery/driver-pay/payouts", pay);
  },
  unpayOut(op, { ids, admin }) {
    return admin(`/delivery/driver-pay/payouts/${ids[op.payout]}/reverse`, { reason: "model" });
  },
  adjust(op, { place, admin }) {
    return admin(`/delivery/wallets/${place.drivers[op.driver].wallet}/adjust`, {
      amount: op.amount,
      direction: op.credit ? "credit" : "debit",
      reason: "model",
    });
  },
};
