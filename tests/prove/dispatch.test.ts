/**
 * Random histories of dispatch: orders that find their drivers, refusals, silence, assignments by hand, offers that are replaced or
 * withdrawn, drivers whose duty begins and ends, parcels that are carried to their end. Two things happen at once at each step.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Answer, Person } from "../support/api.ts";
import { newSearching, onDuty, runSearches } from "../support/auto-assignment.ts";
import { sql } from "../support/db.ts";
import { type Ground, newDelivery } from "../support/deliveries.ts";
import { figure, of, say, seed } from "./proof.ts";

const steps = of({ brief: 40, test: 200, short: 600, full: 5_000 });
const [crew, room, mostPending] = [5, 6, 20];

const kinds = [
  ...["order", "order", "accept", "accept", "reject", "silence", "carry", "carry"] as const,
  ...["hand", "replace", "withdraw", "duty", "cancel"] as const,
];
type Kind = typeof kinds[number];
interface Draw {
  kind: Kind;
  one: number;
  other: number;
}
const draw = fc.record({
  kind: fc.constantFrom(...kinds),
  one: fc.nat({ max: 10_000 }),
  other: fc.nat({ max: 10_000 }),
});

test(`random histories of ${steps} steps (seed ${seed})`, async () => {
  const ground = await newSearching({
    max_retry_attempts: 3,
    priority_checks: { driver_online: true },
  });
  const drivers: Person[] = [];
  for (let n = 0; n < crew; n++) {
    drivers.push(await onDuty(ground.tenant, { capacity: room }));
  }
  const world = new Dispatch(ground, drivers);
  const drawn = fc.sample(fc.tuple(draw, draw), { seed, numRuns: steps });
  for (const [at, both] of drawn.entries()) {
    await Promise.all(both.map((one) => world.do(one)));
    await runSearches(ground.tenant);
    expect(await world.breaches(), `step ${at}: ${JSON.stringify(both)}`).toEqual([]);
    if (at % 100 === 99) say(`${at + 1} of ${steps} steps`);
  }
  const counts = Object.entries(world.done).map(([kind, n]) => `${kind} ${n}`).join(", ");
  say(`done: ${counts}`);
  const never = kinds.filter((kind) => !world.done[kind]);
  figure({
    what: `steps of two calls at once, every rule of dispatch asked after each: ${counts}`,
    asked: `at least ${steps}, every kind done`,
    reached: steps,
    holds: never.length === 0,
  });
  expect(never).toEqual([]);
}, of({ test: 300_000, short: 600_000, full: 3_600_000 }));

test("a delivery that nobody looks after is named", async () => {
  const ground = await newSearching({ priority_checks: { driver_online: true } });
  const world = new Dispatch(ground, []);
  const { id } = await newDelivery(ground);
  expect(await world.breaches()).toEqual([]);
  await sql`update delivery.driver_searches set status = 'off', next_attempt_at = null where delivery_id = ${id}`;
  expect(await world.breaches()).toEqual([`${id} is pending, and nobody looks for a driver`]);
  await sql`update delivery.driver_searches set status = 'offered', next_attempt_at = now() where delivery_id = ${id}`;
  expect(await world.breaches()).toContain(`${id} is offered, and its assignment is none`);
});

class Dispatch {
  readonly done: Partial<Record<Kind, number>> = {};
  /** Deliveries that the office took into its hands: nobody need search for them. */
  #ofTheOffice = new Set<string>();

  constructor(private readonly ground: Ground, private readonly drivers: Person[]) {}

  async do({ kind, one, other }: Draw): Promise<void> {
    const answer = await this[kind](one, this.drivers[other % this.drivers.length]!);
    if (!answer) return;
    expect(answer.status, `${kind}: ${JSON.stringify(answer.body)}`).toBeLessThan(500);
    if (answer.status < 300) this.done[kind] = (this.done[kind] ?? 0) + 1;
  }

  async order(): Promise<Answer | undefined> {
    if ((await this.#pending()).length >= mostPending) return;
    await newDelivery(this.ground);
    this.done.order = (this.done.order ?? 0) + 1;
  }

  accept = (n: number) => this.#answer(n, "accepted");
  reject = (n: number) => this.#answer(n, "rejected");

  /** The time for an answer is over. */
  async silence(n: number): Promise<undefined> {
    const offer = pick(await this.#open("pending"), n);
    if (!offer) return;
    const found =
      await sql`update delivery.driver_searches set next_attempt_at = now() - interval '1 second'
      where delivery_id = ${offer.delivery_id} and status = 'offered' returning 1`;
    if (found.length) this.done.silence = (this.done.silence ?? 0) + 1;
  }

  /** The driver who accepted brings a parcel to its end. */
  async carry(n: number): Promise<Answer | undefined> {
    const mine = pick(await this.#open("accepted"), n);
    if (!mine) return;
    const driver = this.drivers.find(({ id }) => id === mine.driver_id)!;
    const path = `/delivery/deliveries/${mine.delivery_id}`;
    const taken = await driver.post(`${path}/pickup`, {});
    return taken.status === 200 ? await driver.post(`${path}/complete`, {}) : taken;
  }

  hand = async (n: number, driver: Person) => this.#byHand(pick(await this.#pending(), n), driver);

  replace = async (n: number, driver: Person) =>
    this.#byHand(pick(await this.#open("pending"), n)?.delivery_id, driver, true);

  async withdraw(n: number): Promise<Answer | undefined> {
    const taken = pick([...await this.#open("pending"), ...await this.#open("accepted")], n);
    if (!taken) return;
    this.#ofTheOffice.add(taken.delivery_id);
    return await this.ground.tenant.ops.post(`/delivery/assignments/${taken.id}/unassign`, {});
  }

  duty = (n: number, driver: Person) =>
    driver.post("/delivery/drivers/me/duty", { on_duty: n % 3 !== 0, keep_parcels: true });

  async cancel(n: number): Promise<Answer | undefined> {
    const id = pick(await this.#pending(), n);
    if (!id) return;
    return await this.ground.tenant.ops.post(`/delivery/deliveries/${id}/cancel`, { reason: "No" });
  }

  async #answer(n: number, status: "accepted" | "rejected"): Promise<Answer | undefined> {
    const offer = pick(await this.#open("pending"), n);
    const driver = this.drivers.find(({ id }) => id === offer?.driver_id);
    return await driver?.put(`/delivery/assignments/${offer!.id}`, { status });
  }

  async #byHand(
    delivery: string | undefined,
    driver: Person,
    replace_offer = false,
  ): Promise<Answer | undefined> {
    if (!delivery) return;
    this.#ofTheOffice.add(delivery);
    return await this.ground.tenant.ops.post("/delivery/assignments", {
      delivery_id: delivery,
      driver_id: driver.id,
      ...(replace_offer ? { replace_offer } : {}),
    });
  }

  async #pending(): Promise<string[]> {
    const rows = await sql`select id from delivery.deliveries
      where tenant_id = ${this.ground.tenant.id} and status = 'pending' order by delivery_code`;
    return rows.map(({ id }) => id);
  }

  async #open(status: string) {
    return await sql<{ id: string; delivery_id: string; driver_id: string }[]>`
      select id, delivery_id, driver_id from delivery.assignments
      where tenant_id = ${this.ground.tenant.id} and status = ${status} order by assignment_time, id`;
  }

  /** Every rule of dispatch that does not hold now, as a sentence with what breaks it. */
  async breaches(): Promise<string[]> {
    const tenant = this.ground.tenant.id;
    const found = await sql<{ what: string }[]>`
      with open as (
        select * from delivery.assignments where tenant_id = ${tenant} and status in ('pending', 'assigned', 'accepted'))
      select 'two drivers for ' || o.delivery_id as what from open o group by o.delivery_id having count(*) > 1
      union all
      select 'the load of ' || d.user_id || ' is not the sum of what is assigned' from delivery.drivers d
      where d.tenant_id = ${tenant} and not exists (
        select from (select coalesce(sum(o.units), 0) as units, count(*) as stops from open o where o.driver_id = d.user_id) l
        where l.units = d.capacity_used and l.stops = d.live_stops)
      union all
      select 'too much for ' || d.user_id from delivery.drivers d
      join delivery.vehicles v on v.tenant_id = d.tenant_id and v.id = d.vehicle_id
      where d.tenant_id = ${tenant} and d.capacity_used > v.unit_capacity
      union all
      select d.id || ' is pending, and nobody looks for a driver' from delivery.deliveries d
      left join delivery.driver_searches s on s.tenant_id = d.tenant_id and s.delivery_id = d.id
      where d.tenant_id = ${tenant} and d.status = 'pending' and coalesce(s.status, 'off') not in ('searching', 'failed')
        and d.id <> all (${[...this.#ofTheOffice]}::uuid[])
      union all
      select s.delivery_id || ' is ' || s.status || ', and its assignment is ' || coalesce(o.status, 'none')
      from delivery.driver_searches s left join open o on o.delivery_id = s.delivery_id
      where s.tenant_id = ${tenant} and ((s.status = 'offered' and o.status is distinct from 'pending')
        or (s.status in ('searching', 'failed') and o.id is not null))
      union all
      select s.delivery_id || ' was offered again to a driver who declined' from delivery.driver_searches s
      join open o on o.delivery_id = s.delivery_id
      where s.tenant_id = ${tenant} and s.status = 'offered' and o.driver_id = any (s.declined)`;
    return found.map(({ what }) => what);
  }
}

const pick = <T>(list: readonly T[], n: number): T | undefined => list[n % (list.length || 1)];
