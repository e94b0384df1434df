/** The ways of customers' returns that chance seldom makes: each operation that leads there. */
import { isOfGoods, isOfSome } from "../customer-returns.ts";
import type { Op, Step } from "../ops.ts";
import type { Parcel, ReturnWay, State } from "../state.ts";
import { customerReturnDraws, isToReturn } from "./customer-returns.ts";
import { customers, type Dice, type Drawn, type Known } from "./draw.ts";

/** Any operation. */
type Any = Drawn<Op["type"]>;

type Fits = (state: State, parcel: Parcel) => boolean;

/** A parcel of no store that goes to the warehouse for parcels, or to a door. */
const parcelTo = (ends: 2 | null): Fits => (state, parcel) =>
  !isOfGoods(state, parcel) && parcel.returns!.ends === ends;

/** The returns that may go each way. */
const mayGo: Record<ReturnWay, Fits> = {
  "came to a door": (_, { returns }) => returns!.ends === null,
  "came to its warehouse": (_, { returns }) => returns!.ends !== null,
  "came with some of the goods": (state, parcel) =>
    isOfGoods(state, parcel) && parcel.returns!.ends !== null && isOfSome(state, parcel),
  "received as goods": isOfGoods,
  "received damaged": isOfGoods,
  "received in part": isOfGoods,
  "came into a warehouse on its way": parcelTo(null),
  "ended where its driver brought it": (state, parcel) => parcelTo(2)(state, parcel),
  "given back": () => true,
  "cancelled": (_, { there }) => !there,
  "cancelled in a warehouse": parcelTo(null),
  "brought on": parcelTo(2),
  "redirected": () => true,
  "redirected home": isOfGoods,
  "tried again": () => true,
  "carried to its end": (_, { taken, returns, doorFee }) =>
    Boolean(taken || returns!.wallet || doorFee),
  "ordered again when given back": () => true,
  "ordered again when cancelled": (_, { there }) => !there,
};

/** The next operation by which one goes a way that none has gone; a driver has to be given it by chance. */
export function leadReturn(known: Known, way: ReturnWay, dice: Dice): Any {
  const { state } = known;
  const returns = Object.entries(state.parcels).filter(([, parcel]) =>
    parcel.returns && parcel.received === undefined && mayGo[way](state, parcel) &&
    next(state, way, parcel)
  );
  if (!returns.length || way.startsWith("ordered") && dice[3] % 2) {
    return orderFor(known, way, dice);
  }
  const [name, parcel] = returns[dice[0] % returns.length];
  return next(state, way, parcel)!(name, dice);
}

/** Orders one that may go that way; where nobody has anything to return, somebody gets something first. */
function orderFor(known: Known, way: ReturnWay, [a, b, c]: Dice): Any {
  const { state } = known;
  const some = way === "came with some of the goods";
  const ofGoods = some || way.startsWith("received") || way === "redirected home";
  const has = Object.entries(state.parcels).some(([name, parcel]) =>
    Boolean(parcel.of) === ofGoods && isToReturn(state, name)
  );
  if (!has) return ofGoods ? leadOrder(known, a) : leadParcel(state, ({ of }) => !of);
  const to = ["brought on", "ended where its driver brought it"].includes(way)
    ? 2
    : ["came into a warehouse on its way", "cancelled in a warehouse"].includes(way)
    ? 1
    : b % 4;
  const drawn = customerReturnDraws.orderReturn(known, [2 * a + Number(ofGoods), b, c, to]);
  return drawn && { ...drawn, payer: "sender", ...(some ? { units: 1 } : {}) } as Any;
}

/** The next step of a parcel on its way to its receiver. */
function leadParcel(state: State, fits: (parcel: Parcel) => boolean): Any {
  const [name, parcel] =
    Object.entries(state.parcels).find(([, parcel]) =>
      fits(parcel) && !parcel.from && !parcel.back && !parcel.returns && !parcel.diverted &&
      parcel.driver !== null && parcel.inHand === null && parcel.status !== "failed"
    ) ?? [];
  if (!name || !parcel) return;
  const what = parcel.status === "accepted" ? "pickup" : "complete";
  return { type: "step", name, driver: parcel.driver!, what } as Any;
}

/** The next operation by which a customer gets what they order from the shop. */
function leadOrder({ state, serial }: Known, die: number): Any {
  const step = leadParcel(state, ({ of }) => Boolean(of));
  if (step) return step;
  const [name] = Object.entries(state.orders).find(([, { status }]) => status === "pending") ?? [];
  return (name && die % 3 !== 1 ? { type: "approve", name } : {
    ...{ type: "order", name: `order ${serial + 1}`, wallet: false },
    ...{ quantity: 2, customer: die % customers },
  }) as Any;
}

type Next = (name: string, dice: Dice) => Any;

/** The next operation of such a return; undefined where it cannot go that way any more, or waits for its driver. */
function next(state: State, way: ReturnWay, parcel: Parcel): Next | undefined {
  const { status, driver, there, returns, expected } = parcel;
  const step = (what: Step): Next | undefined =>
    driver === null ? undefined : (name) => ({ type: "step", name, driver, what });
  const onTheRoad = ["picked_up", "in_transit", "failed"].includes(status);
  const into = way.includes("in a warehouse") || way.includes("into a") || way.includes("driver");
  if (expected && (into || way.includes("received"))) {
    const { at } = state.receipts[expected];
    const received = returns!.units - (way === "received in part" ? 1 : 0);
    const damaged = way === "received damaged" ? 1 : 0;
    const goods = at === undefined ? {} : { goods: { warehouse: at, received, damaged } };
    return () => ({ type: "takeIn", receipt: expected, ...goods });
  }
  if (there && way === "brought on" && status === "delivered") {
    return (name) => ({ type: "sendBack", name, cancels: false });
  }
  if (there && way === "cancelled in a warehouse" && status === "pending") {
    return (name) => ({ type: "sendBack", name, cancels: true });
  }
  if (way === "carried to its end") {
    if (status === "pending" && !parcel.external) {
      return (name) => ({ type: "consign", name, external: true });
    }
    if (!parcel.external || status === "delivered" || status === "cancelled") return;
    if (parcel.booked === undefined) return (name) => ({ type: "book", name });
    return (name) => ({ type: "tell", name, report: "delivered" });
  }
  if (way.startsWith("redirected")) {
    const open = ["pending", "accepted", "picked_up", "in_transit", "failed"].includes(status);
    const away = state.parcels[returns!.parcel].place === "far" ? "near" : "far";
    const place = way === "redirected home" && returns!.to !== "home" ? "home" : away;
    return open && parcel.booked === undefined
      ? (name) => ({ type: "redirect", name, place, charge: true })
      : undefined;
  }
  if (way.endsWith("cancelled") && (status === "pending" || status === "accepted")) {
    return (name) => ({ type: "sendBack", name, cancels: true });
  }
  if (status === "accepted") return step("pickup");
  if (!onTheRoad) return;
  if (into) {
    return driver === null ? undefined : (name) => ({ type: "bringIn", name, driver });
  }
  if (way === "tried again") return step(status === "failed" ? "retry" : "fail");
  if (way.endsWith("given back")) return step("return");
  return step(status === "failed" ? "retry" : "complete");
}
