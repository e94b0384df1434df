/** Nobody waits for the answer of a driver who is made inactive or goes off duty: the next one is asked at once. */
import { beforeEach, describe, expect, test } from "vitest";
import type { Person } from "../../support/api.ts";
import { newDriver } from "../../support/assignments.ts";
import {
  auto,
  driverOf,
  newSearching,
  onDuty,
  ordered,
  runSearches,
  searchOf,
} from "../../support/auto-assignment.ts";
import { sql } from "../../support/db.ts";
import { type Ground, path } from "../../support/deliveries.ts";
import { jobsDone } from "../../support/jobs.ts";

let ground: Ground;
let drivers: Person[];
let asked: Person;
let other: Person;
let id: string;
beforeEach(async () => {
  ground = await newSearching();
  drivers = [await onDuty(ground.tenant), await onDuty(ground.tenant)];
  ({ id } = await ordered(ground));
  const first = await driverOf(id);
  asked = drivers.find((driver) => driver.id === first)!;
  other = drivers.find((driver) => driver.id !== first)!;
});

const rest = (who: Person, status = "inactive") =>
  ground.tenant.ops.patch(`/delivery/drivers/${who.id}`, { status });
const offers = () =>
  sql`select driver_id, status, response_reason from delivery.assignments
    where delivery_id = ${id} order by assignment_time, id`;

test("of one who is given a rest", async () => {
  expect(await rest(asked)).toSucceed(200);
  await jobsDone(ground.tenant.id);
  expect(await offers()).toMatchObject([
    { driver_id: asked.id, status: "returned", response_reason: "driver_inactive" },
    { driver_id: other.id, status: "pending" },
  ]);
  expect(await searchOf(ground.tenant, id)).toMatchObject({ status: "offered", attempts: 2 });
  const notices = await sql`select type from tenancy.notifications
    where user_id = ${asked.id} and type = 'assignment_returned'`;
  expect(notices).toHaveLength(1);
});

test.each([
  ["shut out", () =>
    ground.tenant.admin.put(`/tenants/${ground.tenant.id}/users/${asked.id}`, {
      is_active: false,
    })],
  ["gone", () => asked.post(`/tenants/${ground.tenant.id}/leave`)],
])("of one who is %s", async (_how, go) => {
  expect(await go()).toSucceed(200);
  await runSearches(ground.tenant);
  expect(await driverOf(id)).toBe(other.id);
});

test("who works again later is asked again, since they said no to nothing", async () => {
  await rest(other);
  await rest(asked);
  await jobsDone(ground.tenant.id);
  expect(await driverOf(id)).toBeNull();
  await rest(asked, "active");
  await sql`update delivery.driver_searches set next_attempt_at = now() where delivery_id = ${id}`;
  await runSearches(ground.tenant);
  expect(await driverOf(id)).toBe(asked.id);
});

test("what was assigned by hand, or accepted, stays for the office", async () => {
  const [{ id: offer }] = await sql`select id from delivery.assignments where delivery_id = ${id}`;
  expect(await asked.put(`/delivery/assignments/${offer}`, { status: "accepted" })).toSucceed(200);
  const third = await newDriver(ground.tenant);
  await rest(other);
  const made = await ordered(ground);
  await sql`update delivery.driver_searches set status = 'off', next_attempt_at = null
    where delivery_id = ${made.id}`;
  const hand = await driverOf(made.id);
  await rest(asked);
  await rest(third);
  await jobsDone(ground.tenant.id);
  expect(await driverOf(id)).toBe(asked.id);
  expect(await driverOf(made.id)).toBe(hand);
  expect(await ground.tenant.ops.get(`${path}/${made.id}`)).toSucceed(200);
});

describe("of one who goes off duty", () => {
  const goOff = (who: Person) => who.post("/delivery/drivers/me/duty", { on_duty: false });
  const goOn = (who: Person) => who.post("/delivery/drivers/me/duty", { on_duty: true });
  const onlyOnDuty = (driver_online: boolean) =>
    auto(ground.tenant, { priority_checks: { driver_online } });

  test("the next is asked at once where only those on duty are asked; back on duty, they may be asked again", async () => {
    await onlyOnDuty(true);
    expect(await goOff(asked)).toSucceed(200);
    await jobsDone(ground.tenant.id);
    expect(await offers()).toMatchObject([
      { driver_id: asked.id, status: "returned", response_reason: "driver_off_duty" },
      { driver_id: other.id, status: "pending" },
    ]);
    expect(await goOn(asked)).toSucceed(200);
    expect(await goOff(other)).toSucceed(200);
    await jobsDone(ground.tenant.id);
    expect(await driverOf(id)).toBe(asked.id);
  });

  test("it waits as before where others are asked as well", async () => {
    await onlyOnDuty(false);
    expect(await goOff(asked)).toSucceed(200);
    await jobsDone(ground.tenant.id);
    expect(await offers()).toMatchObject([{ driver_id: asked.id, status: "pending" }]);
  });
});
