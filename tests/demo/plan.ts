/**
 * The plan of the day, decided before any request: drivers, prices and outcomes. Nothing is decided
 * by what is quicker, so the totals of a day are those of its seed.
 */
import fc from "fast-check";
import { dinars, draw, mostly } from "./random.ts";

/**
 * How a parcel ends: at the door, at the second attempt, back in the warehouse, cancelled; `forwarded` parcels wait in the other warehouse.
 * Of one half is kept, another is exchanged, refused, wanted another day, or delivered only after it was reported so by mistake.
 */
export type Outcome = "delivered" | "retried" | "returned" | "cancelled" | "forwarded" | AtDoor;
export type AtDoor = "partial" | "exchanged" | "refused" | "postponed" | "undone";

/** How parcels with COD end, in a hundred: of those that merchants order, one in five or six is not simply delivered. */
const ends = mostly<Outcome>(
  [76, "delivered"],
  [5, "retried"],
  [3, "returned"],
  [4, "cancelled"],
  [3, "partial"],
  [2, "exchanged"],
  [3, "refused"],
  [3, "postponed"],
  [1, "undone"],
);

/** The evening's settlement of a parcel's cash. */
export type Evening = "remit" | "desk" | "wallet" | "keep";

export interface Terms {
  payer_type: "sender" | "receiver";
  payment_method: "cash" | "wallet";
  cod_amount: number;
}

interface Carried {
  /** The number of the driver; the next driver has the second leg of a staged parcel. */
  driver: number;
  outcome: Outcome;
  evening: Evening;
}

/** One that an institution hands over with others, on a manifest. */
export interface Item extends Carried {
  kind: "item";
}
/** One that a merchant orders: from door to door, or staged through the warehouse. */
export interface Order extends Carried {
  kind: "door" | "staged";
  terms: Terms;
  place: number;
}

export interface Manifest {
  driver: number;
  place: number;
  items: Item[];
}

export interface Purchase {
  method: "cash_on_delivery" | "wallet" | "gatewayone";
  /** Of which goods how many. */
  lines: { goods: number; quantity: number }[];
  /** Ends at the door, or is cancelled by the shop. */
  cancelled: boolean;
  driver: number;
  evening: Evening;
}

export interface Stock {
  receipts: { goods: number; sound: number; damaged: number }[];
  picks: { goods: number; quantity: number; cancelled: boolean }[];
  transfers: { goods: number; quantity: number }[];
  corrections: { goods: number; delta: number }[];
}

export interface Plan {
  drivers: number;
  manifests: Manifest[];
  orders: Order[];
  purchases: Purchase[];
  stock: Stock;
  /** Of each kind of goods: its price, and what lies on the shelf of the main warehouse before the day begins. */
  goods: { price: number; stock: number }[];
}

export const places = 5;
const perManifest = 25;

const evening = mostly<Evening>([4, "remit"], [2, "desk"], [3, "wallet"], [1, "keep"]);
const terms: fc.Arbitrary<Terms> = fc.oneof(
  fc.constant<Terms>({ payer_type: "sender", payment_method: "cash", cod_amount: 0 }),
  fc.constant<Terms>({ payer_type: "receiver", payment_method: "cash", cod_amount: 0 }),
  ...(["sender", "receiver"] as const).map((payer_type) =>
    dinars(5_000, 250_000).map((cod_amount): Terms => ({
      payer_type,
      payment_method: "cash",
      cod_amount,
    }))
  ),
  dinars(5_000, 250_000).map((cod_amount): Terms => ({
    payer_type: "sender",
    payment_method: "wallet",
    cod_amount,
  })),
);

/** Three of five come on manifests, one in thirty goes through the warehouse, the rest from door to door. */
export function planOf(
  seed: number,
  size: { deliveries: number; drivers: number },
  local: boolean,
): Plan {
  const driver = fc.integer({ min: 0, max: size.drivers - 1 });
  const place = fc.integer({ min: 0, max: places - 1 });
  const onManifests = Math.floor(size.deliveries * 0.6);
  const staged = Math.max(4, Math.floor(size.deliveries / 30));
  const item = fc.record<Item>({
    kind: fc.constant("item"),
    driver,
    evening,
    outcome: mostly<Outcome>([90, "delivered"], [6, "retried"], [4, "cancelled"]),
  });
  const door = fc.record<Order>({
    kind: fc.constant("door"),
    driver,
    evening,
    terms,
    place,
    outcome: ends,
  }).map((order) =>
    // A fee that was paid beforehand may be given back; these parcels reach their door. Nobody keeps half of what costs nothing.
    order.terms.payment_method === "wallet" ||
      order.outcome === "partial" && !order.terms.cod_amount
      ? { ...order, outcome: "delivered" as const }
      : order
  );
  const through = fc.record<Order>({
    kind: fc.constant("staged"),
    driver,
    evening,
    place,
    terms: dinars(5_000, 250_000).map((cod_amount): Terms => ({
      payer_type: "receiver",
      payment_method: "cash",
      cod_amount,
    })),
    outcome: fc.constant("delivered"),
  });
  const items = draw(seed, "items", item, onManifests);
  const headers = draw(
    seed,
    "manifests",
    fc.record({ driver, place }),
    Math.ceil(onManifests / perManifest),
  );
  return {
    drivers: size.drivers,
    manifests: headers.map((header, n) => ({
      ...header,
      items: items.slice(n * perManifest, (n + 1) * perManifest),
    })),
    orders: [
      ...draw(seed, "doors", door, size.deliveries - onManifests - staged),
      // Half of them continue to the other warehouse and wait there.
      ...draw(seed, "staged", through, staged).map((order, n): Order =>
        n % 2 ? { ...order, outcome: "forwarded" } : order
      ),
    ],
    ...shopOf(seed, size.deliveries, driver, local),
  };
}

/** The goods, who buys them, and what else the warehouse does with them. Enough is there for everybody. */
function shopOf(
  seed: number,
  deliveries: number,
  driver: fc.Arbitrary<number>,
  local: boolean,
): Pick<Plan, "goods" | "purchases" | "stock"> {
  const kinds = 4;
  const goods = fc.integer({ min: 0, max: kinds - 1 });
  const units = (max: number) => fc.integer({ min: 1, max });
  const busy = Math.max(4, Math.ceil(deliveries / 50));
  const methods: [number, Purchase["method"]][] = [
    [3, "cash_on_delivery"],
    [2, "wallet"],
    [2, "gatewayone"],
  ];
  const purchase = fc.record<Purchase>({
    method: mostly(...methods),
    lines: fc.uniqueArray(fc.record({ goods, quantity: units(4) }), {
      minLength: 1,
      maxLength: 3,
      selector: (line) => line.goods,
    }),
    cancelled: mostly([5, false], [1, true]),
    driver,
    evening,
  }).map((order): Purchase => {
    if (order.method !== "gatewayone") return order;
    // Cards need the gateway that npm start simulates; elsewhere who would pay by card pays at the door.
    return { ...order, cancelled: false, method: local ? "gatewayone" : "cash_on_delivery" };
  });
  return {
    goods: draw(seed, "goods", dinars(1_000, 30_000), kinds)
      .map((price) => ({ price, stock: 20 * busy })),
    purchases: draw(seed, "purchases", purchase, busy),
    stock: {
      receipts: draw(
        seed,
        "receipts",
        fc.record({ goods, sound: units(60), damaged: fc.nat(3) }),
        busy,
      ),
      picks: draw(
        seed,
        "picks",
        fc.record({ goods, quantity: units(5), cancelled: mostly([4, false], [1, true]) }),
        busy,
      ),
      transfers: draw(seed, "transfers", fc.record({ goods, quantity: units(4) }), busy),
      corrections: draw(
        seed,
        "corrections",
        fc.record({ goods, delta: fc.constantFrom(-3, -2, -1, 1, 2) }),
        Math.ceil(busy / 4),
      ),
    },
  };
}
