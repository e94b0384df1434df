/** The rounds: parcels are assigned in bulk, accepted, and each is brought to the end that the plan has for it. */
import { done, type Person } from "./barid.ts";
import type { Count } from "./count.ts";
import { isAtDoor, reportAtDoor } from "./door.ts";
import type { World } from "./people.ts";
import type { Evening, Outcome } from "./plan.ts";
import { each, type Progress } from "./progress.ts";

/** One driver's steps with one delivery. */
export interface Job {
  driver: number;
  /** The driver's delivery: a parcel, or a leg of one. */
  delivery: string;
  /** The parcel, which has the price and the COD of its legs. */
  parcel: string;
  outcome: Outcome;
  evening: Evening;
  /** The cash due at pickup and at drop-off; "fee" stands for the charged price. */
  cash: { pickup: Due; door: Due };
  /** Out of the warehouse the driver takes it over by its handoff. */
  handoff: boolean;
  /** A leg into the warehouse: nobody gets it, subscribers hear only that the parcel moves. */
  leg?: "A" | "B";
  /** The driver whose parcel this return brings back to its sender: from then on it is `returned`. */
  backOf?: number;
  /** Whose wallet paid the fee, and whose gets the COD. */
  payer?: "institution";
  owner?: "merchant";
  /** An order of the store: what is collected for it has its fee in it. */
  isOfStore?: true;
}
export interface Due {
  fee: boolean;
  cod: number;
}
export const nothing: Due = { fee: false, cod: 0 };

/** A job that came to its end. */
export interface Finished extends Job {
  /** The receiving order by which the warehouse takes in a parcel that was not delivered. */
  takenIn?: string;
}

/** Every driver gets the parcels with one assignment, accepts it, and carries them one after the other. */
export async function round(
  world: World,
  jobs: Job[],
  count: Count,
  progress: Progress,
): Promise<Finished[]> {
  const finished = await each(world.drivers, async (driver, n) => {
    const mine = jobs.filter((job) => job.driver === n);
    for (let from = 0; from < mine.length; from += 1_000) {
      await assign(world, driver, mine.slice(from, from + 1_000), count);
    }
    const ended: Finished[] = [];
    for (const job of mine) {
      ended.push(await carry(world, driver, job, count));
      progress.step();
    }
    return ended;
  });
  return finished.flat();
}

async function assign(world: World, driver: Person, jobs: Job[], count: Count): Promise<void> {
  if (!jobs.length) return;
  const made = await done(world.admin.barid.POST("/delivery/assignments/bulk", {
    body: { driver_id: driver.id, delivery_ids: jobs.map(({ delivery }) => delivery) },
  }));
  if (!("bulk_assignment_id" in made)) throw new Error("asked, not assigned");
  const { updated_count } = await done(
    driver.barid.PUT("/delivery/assignments/bulk/{bulkAssignmentId}", {
      params: { path: { bulkAssignmentId: made.bulk_assignment_id } },
      body: { status: "accepted" },
    }),
  );
  count.numbers.assignments += updated_count;
}

async function carry(world: World, driver: Person, job: Job, count: Count): Promise<Finished> {
  const at = { params: { path: { delivery_id: job.delivery } } };
  const { barid } = driver;
  const figures = count.driver(driver.id);
  // Legs show in their parcel, which moves when it is picked up first and ends with the last leg.
  const heard = (type: string) => job.leg === undefined && count.heard(`delivery.${type}`);

  if (job.outcome === "cancelled") {
    const { delivery, refunded } = await done(
      world.dispatcher.barid.POST("/delivery/deliveries/{delivery_id}/cancel", {
        ...at,
        body: { reason: "The customer called it off" },
      }),
    );
    if (job.payer && !refunded) count.wallets[job.payer] -= delivery.delivery_fee;
    heard("cancelled");
    figures.ended++;
    return job;
  }

  // The cash due of a staged parcel is stored on the parent, which drivers of its legs do not see.
  const reader = job.leg ? world.dispatcher : driver;
  const { delivery } = await done(reader.barid.GET("/delivery/deliveries/{delivery_id}", {
    params: { path: { delivery_id: job.parcel } },
  }));
  const price = delivery.delivery_fee;
  const due = ({ fee, cod }: Due) => ({ cod, delivery_fee: fee ? price : 0 });
  const sum = (one: Due) => one.cod + (one.fee ? price : 0);

  if (job.handoff) {
    const { data: [waiting] } = await done(barid.GET("/delivery/handoffs", {
      params: { query: { delivery_id: job.delivery, status: "pending" } },
    }));
    await done(barid.POST("/delivery/handoffs/{handoff_id}/pickup", {
      params: { path: { handoff_id: waiting.id } },
      body: {},
    }));
  } else {
    await done(barid.POST("/delivery/deliveries/{delivery_id}/pickup", {
      ...at,
      body: { cash_collected: due(job.cash.pickup) },
    }));
  }
  count.took(driver.id, sum(job.cash.pickup));
  await done(barid.POST("/delivery/deliveries/{delivery_id}/depart", { ...at, body: {} }));
  if (job.payer) count.wallets[job.payer] -= price;

  if (isAtDoor(job.outcome)) {
    const reported = { ...job, outcome: job.outcome };
    const { cod, taken } = await reportAtDoor(driver, reported, count, due(job.cash.door));
    if (job.outcome === "postponed") {
      figures.ended++;
      return job;
    }
    if (job.outcome !== "refused") {
      count.took(driver.id, taken);
      if (job.owner) count.wallets[job.owner] += cod;
      figures.ended++;
      figures.delivered++;
      figures.value += price + cod;
      return job;
    }
  }
  if (job.outcome === "retried" || job.outcome === "returned") {
    await done(barid.POST("/delivery/deliveries/{delivery_id}/fail", {
      ...at,
      body: { reason: job.outcome === "retried" ? "recipient_absent" : "refused" },
    }));
    heard("failed");
  }
  if (job.outcome === "returned" || job.outcome === "refused") {
    // The warehouse is a stop: there it waits for tomorrow, or is sent back.
    const { receiving_order_id } = await done(
      barid.POST("/delivery/deliveries/{delivery_id}/return", {
        ...at,
        body: { reason: "refused", warehouse_id: world.main.id },
      }),
    );
    return { ...job, takenIn: receiving_order_id! };
  }
  if (job.outcome === "retried") {
    await done(barid.POST("/delivery/deliveries/{delivery_id}/retry", { ...at, body: {} }));
  }
  await done(barid.POST("/delivery/deliveries/{delivery_id}/complete", {
    ...at,
    body: { cash_collected: due(job.cash.door), recipient_name: "كرار عباس" },
  }));
  count.took(driver.id, sum(job.cash.door));
  if (job.owner) count.wallets[job.owner] += job.cash.door.cod;
  if (job.leg) figures.legs++;
  // A parcel in legs counts for the driver who brings its last leg to the door.
  if (job.leg !== "A") {
    figures.ended++;
    figures.delivered++;
    const { cod_amount } = delivery;
    figures.value += job.isOfStore && cod_amount ? cod_amount : price + cod_amount;
    if (job.backOf === undefined) count.heard("delivery.delivered");
    else {
      count.heard("delivery.returned");
      count.driver(world.drivers[job.backOf].id).ended++;
    }
  }
  return job;
}
