/** Cash: settlements and what takes them back, counts with their shortages, the desk. */
import { type Of } from "./ops.ts";
import type { Count, Settled, State } from "./state.ts";

export function settle(state: State, op: Of<"settle">): string {
  const names = op.rows === "all"
    ? Object.keys(state.rows).filter((name) =>
      state.rows[name].driver === op.driver && state.rows[name].status === "collected"
    )
    : op.rows;
  if (names.length === 0) return "no_pending_collections";
  // Of a row whose outcome was undone there is none any more.
  const rows = names.flatMap((name) => state.rows[name] ?? []);
  if (
    rows.length < names.length ||
    rows.some(({ status, driver }) =>
      status !== "collected" || (!op.office && driver !== op.driver)
    )
  ) {
    return "cod_collections_not_pending";
  }
  if (rows.some(({ driver }) => driver !== rows[0].driver)) return "mixed_driver_selection";
  const { driver } = rows[0];
  const fees = rows.reduce((sum, { fee }) => sum + fee, 0);
  const total = rows.reduce((sum, { cod }) => sum + cod, fees);
  const settled: Settled = {
    way: op.way,
    driver,
    office: op.office,
    names,
    total,
    fees,
    shortage: 0,
    reversed: false,
  };
  let more = "";
  if (op.way === "settle-by-wallet") {
    if (state.drivers[driver] < total) return "insufficient_wallet_balance";
    state.drivers[driver] -= total;
    state.house += fees;
    more = ` leaves ${state.drivers[driver]}`;
  } else {
    const count = countOf(state, driver, total, op.office);
    if (count) {
      const used = state.counts[count];
      settled.count = count;
      // A shortage that was resolved before is borne as it was resolved, and stands on nobody.
      const borne = bears(used);
      if (borne === "driver_owes" && state.drivers[driver] < total - used.counted!) {
        return "insufficient_wallet_balance";
      }
      if (used.status === "discrepancy" || borne) settled.shortage = total - used.counted!;
      used.settlement = op.id;
      if (used.status === "declared") [used.status, used.counted] = ["counted", total];
      if (borne) settled.borne = borne;
    }
    const { shortage, borne } = settled;
    if (total > shortage) onDesk(state, settled, total - shortage);
    if (!borne) state.shortages[driver] += shortage;
    if (borne === "driver_owes") owe(state, driver, shortage);
    more = ` counted ${total - shortage}${shortage ? ` short ${shortage} of ${count}` : ""}`;
  }
  for (const row of rows) row.status = op.way === "remit" ? "remitted" : "settled_by_wallet";
  endDeclared(state, settled, op.id);
  state.settlements[op.id] = settled;
  return `ok ${total} of which ${fees} in ${rows.length}${more}`;
}

/**
 * The count whose cash a remittance is: the oldest of its amount that was right or put right, else that was short, else what
 * was declared only, where the dispatcher remits.
 */
function countOf(state: State, driver: number, total: number, office: boolean): string | undefined {
  const fitting = Object.entries(state.counts).filter(([, count]) =>
    count.driver === driver && count.declared === total && !count.settlement
  );
  const right = fitting.find(([, { status }]) => status === "counted" || status === "resolved") ??
    fitting.find(([, { status, counted, declared }]) =>
      status === "discrepancy" && counted! < declared
    ) ??
    fitting.find(([, { status }]) => office && status === "declared");
  return right?.[0];
}

/** Cash that was declared and is this settlement's, or is more than what the driver has after it, waits for nothing. */
function endDeclared(state: State, settled: Settled, id: string): void {
  const { driver, count, way, total } = settled;
  const its = way === "remit" && !count ? total : undefined;
  uncovered(state, driver, its).forEach(([name, one], place) => {
    one.status = "cancelled";
    if (count || place > 0) return;
    one.settlement = id;
    settled.count = name;
  });
}

/** Those that wait for their remittance and are not covered: the driver's cash is given to the older ones first. */
export function uncovered(state: State, driver: number, its?: number): [string, Count][] {
  let left = inHandOf(state, driver);
  return Object.entries(state.counts).filter(([, one]) => {
    const { status, declared, counted, settlement } = one;
    const waits = ["declared", "counted", "resolved"].includes(status) ||
      status === "discrepancy" && counted! < declared;
    if (one.driver !== driver || settlement || !waits) return false;
    if (declared > left || status === "declared" && declared === its) return true;
    left -= declared;
    return false;
  });
}

/** The one to bear the shortage of a count that was resolved before its remittance. */
const bears = ({ status, resolution }: Count): Settled["borne"] =>
  status === "resolved" && (resolution === "driver_owes" || resolution === "written_off")
    ? resolution
    : undefined;

/** A shortage is paid from the driver's wallet into the company's. */
function owe(state: State, driver: number, amount: number): void {
  state.drivers[driver] -= amount;
  state.house += amount;
}

const inHandOf = (state: State, driver: number) =>
  Object.values(state.rows).filter((row) => row.driver === driver && row.status === "collected")
    .reduce((sum, { cod, fee }) => sum + cod + fee, 0);

function declaredBy(state: State, driver: number): [string, Count] | undefined {
  return Object.entries(state.counts).find(([, count]) =>
    count.driver === driver && count.status === "declared"
  );
}

function onDesk(state: State, { office, driver }: Settled, amount: number): void {
  if (office) state.desk = (state.desk ?? 0) + amount;
  else state.ownDesks[driver] = (state.ownDesks[driver] ?? 0) + amount;
}

export function unsettle(state: State, { settlement }: Of<"unsettle">): string {
  const settled = state.settlements[settlement];
  if (!settled) return "settlement_not_found";
  if (settled.reversed) return "settlement_already_reversed";
  const { way, driver, names, total, fees, shortage, office, borne } = settled;
  const count = settled.count ? state.counts[settled.count] : undefined;
  if (shortage > 0 && !borne && count?.status !== "discrepancy") return "settlement_not_reversible";
  if (way === "settle-by-wallet") {
    state.drivers[driver] += total;
    state.house -= fees;
  } else {
    const held = (office ? state.desk : state.ownDesks[driver]) ?? 0;
    if (held < total - shortage) return "insufficient_desk_cash";
    if (borne === "driver_owes") {
      if (state.house < shortage) return "insufficient_wallet_balance";
      owe(state, driver, -shortage);
    }
    onDesk(state, settled, shortage - total);
    if (!borne) state.shortages[driver] -= shortage;
  }
  settled.reversed = true;
  if (count) delete count.settlement;
  for (const name of names) state.rows[name].status = "collected";
  return `ok ${total} of which ${fees} in ${names.length}`;
}

export function declare(state: State, { name, driver, declared }: Of<"declare">): string {
  if (declaredBy(state, driver)) return "handover_already_declared";
  state.counts[name] = { driver, declared, counted: null, status: "declared" };
  return `ok declared ${declared}`;
}

export function count(state: State, op: Of<"count">): string {
  const { name, driver, declared, counted } = op;
  if (declaredBy(state, driver)) return "handover_already_declared";
  const status = counted === declared ? "counted" : "discrepancy";
  state.counts[name] = { driver, declared, counted, status };
  return `ok ${status} ${counted - declared}`;
}

/** Recounted is all there: what was declared. */
export function resolve(state: State, { name, way }: Of<"resolve">): string {
  const found = state.counts[name];
  if (found.status !== "discrepancy") return "handover_not_in_discrepancy";
  const { driver, declared } = found;
  const short = declared - found.counted!;
  const borne = way === "driver_owes" || way === "written_off";
  if (borne && short <= 0 || way === "returned" && short >= 0) return "invalid_resolution";
  const settled = found.settlement ? state.settlements[found.settlement] : undefined;
  if (borne && !settled && declared > inHandOf(state, driver)) return "invalid_resolution";
  if (way === "driver_owes" && state.drivers[driver] < short) return "insufficient_wallet_balance";
  // Before its remittance nothing is booked.
  if (settled?.shortage) {
    state.shortages[driver] -= short;
    if (way === "driver_owes") owe(state, driver, short);
    if (way === "recounted") onDesk(state, settled, short);
  }
  found.status = "resolved";
  found.resolution = way;
  if (way === "recounted") found.counted = declared;
  return `ok resolved ${way}`;
}

export function deposit(state: State, { amount }: Of<"deposit">): string {
  if (state.desk === null) return "cash_desk_not_found";
  if (state.desk < amount) return "insufficient_desk_cash";
  state.desk -= amount;
  return `ok ${amount}`;
}

export function bring(state: State, { driver, amount, id }: Of<"bring">): string {
  const held = state.ownDesks[driver];
  if (held === null) return "cash_desk_not_found";
  if (held < amount) return "insufficient_desk_cash";
  state.ownDesks[driver] = held - amount;
  state.desk = (state.desk ?? 0) + amount;
  state.brought[id] = { driver, amount, reversed: false };
  return `ok ${amount}`;
}

export function unbring(state: State, { transfer }: Of<"unbring">): string {
  const brought = state.brought[transfer];
  if (!brought) return "cash_transfer_not_found";
  if (brought.reversed) return "cash_transfer_already_reversed";
  const { driver, amount } = brought;
  if ((state.desk ?? 0) < amount) return "insufficient_desk_cash";
  brought.reversed = true;
  state.desk = (state.desk ?? 0) - amount;
  state.ownDesks[driver] = (state.ownDesks[driver] ?? 0) + amount;
  return `ok ${amount}`;
}

/** The sign of each kind for the desk, and for the wallet of whom it is with. */
const counterSigns = {
  expense: [-1, 0],
  bank_withdrawal: [1, 0],
  wallet_payout: [-1, -1],
  wallet_deposit: [1, 1],
} as const;

export function counter(state: State, { kind, driver, amount, id }: Of<"counter">): string {
  const [desk, wallet] = counterSigns[kind];
  if (desk < 0 && state.desk === null) return "cash_desk_not_found";
  if ((state.desk ?? 0) + desk * amount < 0) return "insufficient_desk_cash";
  if (state.drivers[driver] + wallet * amount < 0) return "insufficient_wallet_balance";
  state.desk = (state.desk ?? 0) + desk * amount;
  state.drivers[driver] += wallet * amount;
  state.counters[id] = { kind, driver, amount, reversed: false };
  return `ok ${amount}`;
}

export function uncounter(state: State, { transfer }: Of<"uncounter">): string {
  const found = state.counters[transfer];
  if (!found) return "cash_transfer_not_found";
  if (found.reversed) return "cash_transfer_already_reversed";
  const { kind, driver, amount } = found;
  const [desk, wallet] = counterSigns[kind];
  if ((state.desk ?? 0) - desk * amount < 0) return "insufficient_desk_cash";
  if (state.drivers[driver] - wallet * amount < 0) return "insufficient_wallet_balance";
  found.reversed = true;
  state.desk = (state.desk ?? 0) - desk * amount;
  state.drivers[driver] -= wallet * amount;
  return `ok ${amount}`;
}

export function payDue(state: State, { name, id }: Of<"payDue">): string {
  const parcel = state.parcels[name];
  if (!parcel.due) return "cash_refund_not_found";
  if (parcel.due === "paid") return "cash_refund_already_paid";
  if (state.desk === null) return "cash_desk_not_found";
  const { taken = 0 } = parcel;
  if (state.desk < taken) return "insufficient_desk_cash";
  state.desk -= taken;
  parcel.due = "paid";
  state.paid[id] = { parcel: name, reversed: false };
  return `ok ${taken}`;
}

export function unpay(state: State, { payment }: Of<"unpay">): string {
  const paid = state.paid[payment];
  if (!paid) return "cash_transfer_not_found";
  if (paid.reversed) return "cash_transfer_already_reversed";
  paid.reversed = true;
  const parcel = state.parcels[paid.parcel];
  parcel.due = "open";
  const { taken = 0 } = parcel;
  state.desk = (state.desk ?? 0) + taken;
  return `ok ${taken}`;
}

export function adjust(state: State, op: Of<"adjust">): string {
  const after = state.drivers[op.driver] + (op.credit ? op.amount : -op.amount);
  if (after < 0) return "insufficient_wallet_balance";
  state.drivers[op.driver] = after;
  return `ok ${after}`;
}
