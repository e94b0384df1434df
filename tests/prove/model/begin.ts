/** The records that operations need: cash, parcels of drivers and of carriers, and drivers with parcels that wait. */
import type { CashOptions } from "../../support/cod.ts";
import { customers, drivers, type Known } from "./draws/draw.ts";
import { moveTo } from "./parcels.ts";
import type { Real } from "./real.ts";
import { parcelFee } from "./state.ts";

/** Somebody takes cash, sends a parcel by a driver or by a carrier, or a driver is given one that waits. */
export const beginnings = ["take", "send", "hire", "load"] as const;
export type Beginning = typeof beginnings[number];

/** How COD is released by turns, most of it when its cash has left the desks: nothing of that may show in an answer. */
const releases: CashOptions["release"][] = [
  "on_bank",
  undefined,
  "on_bank",
  "on_remit",
  "on_bank",
];

/** Makes one in the database and in the model; false where there is nothing to make it of. */
export async function begin(
  what: Beginning,
  [a, b, c]: readonly number[],
  known: Known,
  real: Real,
): Promise<boolean> {
  const { state } = known;
  const driver = a % drivers;
  const name = `${what} ${++known.serial}`;
  const customer = b % 3 ? b % customers : null;
  switch (what) {
    case "take": {
      const row = { driver, cod: b % 4 ? 250 * (1 + b % 30) : 0, fee: 250 * (1 + c % 4) };
      await real.take(name, row, releases[c % releases.length]);
      state.rows[name] = { ...row, status: "collected" };
      return true;
    }
    case "send": {
      const cod = customer !== null && c % 3 ? 250 * (1 + c % 30) : 0;
      await real.send(name, { driver, customer, cod });
      state.parcels[name] = {
        ...{ driver, inHand: null, hand: null, customer, cod, ordered: cod, fee: parcelFee },
        ...{ status: "picked_up", place: "near", moves: 0, due: null },
        ...{ things: 2, taken: parcelFee, pickup: { driver, movements: 0, wentOn: false } },
      };
      state.rows[`${name} pickup`] = { driver, cod: 0, fee: 2_000, status: "collected" };
      return true;
    }
    case "hire": {
      const cod = customer !== null && c % 4 ? 250 * (1 + c % 30) : 0;
      await real.hire(name, { customer, cod });
      state.parcels[name] = {
        ...{ driver: null, inHand: null, hand: null, customer, cod, ordered: cod, fee: parcelFee },
        ...{ status: "pending", place: "near", moves: 0, due: null },
        ...{ external: true, doorFee: parcelFee },
      };
      return true;
    }
    case "load": {
      const waiting = Object.entries(state.parcels).filter(([, parcel]) =>
        parcel.status === "pending" && !parcel.external && !parcel.returnedBy &&
        (!parcel.back || parcel.picked)
      );
      if (!waiting.length) return false;
      // Few get as far as an order or a return, and much depends on where these end.
      const rare = waiting.filter(([, { of, returns }]) => of || returns);
      const list = c % 3 !== 1 && rare.length ? rare : waiting;
      const [part, parcel] = list[b % list.length];
      await real.give(part, driver);
      parcel.driver = driver;
      moveTo(parcel, "accepted");
      return true;
    }
  }
}
