/** The parts of the day in their order. */
import { System } from "./barid.ts";
import { settleCash } from "./cash.ts";
import { Count } from "./count.ts";
import { type Finished, type Job, nothing, round } from "./drivers.ts";
import { bringIn } from "./manifests.ts";
import type { DemoOptions } from "./options.ts";
import { hire, peopleOf, settle } from "./people.ts";
import { payMerchant, releaseWithCash, stateMerchant } from "./payouts.ts";
import { type Order, planOf } from "./plan.ts";
import { progressOf } from "./progress.ts";
import { order, type Parcel, scan } from "./scans.ts";
import { openShop, sell } from "./store.ts";
import { compare, type Compared } from "./totals.ts";
import {
  movementsOf,
  moveStock,
  pickOut,
  sendBack,
  sendOn,
  sort,
  stockUp,
  takeIn,
} from "./warehouse.ts";
import { listen } from "./webhooks.ts";

export interface Ended extends Compared {
  /** The parts that could not be shown here, each with the reason. */
  leftOut: string[];
  calls: number;
  repeated: number;
}

/** Drives the day of a seed through the API, and compares what was counted with what Barid says. */
export async function driveDay(options: DemoOptions): Promise<Ended> {
  const run = `${options.seed}-${Date.now().toString(36)}`;
  const system = new System(options.url, options.key, run);
  // The simulated gateway and a subscriber on this machine need a stack on this machine.
  const local = ["127.0.0.1", "localhost", "[::1]"].includes(new URL(options.url).hostname);
  const plan = planOf(options.seed, options, local);
  const part = progressOf(options.quiet);
  const count = new Count();
  const leftOut = local ? [] : [
    "card payments: the simulated gateway is on the machine of npm start only",
    "webhooks: a subscriber on this machine is out of reach",
  ];

  const people = await part(
    "people hired",
    peopleOf(plan),
    (progress) => hire(system, options, plan, progress),
  );
  const world = await settle(system, people, plan);
  for (const { id, name } of world.drivers) count.hired(id, name);
  await releaseWithCash(world);
  await stockUp(world, plan, count);
  const subscriber = local ? await listen(world) : undefined;
  if (local && !subscriber) leftOut.push("webhooks: the tenant has a subscriber to deliveries");

  try {
    const arrived = await part(
      "manifests brought, with proofs",
      plan.manifests.length,
      (progress) => bringIn(world, plan, count, progress),
    );
    const scanned = await part(
      "bulk scans: search, validate, destination",
      arrived.length,
      (progress) => scan(world, arrived, count, progress),
    );
    const ordered = await part(
      "orders of a merchant",
      plan.orders.length,
      (progress) => order(world, plan, count, progress),
    );
    const parcels = [...scanned, ...ordered];
    const first = parcels.map(jobOf);
    const morning = await part(
      "first round: accepted, carried, ended",
      first.length,
      (progress) => round(world, first, count, progress),
    );
    await part(
      "stock received, picked, transferred",
      movementsOf(plan),
      (progress) => moveStock(world, plan, count, progress),
    );
    const back = morning.flatMap(({ takenIn }) => takenIn ?? []);
    await part(
      "parcels from the road taken in",
      back.length,
      (progress) => takeIn(world, back, count, progress),
    );
    const homewards = await sendBack(
      world,
      morning.filter(({ outcome, takenIn }) => takenIn && outcome === "refused"),
      count,
    );
    const staged = parcels.filter(({ plan }) => plan.kind === "staged");
    await part(
      "staged parcels sorted",
      staged.length,
      (progress) => sort(world, staged, count, progress),
    );
    await sendOn(world, staged.filter(({ plan }) => plan.outcome === "forwarded"), count);
    const out = staged.filter(({ plan }) => plan.outcome !== "forwarded");
    await part("staged parcels picked", out.length, (progress) => pickOut(world, out, progress));
    const shop = await openShop(world, plan, local);
    const sold = await part(
      "purchases: cash, wallet, card",
      plan.purchases.length,
      (progress) => sell(world, shop, plan, options, count, progress),
    );
    const second = [
      ...out.map((parcel) => outwards(parcel, plan.drivers)),
      ...homewards,
      ...sold.jobs,
    ];
    const afternoon = await part(
      "second round",
      second.length,
      (progress) => round(world, second, count, progress),
    );
    const finished: Finished[] = [...morning, ...afternoon];
    await part(
      "drivers settled their cash",
      world.drivers.length,
      (progress) => settleCash(world, finished, ["remit", "wallet"], count, progress),
    );
    await part("the merchant paid", 1, (progress) => payMerchant(world, count, progress));
    await part(
      "cash taken at the desk",
      world.drivers.length,
      (progress) => settleCash(world, finished, ["desk"], count, progress),
    );
    await stateMerchant(world);
    const expected = Object.values(count.events).reduce((sum, times) => sum + times, 0);
    if (subscriber) {
      await part("webhooks heard", expected, async (progress) => {
        await subscriber.drained(count.parcels, expected);
        for (const { delivery } of subscriber.heard.values()) {
          if (count.parcels.has(delivery)) progress.step();
        }
      });
    }
    const compared = await compare(world, count, sold.buyers, subscriber);
    const { answered: calls, repeated } = system;
    return {
      lines: compared.lines,
      differences: compared.differences,
      leftOut,
      calls,
      repeated,
    };
  } finally {
    await subscriber?.close();
  }
}

/** The first driver's steps with a parcel: the whole delivery, or the leg into the warehouse. */
function jobOf({ id, plan, legs: [into] }: Parcel): Job {
  const { driver, outcome, evening } = plan;
  if (plan.kind === "item") {
    const cash = { pickup: nothing, door: nothing };
    return {
      driver,
      delivery: id,
      parcel: id,
      outcome,
      evening,
      cash,
      handoff: false,
      payer: "institution",
    };
  }
  if (plan.kind === "door") {
    const job = { driver, delivery: id, parcel: id, outcome, evening, handoff: false };
    return { ...job, cash: cashOf(plan), owner: "merchant" };
  }
  const cash = { pickup: nothing, door: nothing };
  const job = { driver, delivery: into, parcel: id, evening, cash, handoff: false };
  return { ...job, outcome: "delivered", leg: "A" };
}

/** The way out of the warehouse, which the next driver takes. */
function outwards({ id, plan, legs: [, out] }: Parcel, drivers: number): Job {
  if (plan.kind !== "staged") throw new Error("only staged parcels have legs");
  const { outcome, evening } = plan;
  const job = { driver: (plan.driver + 1) % drivers, delivery: out, parcel: id };
  return {
    ...job,
    outcome,
    evening,
    cash: cashOf(plan),
    handoff: true,
    leg: "B",
    owner: "merchant",
  };
}

/** Cash under the terms of an order. */
function cashOf({ terms: { payer_type, payment_method, cod_amount } }: Order): Job["cash"] {
  const inCash = payment_method === "cash";
  return {
    pickup: { fee: inCash && payer_type === "sender", cod: 0 },
    door: { fee: inCash && payer_type === "receiver", cod: cod_amount },
  };
}
