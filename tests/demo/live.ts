/** `npm run demo -- --live`: drivers carry parcels through a town while the office watches; everything by the API, in real time. */
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { done, type Person, System } from "./barid.ts";
import { LiveBoard } from "./live-board.ts";
import type { DemoOptions } from "./options.ts";
import { hire, peopleOf, settle, type World } from "./people.ts";
import { each, progressOf } from "./progress.ts";
import { draw } from "./random.ts";

interface Point {
  latitude: number;
  longitude: number;
}

interface Parcel {
  id: string;
  from: Point;
  to: Point;
}

/** Kilometres an hour through a town, stops at lights included. */
const kmPerHour = 30;
/** Seconds between two reports of a position; an app on the road would wait as long as the answer says. */
const reportSeconds = 2;

export interface LiveEnded {
  ordered: number;
  delivered: number;
  km: number;
  positions: number;
  /** The board after the last parcel: nothing may be left on it. */
  stopsLeft: number;
  heard: number;
}

/** Hires drivers, orders parcels for each, and moves them until all are delivered. */
export async function driveLive(options: DemoOptions): Promise<LiveEnded> {
  const system = new System(options.url, options.key, `live-${Date.now().toString(36)}`);
  const part = progressOf(options.quiet);
  const plan = { drivers: options.drivers, goods: [] };
  const people = await part(
    "people hired",
    peopleOf(plan),
    (progress) => hire(system, options, plan, progress),
  );
  const world = await settle(system, people, plan);
  const routes = draw(options.seed, "live", parcelsOfADriver(options), options.drivers);
  const parcels = await part(
    "parcels ordered and assigned",
    routes.length,
    (progress) =>
      each(routes, async (route, n) => {
        const made = await Promise.all(route.map((ends) => orderOne(world, ends)));
        await give(world, world.drivers[n]!, made);
        progress.step();
        return made;
      }),
  );

  const board = await LiveBoard.open(world, options.quiet);
  try {
    const ways = await Promise.all(
      world.drivers.map((driver, n) => drive(driver, parcels[n]!, options.speed)),
    );
    await sleep(1_500);
    const sum = (of: (way: Way) => number) => ways.reduce((total, way) => total + of(way), 0);
    return {
      ordered: parcels.flat().length,
      delivered: sum(({ delivered }) => delivered),
      km: sum(({ km }) => km),
      positions: sum(({ positions }) => positions),
      ...await board.read(),
    };
  } finally {
    await board.close();
  }
}

/** Places of a town some 12 km across, as pairs of where a parcel is fetched and where it goes. */
function parcelsOfADriver({ deliveries, drivers }: DemoOptions): fc.Arbitrary<[Point, Point][]> {
  const point = fc.record({
    latitude: fc.double({ min: 33.26, max: 33.37, noNaN: true }),
    longitude: fc.double({ min: 44.3, max: 44.44, noNaN: true }),
  });
  const length = Math.max(1, Math.round(deliveries / drivers));
  return fc.array(fc.tuple(point, point), { minLength: length, maxLength: length });
}

async function orderOne({ merchant, service }: World, [from, to]: [Point, Point]): Promise<Parcel> {
  const place = (at: Point) => ({ ...at, full_address: "Baghdad", city: "Baghdad" });
  const { delivery } = await done(merchant.barid.POST("/delivery/deliveries", {
    body: {
      delivery_service_id: service,
      pickup_location: place(from),
      delivery_location: place(to),
      payer_type: "receiver",
      payment_method: "cash",
      unit_size: 1,
      recipient: { name: "سارة علي", phone: "+9647701234567" },
    },
  }));
  return { id: delivery.id, from, to };
}

async function give({ dispatcher }: World, driver: Person, parcels: Parcel[]): Promise<void> {
  const made = await done(dispatcher.barid.POST("/delivery/assignments/bulk", {
    body: { driver_id: driver.id, delivery_ids: parcels.map(({ id }) => id) },
  }));
  if (!("bulk_assignment_id" in made)) throw new Error("asked, not assigned");
  await done(driver.barid.PUT("/delivery/assignments/bulk/{bulkAssignmentId}", {
    params: { path: { bulkAssignmentId: made.bulk_assignment_id } },
    body: { status: "accepted" },
  }));
}

interface Way {
  delivered: number;
  km: number;
  positions: number;
}

/** One driver's day: on duty, from stop to stop, off duty. */
async function drive(driver: Person, parcels: Parcel[], speed: number): Promise<Way> {
  const way: Way = { delivered: 0, km: 0, positions: 0 };
  const { barid } = driver;
  await done(barid.POST("/delivery/drivers/me/duty", { body: { on_duty: true } }));
  let at = parcels[0]!.from;
  for (const { id, from, to } of parcels) {
    const path = { params: { path: { delivery_id: id } } };
    at = await travel(driver, at, from, speed, way);
    await done(
      barid.POST("/delivery/deliveries/{delivery_id}/pickup", { ...path, body: here(at) }),
    );
    await done(
      barid.POST("/delivery/deliveries/{delivery_id}/depart", { ...path, body: here(at) }),
    );
    at = await travel(driver, at, to, speed, way);
    await done(barid.POST("/delivery/deliveries/{delivery_id}/complete", {
      ...path,
      body: here(at),
    }));
    way.delivered++;
  }
  await done(barid.POST("/delivery/drivers/me/duty", { body: { on_duty: false } }));
  return way;
}

const here = (at: Point) => ({ ...at, occurred_at: new Date().toISOString() });

/** Moves along the straight line and reports on the way; answers the end of it. */
async function travel(
  driver: Person,
  from: Point,
  to: Point,
  speed: number,
  way: Way,
): Promise<Point> {
  const km = kmBetween(from, to);
  const steps = Math.ceil(km / ((kmPerHour * speed * reportSeconds) / 3600));
  for (let step = 1; step <= steps; step++) {
    await sleep(reportSeconds * 1000);
    const part = step / steps;
    const { data } = await done(driver.barid.POST("/delivery/drivers/me/positions", {
      body: {
        positions: [{
          latitude: from.latitude + (to.latitude - from.latitude) * part,
          longitude: from.longitude + (to.longitude - from.longitude) * part,
          recorded_at: new Date().toISOString(),
          speed_kmh: kmPerHour,
        }],
      },
    }));
    way.positions += data.accepted;
  }
  way.km += km;
  return to;
}

/** On a town's scale a degree of latitude is 111.2 km, one of longitude less by the cosine. */
function kmBetween(from: Point, to: Point): number {
  const north = (to.latitude - from.latitude) * 111.2;
  const east = (to.longitude - from.longitude) * 111.2 * Math.cos((from.latitude * Math.PI) / 180);
  return Math.hypot(north, east);
}
