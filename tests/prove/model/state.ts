/** The model: a state without a database, which operations change. Whole units only. */
import type { CounterKind, Place, Resolution, ReturnPlace, Way } from "./ops.ts";

export type { ReturnPlace };

export interface Row {
  driver: number;
  cod: number;
  fee: number;
  status: "collected" | "remitted" | "settled_by_wallet";
  /** The owner of its COD, where that is held until the cash is in. */
  holds?: number;
}

/** Cash that a carrier collected for a parcel. */
export interface Owed {
  cod: number;
  fee: number;
  status: "owed" | "remitted" | "written_off";
  holds?: number;
}

/** Cash that a driver declared, and what became of it; the dispatcher counts it. */
export interface Count {
  driver: number;
  declared: number;
  counted: number | null;
  status: "declared" | "counted" | "discrepancy" | "resolved" | "cancelled";
  resolution?: Resolution;
  /** The id of the settlement that remitted it, or took its place. */
  settlement?: string;
}

export interface Settled {
  way: Way;
  driver: number;
  /** Received by the dispatcher, else by the driver. */
  office: boolean;
  names: string[];
  total: number;
  fees: number;
  shortage: number;
  /** The one to bear that shortage, where it was resolved before. */
  borne?: "driver_owes" | "written_off";
  count?: string;
  reversed: boolean;
}

/** A delivery: a parcel whose sender pays its fee in cash, or what one warehouse sends of an order. */
export interface Parcel {
  status:
    | "pending"
    | "accepted"
    | "picked_up"
    | "in_transit"
    | "failed"
    | "delivered"
    | "returned"
    | "cancelled";
  /** On whose list it is. */
  driver: number | null;
  /** The driver who keeps the parcel until `driver` has accepted it. */
  inHand: number | null;
  /** The handover that brought it to `driver`. */
  hand: string | null;
  customer: number | null;
  cod: number;
  /** Of a parcel that is no order: its COD as ordered, its fee, and where it goes. */
  ordered: number;
  fee: number;
  /** That COD is for one of its two things. */
  part?: boolean;
  place: Place;
  /** How many things are in a parcel that is no order; one unless it says so. */
  things?: number;
  /** The fee that was taken from its sender in cash. */
  taken?: number;
  /** Its last pickup at its sender's: the driver, how many movements of the owner's wallet there were before it, and whether more followed. */
  pickup?: { driver: number; movements: number; wentOn: boolean };
  /** Its pickup was undone, and it waits at its sender's. */
  again?: boolean;
  /** Attempts that count, and whether its receiver refused the last. */
  attempts?: number;
  refused?: boolean;
  /** How often its status changed. */
  moves: number;
  /** The last result of an attempt; of a carrier's reports, that it was delivered. */
  result?: {
    /** Null: a carrier's. */
    driver: number | null;
    /** The parcel before it. */
    before: Omit<Parcel, "result">;
    /** `moves` when it was over, and how many movements of the owner's wallet there were before it. */
    moves: number;
    movements: number;
    /** The amount of the order that was refunded before it, and how many parcels there were. */
    refunded: number;
    parcels: number;
    /** It was reported as returned, and whether its owner's wallet got its fee back. */
    returned?: { refunded: boolean };
    undone: boolean;
  };
  /** The cash refund due to a sender without a wallet. */
  due: "open" | "paid" | null;
  of?: { order: string; part: number };
  /** It lies in the warehouse for parcels; `lay`: it once did, or is sold from there, and is fetched there. */
  there?: boolean;
  lay?: boolean;
  /** It goes there first. */
  diverted?: boolean;
  /** The receipt by which it is expected there. */
  expected?: string;
  /** The parcel that this delivery brings back from there, and whether it is picked for its driver. */
  back?: string;
  picked?: boolean;
  /** The delivery that brings it back. */
  returnedBy?: string;
  /** Another company carries it. */
  external?: boolean;
  /** Its carrier is booked, and was told to collect this cash. */
  booked?: number;
  /** The carrier of its booking has brought it back into the warehouse. */
  broughtBack?: boolean;
  /** The fee that its receiver pays in cash. */
  doorFee?: number;
  /** The parcel at whose door this return began, and what it brings back of it. */
  from?: { parcel: string; brings: "all" | "part" | "exchange" };
  /** The parcel of which a customer sends so many units back, where to, and the warehouse in which it ends; null: at a door. */
  returns?: {
    parcel: string;
    units: number;
    wallet: boolean;
    to: ReturnPlace;
    ends: number | null;
  };
  /** So many of the goods that it brought were received, and not all where some were lost. */
  received?: number;
}

export interface Part {
  warehouse: number;
  quantity: number;
  /** Less was found, and the shop sent what there was. */
  short: number;
  /** The quantity that was picked; null until somebody picked it. */
  found: number | null;
  left: boolean;
  /** The price of what was not found, which its carrier collects all the same. */
  charged?: number;
  /** `cancelled`: it was expected, and is on its way again. */
  back: "expected" | "received" | "cancelled" | null;
  /** Where it is expected back. */
  backAt?: number;
  /** It never left, and was on sale again when its order ended. */
  released?: boolean;
}

export interface Order {
  customer: number;
  quantity: number;
  wallet: boolean;
  status: string;
  /** The current price, and the amount refunded to the wallet. */
  total: number;
  refunded: number;
  parts: Part[];
}

/** A movement of an owner's wallet: the parcel it is of, and the row of cash whose COD it is. */
export interface Movement {
  amount: number;
  parcel?: string;
  row?: string;
}

export interface Statement {
  customer: number;
  net: number;
  status: "open" | "paid" | "void";
  /** Paid from the desk. */
  cash: boolean;
  /** The part of each movement of the owner's that it states, by their place. */
  lines: Record<number, number>;
}

export interface Pick {
  shelf: number;
  item: number;
  quantity: number;
  picked: number;
  line: "pending" | "picked" | "short" | "missing";
  status: string;
}

export interface Receipt {
  parcel: string;
  /** Of goods: the warehouse, and the units of the first count. */
  at?: number;
  counted?: { received: number; damaged: number };
  status: "pending" | "received" | "cancelled";
}

/** The ways that customers' returns go. */
export const returnWays = [
  "came to a door",
  "came to its warehouse",
  "came with some of the goods",
  "received as goods",
  "received damaged",
  "received in part",
  "came into a warehouse on its way",
  "ended where its driver brought it",
  "given back",
  "cancelled",
  "cancelled in a warehouse",
  "brought on",
  "redirected",
  "redirected home",
  "tried again",
  "carried to its end",
  "ordered again when given back",
  "ordered again when cancelled",
] as const;
export type ReturnWay = typeof returnWays[number];

export function tally(state: State, way: ReturnWay): void {
  state.ways[way] = (state.ways[way] ?? 0) + 1;
}

export interface State {
  rows: Record<string, Row>;
  counts: Record<string, Count>;
  parcels: Record<string, Parcel>;
  hands: Record<
    string,
    {
      to: number;
      parcel: string;
      status: "pending" | "accepted" | "rejected" | "returned" | "completed";
    }
  >;
  /** Wallets of drivers and customers, and the tenant's. */
  drivers: number[];
  customers: number[];
  /** The movements of customers' wallets, and the statements of them. */
  movements: Movement[][];
  statements: Record<string, Statement>;
  /** COD is held until its cash is in. */
  holds: boolean;
  house: number;
  /** Cash that carriers collected, their payments by the id of the operation, and what is in the till of these. */
  owed: Record<string, Owed>;
  carrierPaid: Record<
    string,
    { rows: string[]; amount: number; received: number; charges: number; reversed: boolean }
  >;
  till: number | null;
  /** The receipts of parcels, and of goods that customers send back, by the id of the operation that it follows from. */
  receipts: Record<string, Receipt>;
  /** Cash on the dispatcher's desk and on those of drivers who remit to themselves; null: nobody put any there yet. */
  desk: number | null;
  ownDesks: (number | null)[];
  /** The shortages of drivers. */
  shortages: number[];
  /** Pay that drivers earned with each parcel: under the id of which payout it was paid. */
  pay: Record<string, { driver: number; payout: string | null }>;
  payouts: Record<string, { driver: number; wallet: boolean; amount: number; reversed: boolean }>;
  /** Cash that went from drivers' desks to the dispatcher's, by the id of the operation. */
  brought: Record<string, { driver: number; amount: number; reversed: boolean }>;
  /** Cash at the counter, by the id of the operation. */
  counters: Record<
    string,
    { kind: CounterKind; driver: number; amount: number; reversed: boolean }
  >;
  /** Payments of fees that were due back, by the id of the operation. */
  paid: Record<string, { parcel: string; reversed: boolean }>;
  /** Available units: shelf, item. */
  units: number[][];
  /** Available units of what the shop sells, in each of its warehouses and in that for parcels. */
  goods: number[];
  /** Damaged units of it. */
  damaged: number[];
  /** How often a return of a customer's went each way. */
  ways: Partial<Record<ReturnWay, number>>;
  picks: Record<string, Pick>;
  orders: Record<string, Order>;
  settlements: Record<string, Settled>;
  /** The response to an operation's id, and its request. */
  done: Record<string, { asked: string; answer: string }>;
}

/** A unit of the shop's product, and what bringing one costs. */
export const unitPrice = 5_000;
export const unitFee = 1_000;
/** The fee of a parcel that is no order, as it is sent, and by where it goes. */
export const parcelFee = 2_000;
export const fees: Record<Place, number> = { near: parcelFee, far: 3_112 };
/** The cost of the distance from where a return begins to where it goes. */
export const distances: Record<Place | "shop's customer", Record<ReturnPlace, number>> = {
  near: { home: 0, there: 0, near: 0, far: 1_112 },
  far: { home: 1_112, there: 1_112, near: 1_112, far: 0 },
  "shop's customer": { home: 93, there: 93, near: 93, far: 1_116 },
};

export const backName = (parcel: string) => `${parcel} back`;
/** The delivery that an operation made to bring a parcel back from a warehouse. */
export const sentBackName = (parcel: string, op: string) => `${parcel} sent back by ${op}`;
export const partName = (order: string, part: number) => `${order} part ${part}`;
