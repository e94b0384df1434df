/** Draws of parcels on the road: steps, results, and what changes on the way. */
import type { Step } from "../ops.ts";
import type { State } from "../state.ts";
import { type Dice, type Drawn, type Draws, drivers, one } from "./draw.ts";

export const parcelDraws: Draws<
  "step" | "outcome" | "undo" | "undoPickup" | "changeAmount" | "redirect" | "handOver" | "confirm"
> = {
  step({ state }, [a, b, c, d]) {
    const parcels = Object.entries(state.parcels);
    if (!parcels.length) return;
    // Few orders are on the road, and much depends on their outcome.
    const ofOrders = parcels.filter(([, { of, driver }]) => of && driver !== null);
    const returns = parcels.filter(([, { returns, driver }]) => returns && driver !== null);
    const list = [returns, ofOrders, ofOrders, parcels][d % 4];
    const [name, { driver, status }] = one(
      list.length ? list : parcels,
      a,
      (parcel) => parcel.driver !== null,
    );
    const next: Partial<Record<typeof status, Step[]>> = {
      accepted: ["pickup"],
      picked_up: ["depart", "complete", "return", "complete"],
      in_transit: ["complete", "return", "fail", "complete"],
      failed: ["return", "retry", "return"],
    };
    const likely = next[status] ?? ["complete"];
    const all = ["pickup", "depart", "complete", "fail", "return", "retry"] as const;
    return {
      type: "step",
      name,
      driver: c % 6 && driver !== null ? driver : b % drivers,
      what: c % 9 ? likely[b % likely.length] : all[b % 6],
    };
  },
  outcome({ state }, [a, b, c, d]) {
    const parcels = Object.entries(state.parcels).filter(([, { of, back, doorFee, returns }]) =>
      !of && !back && (!doorFee || returns)
    );
    if (!parcels.length) return;
    const [name, { driver }] = one(
      parcels,
      a,
      ({ status }) => status === "picked_up" || status === "in_transit",
    );
    return {
      type: "outcome",
      name,
      driver: c % 6 && driver !== null ? driver : b % drivers,
      result: (["partial", "exchanged", "postponed", "refused"] as const)[d % 4],
    };
  },
  undo({ state }, [a, b, c]) {
    const parcels = Object.entries(state.parcels);
    if (!parcels.length) return;
    const [name, { result }] = one(
      parcels,
      a,
      ({ status, result }) => Boolean(result && !result.undone) && status !== "cancelled",
    );
    // Of a parcel that never had one, what a driver is answered depends on who sees it.
    const driver = b % 3 || !result ? null : c % 6 ? result.driver : c % drivers;
    return { type: "undo", name, driver };
  },
  undoPickup({ state }, [a, b]) {
    const parcels = Object.entries(state.parcels);
    if (!parcels.length) return;
    const [name, { driver }] = one(
      parcels,
      a,
      ({ status, pickup, of, lay }) =>
        (status === "picked_up" || status === "in_transit") && Boolean(pickup) && !of && !lay,
    );
    return { type: "undoPickup", name, driver: b % 3 || driver === null ? null : driver };
  },
  changeAmount({ state }, [a, b, c, d]) {
    const [name, parcel] = underWay(state, a) ?? [];
    if (!name || !parcel) return;
    const cod = d % 3 ? 250 * (b % 30) : parcel.ordered;
    const byOwner = parcel.customer !== null && c % 3 === 0;
    // The things of a parcel for a carrier are one.
    return { type: "changeAmount", name, cod, part: !parcel.doorFee && d % 4 === 1, byOwner };
  },
  redirect({ state }, [a, b, c, d]) {
    if (d % 2) return redirectOfReturn(state, [a, b, c, d]);
    const [name, parcel] = underWay(state, a) ?? [];
    // A fee that is paid at the door changes with the place.
    if (!name || parcel?.doorFee) return;
    return { type: "redirect", name, place: b % 2 ? "far" : "near", charge: c % 3 > 0 };
  },
  handOver({ state }, [a, b, c]) {
    // Before a parcel is picked up, a handover is an assignment.
    const parcels = Object.entries(state.parcels).filter(([, { of, back, status }]) =>
      !of && !back && status !== "accepted"
    );
    if (!parcels.length) return;
    const [name, { driver }] = one(parcels, a, (parcel) => parcel.driver !== null);
    const from = c % 6 && driver !== null ? driver : b % drivers;
    return { type: "handOver", name, from, to: c % 10 ? (from + 1 + b % 2) % drivers : from };
  },
  confirm({ state }, [a, b]) {
    const hands = Object.entries(state.hands);
    if (!hands.length) return;
    const [hand, { to }] = one(hands, a, ({ status }) => status === "pending");
    return { type: "confirm", hand, to, accept: b % 3 > 0 };
  },
};

/** Not to the door that it comes from; the address of a warehouse is a warehouse for what was sold from there. */
function redirectOfReturn(state: State, [a, b, c]: Dice): Drawn<"redirect"> {
  const returns = Object.entries(state.parcels).filter(([, parcel]) => parcel.returns);
  if (!returns.length) return;
  const [name, { returns: of }] = one(
    returns,
    a,
    ({ status, booked }) =>
      !["delivered", "returned", "cancelled"].includes(status) && booked === undefined,
  );
  const original = state.parcels[of!.parcel];
  const places = (["near", "far", "home"] as const).filter((place) =>
    original.of || place !== "home" && place !== original.place
  );
  return { type: "redirect", name, place: places[b % places.length], charge: c % 3 > 0 };
}

/** A parcel that is no order and no return, most likely one on the road. */
function underWay(state: State, die: number) {
  const parcels = Object.entries(state.parcels).filter(([, { of, from, back, returns }]) =>
    !of && !from && !back && !returns
  );
  if (!parcels.length) return;
  return one(parcels, die, ({ status }) => ["picked_up", "in_transit", "failed"].includes(status));
}
