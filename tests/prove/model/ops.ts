/**
 * The operations of the model. Records have names that the operations choose; every operation has an id, under which it
 * is sent again.
 */
export type Way = "remit" | "settle-by-wallet";
export type CounterKind = "expense" | "bank_withdrawal" | "wallet_payout" | "wallet_deposit";
export type Resolution = "recounted" | "driver_owes" | "written_off" | "returned";
export type Step = "pickup" | "depart" | "complete" | "fail" | "return" | "retry";
export type Result = "partial" | "exchanged" | "postponed" | "refused";
export type Place = "near" | "far";
/** A return also goes home, to where its parcel was ordered from, or to the warehouse for parcels. */
export type ReturnPlace = Place | "home" | "there";
/** The states of a parcel that a carrier reports. */
export type Report = "picked_up" | "in_transit" | "delivered" | "failed" | "returned" | "cancelled";

/** Goods that a warehouse receives, some of them damaged. */
export interface Goods {
  warehouse: number;
  received: number;
  damaged: number;
}

/** `driver`, `customer`, `shelf`, `item`, `warehouse`: places in the lists of the state. */
export type Op =
  & { id: string }
  & (
    // Cash: rows are settled, a settlement is reversed, cash is declared, counted and what was missing resolved, the desk pays.
    | { type: "settle"; way: Way; driver: number; office: boolean; rows: string[] | "all" }
    | { type: "unsettle"; settlement: string }
    | { type: "declare"; name: string; driver: number; declared: number }
    | { type: "count"; name: string; driver: number; declared: number; counted: number }
    | { type: "resolve"; name: string; way: Resolution; declared: number }
    | { type: "deposit"; amount: number }
    // From the desk of a driver to that of the dispatcher, and back when that was a mistake.
    | { type: "bring"; driver: number; amount: number }
    | { type: "unbring"; transfer: string }
    | { type: "payDue"; name: string }
    | { type: "unpay"; payment: string }
    // Cash that comes to the desk or leaves it at the counter, some of it for a driver's wallet, and back when that was a mistake.
    | { type: "counter"; kind: CounterKind; driver: number; amount: number }
    | { type: "uncounter"; transfer: string }
    // Drivers are paid what they earned, from the desk or into the wallet, and some of it was a mistake.
    | { type: "payOut"; driver: number; wallet: boolean }
    | { type: "unpayOut"; payout: string }
    | { type: "adjust"; driver: number; amount: number; credit: boolean }
    // Parcels: a driver moves one or reports what came of it at the door, the office hands it to another driver, who confirms it or does not.
    | { type: "step"; name: string; driver: number; what: Step }
    | { type: "outcome"; name: string; driver: number; result: Result }
    // A result, or a pickup, is undone by a driver, or by the office (null).
    | { type: "undo" | "undoPickup"; name: string; driver: number | null }
    // A parcel on the road owes another amount, for the whole or for one of its two things, or goes elsewhere.
    | { type: "changeAmount"; name: string; cod: number; part: boolean; byOwner: boolean }
    | { type: "redirect"; name: string; place: Place | "home"; charge: boolean }
    // Statements of what an owner is due, their payouts, and what ends or reverses them.
    | { type: "openStatement"; name: string; customer: number }
    | { type: "payStatement"; name: string; cash: boolean }
    | { type: "reverseStatement" | "voidStatement"; name: string }
    // Parcels in the warehouse for parcels: an order's part goes there first, or a driver brings one in and the staff receive it; and from
    // there it is sent back, perhaps since its order is cancelled, by a delivery that is cancelled, or picked for its driver.
    | { type: "divert"; name: string }
    | { type: "bringIn"; name: string; driver: number }
    | { type: "takeIn"; receipt: string; goods?: Goods }
    | { type: "sendBack"; name: string; cancels: boolean }
    | { type: "callOff" | "execute" | "unprepare"; name: string }
    // A customer, or the office, orders a return of what was delivered, or of so many units of it.
    | {
      type: "orderReturn";
      name: string;
      parcel: string;
      units: number | null;
      owner: number | null;
      payer: "sender" | "receiver";
      wallet: boolean;
      to: ReturnPlace;
    }
    // Another company carries a parcel, collects its cash and pays it.
    | { type: "consign"; name: string; external: boolean }
    | { type: "book" | "unbook"; name: string }
    | { type: "tell"; name: string; report: Report }
    | {
      type: "carrierPays";
      rows: string[] | "oldest";
      amount: number;
      /** The part of it that the carrier kept. */
      charges: number;
      lost: boolean;
    }
    | { type: "unpayCarrier"; payment: string }
    // From the till, where carriers pay, to the bank.
    | { type: "bank"; amount: number }
    | { type: "handOver"; name: string; from: number; to: number }
    | { type: "confirm"; hand: string; to: number; accept: boolean }
    // Stock.
    | { type: "receive" | "writeOff" | "takeBack"; shelf: number; item: number; quantity: number }
    | { type: "correct"; shelf: number; item: number; delta: number }
    | { type: "transfer"; from: number; item: number; quantity: number }
    | { type: "pick"; name: string; shelf: number; item: number; quantity: number }
    | { type: "move"; name: string; to: "completed" | "cancelled"; reported: boolean }
    | {
      type: "report";
      name: string;
      shelf: number;
      item: number;
      to: "in_progress" | "completed";
      picked: number;
    }
    | { type: "restock"; warehouse: number; quantity: number }
    // Orders of the shop, which leave from two warehouses.
    | { type: "order"; name: string; customer: number; quantity: number; wallet: boolean }
    | { type: "approve" | "cancel" | "acceptShort"; name: string }
    | { type: "fetch"; name: string; warehouse: number; found: number }
    | { type: "putBack"; name: string; warehouse: number }
  );
export type Of<T extends Op["type"]> = Op & { type: T };

export const types = [
  "settle",
  "unsettle",
  "declare",
  "count",
  "resolve",
  "deposit",
  "bring",
  "unbring",
  "counter",
  "uncounter",
  "payDue",
  "unpay",
  "payOut",
  "unpayOut",
  "adjust",
  "step",
  "outcome",
  "undo",
  "undoPickup",
  "changeAmount",
  "redirect",
  "openStatement",
  "payStatement",
  "reverseStatement",
  "voidStatement",
  "divert",
  "bringIn",
  "takeIn",
  "sendBack",
  "callOff",
  "execute",
  "unprepare",
  "orderReturn",
  "consign",
  "book",
  "unbook",
  "tell",
  "carrierPays",
  "unpayCarrier",
  "bank",
  "handOver",
  "confirm",
  "receive",
  "writeOff",
  "takeBack",
  "correct",
  "transfer",
  "pick",
  "move",
  "report",
  "restock",
  "order",
  "approve",
  "cancel",
  "acceptShort",
  "fetch",
  "putBack",
] as const satisfies readonly Op["type"][];
