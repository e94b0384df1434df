/** Rounds of fifty who want one unit at the same moment - of cash, balance, stock, capacity - and exactly one gets it. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newDelivery, newDriver } from "../support/assignments.ts";
import { newCash } from "../support/cod.ts";
import { sql } from "../support/db.ts";
import { fundWallet } from "../support/money.ts";
import { newCart, orderOf } from "../support/orders.ts";
import { newPerson } from "../support/people.ts";
import { tally } from "../support/races.ts";
import { newItem, stockIn } from "../support/warehouses.ts";
import { type Asked, atOnce, type Attempt, Caller } from "./caller.ts";
import { allBreaches, breachesOf } from "./invariants.ts";
import { figure, of, say } from "./proof.ts";
import { Contests, type Counts, wanting as askedOfStatements } from "./statement-contests.ts";
import { deadlocks, type Place, startWorld, type World } from "./world.ts";

const rounds = of({ test: 7, short: 21, full: 200 });
const wanting = 50;
/** Milliseconds that one side of a contest about statements comes later. */
const starts = [0, 60, 5, 3, 10, 20, 2, 12];
/** Of eleven contests. */
const statementRounds = of({ test: 22, short: 44, full: 220 });

let world: World;
let place: Place;
beforeAll(async () => {
  world = await startWorld({ customers: wanting });
  [place] = world.places;
}, 120_000);
afterAll(() => world?.stop());

interface Contest {
  /** The request of each client, prepared before the start. */
  calls: Asked[];
  /** The error code that the losers get. */
  refusals: string[];
}

const assignable = (driver: string, delivery: string): Asked => ({
  token: place.ops.token,
  path: "/delivery/assignments",
  body: { delivery_id: delivery, driver_id: driver },
});

const contests: Record<string, () => Promise<Contest>> = {
  /** One row of cash, settled in both ways by the driver and the office. */
  async "a row of cash"() {
    const driver = place.drivers[0];
    const { id } = await newCash(place.tenant, { driver: driver.id });
    return {
      calls: Array.from({ length: wanting }, (_, n) => ({
        token: n % 3 ? place.dispatcher.token : driver.token,
        path: `/delivery/cod-collections/${n % 2 ? "remit" : "settle-by-wallet"}`,
        body: { scope: "selected", cod_collection_ids: [id] },
      })),
      refusals: ["400 cod_collections_not_pending"],
    };
  },
  /** A wallet that can pay for one of fifty rows. */
  async "a balance"() {
    const driver = await newDriver(place.tenant);
    await fundWallet(place.tenant, "driver", driver.id, 1_999);
    const rows = [];
    for (let n = 0; n < wanting; n++) {
      rows.push(await newCash(place.tenant, { driver: driver.id, cod: 1_000, fee: 0 }));
    }
    return {
      calls: rows.map(({ id }) => ({
        token: place.dispatcher.token,
        path: "/delivery/cod-collections/settle-by-wallet",
        body: { scope: "selected", cod_collection_ids: [id] },
      })),
      refusals: ["400 insufficient_wallet_balance", "409 insufficient_wallet_balance"],
    };
  },
  /** One dinar on a desk, wanted for the bank and for a colleague. */
  async "cash of a desk"() {
    const cashier = await newPerson(place.id, "staff", "dispatcher");
    const { id } = await newCash(place.tenant, { cod: 0, fee: 1 });
    const remitted = await new Caller(world.ports, false).surely({
      token: place.admin.token,
      path: "/delivery/cod-collections/remit",
      body: { scope: "selected", cod_collection_ids: [id], remitted_to_user_id: cashier.id },
    });
    if (remitted.status !== 200) throw new Error(remitted.text);
    return {
      calls: Array.from({ length: wanting }, (_, n) => ({
        token: place.admin.token,
        path: "/delivery/cash-desks/transfers",
        body: {
          from_user_id: cashier.id,
          amount: 1,
          ...(n % 2
            ? { kind: "bank_deposit" }
            : { kind: "handover", to_user_id: place.dispatcher.id }),
        },
      })),
      refusals: ["409 insufficient_desk_cash"],
    };
  },
  /** The last unit of an item, wanted by fifty picks. */
  async "a unit of stock"() {
    const { warehouse, bin } = place.shelves[0];
    const item = await newItem(place.tenant);
    await stockIn(place.tenant, {
      item_id: item,
      warehouse_id: warehouse,
      bin_id: bin,
      quantity: 1,
    });
    return {
      calls: Array.from({ length: wanting }, (_, n) => ({
        token: place.ops.token,
        path: "/warehousing/picking-orders",
        body: {
          warehouse_id: warehouse,
          order_type: "individual",
          status: n % 2 ? "in_progress" : "completed",
          item_details: [{ item_id: item, bin_id: bin, quantity: 1 }],
        },
      })),
      refusals: ["409 insufficient_stock"],
    };
  },
  /** The last unit of a product, in fifty orders that are approved. */
  async "a unit for sale"() {
    const { shop } = place;
    const item = await newItem(place.tenant);
    await sql`update storefront.product_variants set inventory_item_id = ${item} where id = ${shop.product.variant}`;
    const { warehouse, bin } = shop.shelf;
    await stockIn(place.tenant, {
      item_id: item,
      warehouse_id: warehouse,
      bin_id: bin,
      quantity: 1,
    });
    const buying = new Caller(world.ports, false);
    const ids: string[] = [];
    for (const customer of place.customers) {
      const cart = await newCart(shop, 1, customer.id);
      const { body } = await buying.surely({
        token: customer.token,
        path: "/storefront/orders/confirm",
        body: orderOf(shop, cart),
      });
      ids.push(body.order.id);
    }
    return {
      calls: ids.map((id) => ({
        token: place.admin.token,
        method: "PUT",
        path: `/storefront/orders/${id}/approve`,
        body: {},
      })),
      refusals: ["409 insufficient_stock"],
    };
  },
  /** One delivery, given to fifty drivers. */
  async "a delivery"() {
    const delivery = await newDelivery(place.tenant);
    return {
      calls: Array.from(
        { length: wanting },
        (_, n) => assignable(place.drivers[n % place.drivers.length].id, delivery),
      ),
      refusals: ["409 delivery_already_assigned"],
    };
  },
  /** A van with room for one of fifty deliveries. */
  async "room in a van"() {
    const driver = await newDriver(place.tenant, { capacity: 1 });
    const deliveries = [];
    for (let n = 0; n < wanting; n++) deliveries.push(await newDelivery(place.tenant));
    return {
      calls: deliveries.map((delivery) => assignable(driver.id, delivery)),
      refusals: ["409 insufficient_vehicle_capacity"],
    };
  },
};

test(`${rounds} rounds of ${wanting} at once: exactly one winner in each`, async () => {
  const caller = new Caller(world.ports, false);
  const names = Object.keys(contests);
  const misses: string[] = [];
  for (let round = 0; round < rounds; round++) {
    const name = names[round % names.length];
    const { calls, refusals } = await contests[name]();
    const keyed = calls.map((call) => ({ ...call, key: randomUUID() }));
    const first = await atOnce(wanting, (n) => caller.once(keyed[n]));
    // A client that is asked to retry does so, under its key.
    const last: Attempt[] = await Promise.all(
      first.map((seen, n) => seen.status === 503 ? caller.surely(keyed[n]) : seen),
    );
    const counts = tally(last);
    const won = last.filter(({ status }) => status >= 200 && status < 300).length;
    const refused = refusals.reduce((sum, code) => sum + (counts[code] ?? 0), 0);
    if (won !== 1 || refused !== wanting - 1) misses.push(`${name}: ${JSON.stringify(counts)}`);
    say(`round ${round + 1}: ${name}: ${JSON.stringify(counts)}`);
  }
  const breaches = await allBreaches(sql);
  figure({
    what: `rounds of ${wanting} without exactly one winner, of ${rounds}`,
    asked: "0",
    reached: misses.length,
    holds: misses.length === 0,
  });
  figure({
    what: "invariants broken",
    asked: "0",
    reached: breaches.length,
    holds: !breaches.length,
  });
  expect(misses).toEqual([]);
  expect(breaches).toEqual([]);
}, of({ test: 60_000, short: 240_000, full: 1_200_000 }));

test(
  `${statementRounds} rounds of ${askedOfStatements} at once for a merchant's money: never stated, paid or spent twice`,
  async () => {
    const caller = new Caller(world.ports, false);
    const contests = await Contests.in(world);
    const names = Object.keys(contests.all);
    const ends = new Map<string, Set<string>>();
    const misses: string[] = [];
    let breaches = 0;
    const before = await deadlocks();
    for (let round = 0; round < statementRounds; round++) {
      const name = names[round % names.length]!;
      const { on, sides, right, ends: ended, shows } = await contests.all[name]!();
      // Whichever side is asked first wins more often, and the quicker one anyway: they take turns, with and without a start.
      const turn = Math.floor(round / names.length);
      const order = Object.keys(sides);
      if (turn % 2) order.reverse();
      const keyed = order.flatMap((side, place) =>
        sides[side]!.map((asked) => ({ side, place, asked: { ...asked, key: randomUUID() } }))
      );
      const answers = await atOnce(keyed.length, async (n) => {
        const { side, place, asked } = keyed[n]!;
        if (place) {
          await new Promise((resolve) => setTimeout(resolve, starts[turn % starts.length]));
        }
        return { side, seen: await caller.surely(asked) };
      });
      const counts: Counts = Object.fromEntries(
        Object.keys(sides).map((side) => [
          side,
          tally(answers.filter((one) => one.side === side).map(({ seen }) => seen)),
        ]),
      );
      const text = JSON.stringify(counts);
      ends.set(name, (ends.get(name) ?? new Set()).add(text));
      const [end, late] = (ended ?? []).map((side) =>
        answers.find((one) => one.side === side && one.seen.status < 300)?.seen
      );
      if (!right(counts)) misses.push(`${name}: ${text}`);
      else if (end && late && late.from > end.to) misses.push(`${name}: ${text}: too late`);
      else {
        const [there, asked] = [JSON.stringify(await on.shown()), JSON.stringify(shows(counts))];
        if (there !== asked) misses.push(`${name}: ${text}: shows ${there}, not ${asked}`);
      }
      for (const company of contests.companies) {
        for (const breach of await breachesOf(sql, company)) {
          breaches++;
          misses.push(`${name}: ${text}: ${breach}`);
        }
      }
      say(`round ${round + 1}: ${name}: ${text}`);
    }
    for (const [name, seen] of ends) say(`${name}: ${seen.size} ends`);
    const left = await allBreaches(sql);
    const circles = await deadlocks() - before;
    figure({
      what: "deadlocks in rounds about statements",
      asked: "0",
      reached: circles,
      holds: circles === 0,
    });
    figure({
      what:
        `rounds of ${askedOfStatements} about statements with other answers or sums, of ${statementRounds}`,
      asked: "0",
      reached: misses.length - breaches,
      holds: misses.length === breaches,
    });
    figure({
      what: "invariants broken after rounds about statements",
      asked: "0",
      reached: breaches + left.length,
      holds: breaches + left.length === 0,
    });
    expect(misses).toEqual([]);
    expect(left).toEqual([]);
    expect(circles).toBe(0);
  },
  of({ test: 60_000, short: 240_000, full: 1_200_000 }),
);
