/** Bulk calls over the same rows in every order: nobody waits in a circle. The server counts its deadlocks itself. */
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newDeliveries } from "../support/assignments.ts";
import { newCash } from "../support/cod.ts";
import { sql } from "../support/db.ts";
import { newManifest } from "../support/manifests.ts";
import { tally } from "../support/races.ts";
import { Caller, lanes } from "./caller.ts";
import { allBreaches } from "./invariants.ts";
import { figure, of, say, seed } from "./proof.ts";
import { deadlocks, type Place, startWorld, type World } from "./world.ts";

const wanted = of({ test: 60, short: 600, full: 10_000 });
const clients = 16;

let world: World;
let place: Place;
beforeAll(async () => {
  world = await startWorld({ drivers: 4 });
  [place] = world.places;
}, 120_000);
afterAll(() => world?.stop());

/** A handful of rows that several calls want at once, renewed when they are used up. */
class Herd {
  ids: string[] = [];
  #uses = 0;
  #renewing?: Promise<void>;
  constructor(private readonly renew: () => Promise<string[]>, private readonly usesMax: number) {}
  async take(): Promise<string[]> {
    if (!this.ids.length || ++this.#uses > this.usesMax) {
      this.#renewing ??= this.renew().then((ids) => {
        this.ids = ids;
        this.#uses = 0;
        this.#renewing = undefined;
      });
      await this.#renewing;
    }
    return this.ids;
  }
}

test(`${wanted} overlapping bulk calls in shuffled order: no deadlock (seed ${seed})`, async () => {
  const caller = new Caller(world.ports);
  const [driver] = place.drivers;
  const cash = new Herd(async () => {
    const ids: string[] = [];
    for (let n = 0; n < 8; n++) ids.push((await newCash(place.tenant, { driver: driver.id })).id);
    return ids;
  }, 6);
  const parcels = new Herd(() => newDeliveries(place.tenant, 10), 6);
  const manifests = new Herd(async () => {
    const pair = [0, 1].map(() => newManifest(place.tenant, { items: 3, branch: place.branch }));
    return (await Promise.all(pair)).flatMap(({ itemIds }) => itemIds);
  }, 4);
  const [one, two] = place.shelves;
  const lines = (order: number[], bins: Record<string, string>) =>
    order.slice(0, 4).map((n) => ({
      item_id: place.items[n % place.items.length],
      quantity: 1,
      ...bins,
    }));
  const token = place.ops.token;
  const calls: ((order: number[], dice: number) => Promise<unknown>)[] = [
    async (order, dice) => {
      const ids = await cash.take();
      return await caller.once({
        token: place.dispatcher.token,
        path: `/delivery/cod-collections/${dice % 2 ? "remit" : "settle-by-wallet"}`,
        body: { scope: "selected", cod_collection_ids: order.slice(0, 3).map((n) => ids[n % 8]) },
      });
    },
    async (order, dice) => {
      const ids = await parcels.take();
      return await caller.once({
        token,
        path: "/delivery/assignments/bulk",
        body: {
          driver_id: place.drivers[dice % 4].id,
          delivery_ids: order.slice(0, 3).map((n) => ids[n]),
        },
      });
    },
    async (order) => {
      const ids = await manifests.take();
      return await caller.once({
        token: place.dispatcher.token,
        path: "/delivery/transfer-manifest-items/bulk/set-destination",
        body: {
          item_ids: order.filter((n) => n < 6).slice(0, 5).map((n) => ids[n]),
          destination_branch_id: place.branch,
          delivery_service_id: place.ground.service,
        },
      });
    },
    (order, dice) => {
      const [from, to] = dice % 2 ? [one, two] : [two, one];
      return caller.once({
        token,
        path: "/warehousing/inventory-transfers",
        body: {
          source_warehouse_id: from.warehouse,
          destination_warehouse_id: to.warehouse,
          items: lines(order, { source_bin_id: from.bin, destination_bin_id: to.bin }),
        },
      });
    },
    (order, dice) => {
      const { warehouse, bin } = dice % 2 ? one : two;
      return caller.once({
        token,
        path: "/warehousing/picking-orders",
        body: {
          warehouse_id: warehouse,
          order_type: "individual",
          status: dice % 3 ? "completed" : "in_progress",
          item_details: lines(order, { bin_id: bin }),
        },
      });
    },
    (order, dice) => {
      const { warehouse, bin } = dice % 2 ? one : two;
      return caller.once({
        token,
        path: "/warehousing/inventory/receipts",
        body: { warehouse_id: warehouse, items: lines(order, { bin_id: bin }) },
      });
    },
  ];
  const before = await deadlocks();
  const orders = fc.sample(
    fc.tuple(
      fc.shuffledSubarray([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], { minLength: 10 }),
      fc.nat(999),
    ),
    { seed, numRuns: wanted },
  );
  let n = 0;
  await lanes(clients, () => n < orders.length, async () => {
    const [order, dice] = orders[n++];
    await calls[dice % calls.length](order, Math.floor(dice / 6));
    if (n % 1_000 === 0) say(`${n} of ${wanted}`);
  });
  const counts = tally(caller.log.flatMap(({ attempts }) => attempts));
  say(JSON.stringify(counts));
  // The server's counters come a moment late.
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  const found = await deadlocks() - before;
  const faults = Object.entries(counts).filter(([what]) => /^5(?!03)|^0/.test(what));
  const breaches = await allBreaches(sql);
  figure({
    what: `deadlocks in ${caller.log.length} overlapping bulk calls`,
    asked: "0",
    reached: found,
    holds: found === 0,
  });
  figure({
    what: "invariants broken",
    asked: "0",
    reached: breaches.length,
    holds: !breaches.length,
  });
  expect(faults).toEqual([]);
  expect(found).toBe(0);
  expect(breaches).toEqual([]);
}, of({ test: 60_000, short: 240_000, full: 1_800_000 }));
