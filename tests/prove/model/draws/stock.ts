/** Draws of stock on the shelves and picks of it. */
import { type Dice, type Draws, one } from "./draw.ts";

export const stockDraws: Draws<
  | "receive"
  | "takeBack"
  | "writeOff"
  | "correct"
  | "transfer"
  | "pick"
  | "move"
  | "report"
  | "restock"
> = {
  receive: (_, dice) => ({ type: "receive", ...place(dice) }),
  takeBack: (_, dice) => ({ type: "takeBack", ...place(dice) }),
  writeOff: (_, dice) => ({ type: "writeOff", ...place(dice) }),
  correct: (_, [a, b, c, d]) => ({
    type: "correct",
    shelf: a % 2,
    item: b % 4,
    delta: (d % 3 ? -1 : 1) * (1 + c % 9),
  }),
  transfer: (_, [a, b, c]) => ({
    type: "transfer",
    from: a % 2,
    item: b % 4,
    quantity: 1 + c % 9,
  }),
  pick: ({ serial }, dice) => ({ type: "pick", name: `pick ${serial + 1}`, ...place(dice) }),
  move({ state }, [a, b, c]) {
    const picks = Object.entries(state.picks);
    if (!picks.length) return;
    const [name] = one(picks, a, ({ status }) => status === "in_progress");
    const to = b % 2 ? "completed" : "cancelled";
    return { type: "move", name, to, reported: to === "completed" && c % 2 > 0 };
  },
  report({ state }, [a, b, c]) {
    const picks = Object.entries(state.picks);
    if (!picks.length) return;
    const [name, { quantity, shelf, item }] = one(
      picks,
      a,
      ({ status }) => status === "in_progress",
    );
    const to = b % 2 ? "completed" : "in_progress";
    return { type: "report", name, shelf, item, to, picked: c % (quantity + 2) };
  },
  restock: (_, [a, b]) => ({ type: "restock", warehouse: a % 2, quantity: 1 + b % 6 }),
};

const place = ([a, b, c]: Dice) => ({ shelf: a % 2, item: b % 4, quantity: 1 + c % 9 });
