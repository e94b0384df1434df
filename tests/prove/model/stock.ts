/** Stock on the shelves, and picks of it. */
import type { Of } from "./ops.ts";
import type { Pick, State } from "./state.ts";

export function put(state: State, { shelf, item, quantity }: Of<"receive" | "takeBack">): string {
  state.units[shelf][item] += quantity;
  return `ok ${quantity}`;
}

export function writeOff(state: State, { shelf, item, quantity }: Of<"writeOff">): string {
  if (state.units[shelf][item] < quantity) return "insufficient_stock";
  state.units[shelf][item] -= quantity;
  return `ok ${quantity}`;
}

export function correct(state: State, { shelf, item, delta }: Of<"correct">): string {
  if (state.units[shelf][item] + delta < 0) return "insufficient_stock";
  state.units[shelf][item] += delta;
  return `ok ${Math.abs(delta)}`;
}

export function transfer(state: State, { from, item, quantity }: Of<"transfer">): string {
  if (state.units[from][item] < quantity) return "insufficient_stock";
  state.units[from][item] -= quantity;
  state.units[1 - from][item] += quantity;
  return "ok";
}

export function restock(state: State, { warehouse, quantity }: Of<"restock">): string {
  state.goods[warehouse] += quantity;
  return `ok ${quantity}`;
}

export function pick(state: State, { name, shelf, item, quantity }: Of<"pick">): string {
  if (state.units[shelf][item] < quantity) return "insufficient_stock";
  state.units[shelf][item] -= quantity;
  state.picks[name] = { shelf, item, quantity, picked: 0, line: "pending", status: "in_progress" };
  return "ok in_progress";
}

export function move(state: State, { name, to }: Of<"move">): string {
  const found = state.picks[name];
  if (!found) return "picking_order_not_found";
  if (found.status === to) return `ok ${to} ${found.picked}`;
  if (found.status !== "in_progress") return "picking_ended";
  if (to === "completed") finish(state, found);
  else {
    state.units[found.shelf][found.item] += found.quantity;
    found.status = to;
  }
  return `ok ${to} ${found.picked}`;
}

/** Nothing reported means that all was picked; what was reported and is less goes back on the shelf. */
function finish(state: State, found: Pick): void {
  if (found.picked === 0 && ["pending", "picked"].includes(found.line)) {
    found.picked = found.quantity;
  }
  if (found.line === "pending") found.line = ended(found.picked, found.quantity);
  state.units[found.shelf][found.item] += found.quantity - found.picked;
  found.status = "completed";
}

/** The status of a line once its pick has ended. */
function ended(picked: number, quantity: number): Pick["line"] {
  return picked === quantity ? "picked" : picked ? "short" : "missing";
}

/** The picker reports the quantity so far, and whether the picking is complete. */
export function report(state: State, { name, to, picked }: Of<"report">): string {
  const found = state.picks[name];
  if (!found) return "picking_order_not_found";
  if (picked > found.quantity) return "picked_too_much";
  const line = to === "in_progress" && picked < found.quantity
    ? "pending"
    : ended(picked, found.quantity);
  if (found.status !== "in_progress") {
    const same = found.status === to && found.picked === picked && found.line === line;
    return same ? `ok ${to} ${picked}` : "picking_ended";
  }
  Object.assign(found, { picked, line });
  if (to === "completed") finish(state, found);
  return `ok ${to} ${picked}`;
}
