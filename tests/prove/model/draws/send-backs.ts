/** Draws of parcels in the warehouse for parcels. */
import type { Parcel } from "../state.ts";
import { type Draws, drivers, one } from "./draw.ts";

/** A parcel from door to door, which is no order and brings nothing back; or a customer's return, which goes where it likes. */
const mayStop = ({ of, from, back, doorFee, returns }: Parcel) =>
  !of && !from && !back && (!doorFee || returns && returns.ends !== 2);
const onTheRoad = ({ status }: Parcel) => ["picked_up", "in_transit", "failed"].includes(status);

export const sendBackDraws: Draws<
  "divert" | "bringIn" | "takeIn" | "sendBack" | "callOff" | "execute" | "unprepare"
> = {
  divert({ state }, [a]) {
    const parts = Object.entries(state.parcels).filter(([, { of }]) => of);
    if (!parts.length) return;
    const [name] = one(
      parts,
      a,
      ({ status, external, lay }) => status === "pending" && !external && !lay,
    );
    return { type: "divert", name };
  },
  bringIn({ state }, [a, b, c]) {
    const parcels = Object.entries(state.parcels).filter(([, parcel]) => mayStop(parcel));
    if (!parcels.length) return;
    const [name, { driver }] = one(parcels, a, onTheRoad);
    return { type: "bringIn", name, driver: c % 6 && driver !== null ? driver : b % drivers };
  },
  takeIn({ state }, [a, b, c, d]) {
    const receipts = Object.entries(state.receipts);
    if (!receipts.length) return;
    const [receipt, { at, parcel }] = one(receipts, a, ({ status }) => status === "pending");
    if (at === undefined) return { type: "takeIn", receipt };
    const { units } = state.parcels[parcel].returns!;
    const received = d % 4 === 1 ? a % (units + 1) : units;
    const damaged = b % 3 === 1 ? c % (received + 1) : 0;
    return { type: "takeIn", receipt, goods: { warehouse: at, received, damaged } };
  },
  sendBack({ state }, [a, b, c]) {
    // One of an order's deliveries is cancelled before any has left, so that another may have to collect the fee.
    const parts = Object.entries(state.parcels).filter(([, { of, status }]) =>
      of && (status === "pending" || status === "accepted") &&
      state.orders[of.order].parts.length > 1 &&
      state.orders[of.order].parts.every(({ left }) => !left)
    );
    if (parts.length && c % 3 === 0) {
      return { type: "sendBack", name: one(parts, a)[0], cancels: true };
    }
    const parcels = Object.entries(state.parcels).filter(([, { from, back }]) => !from && !back);
    if (!parcels.length) return;
    const [name, parcel] = one(
      parcels,
      a,
      ({ there, returnedBy }) => Boolean(there) && !returnedBy,
    );
    // Of those that have not left, few are cancelled: a parcel whose fee its receiver pays, or a part of an order.
    const often = !parcel.there && !parcel.doorFee && !parcel.of && !parcel.returns;
    const cancels = b % 3 === 0 && (often || b % 2 === 0);
    return { type: "sendBack", name, cancels: Boolean(cancels) };
  },
  callOff({ state }, [a, b]) {
    const backs = Object.entries(state.parcels).filter(([, { back }]) => back);
    // Else few would ever come home.
    if (!backs.length || b % 2) return;
    return { type: "callOff", name: one(backs, a, ({ status }) => status === "pending")[0] };
  },
  execute({ state }, [a]) {
    const backs = Object.entries(state.parcels).filter(([, { back }]) => back);
    if (!backs.length) return;
    const [name] = one(backs, a, ({ status, picked }) => status === "pending" && !picked);
    return { type: "execute", name };
  },
  unprepare({ state }, [a, b]) {
    const backs = Object.entries(state.parcels).filter(([, { back }]) => back);
    // Else few would ever come home.
    if (!backs.length || b % 2) return;
    return { type: "unprepare", name: one(backs, a, ({ picked }) => Boolean(picked))[0] };
  },
};
