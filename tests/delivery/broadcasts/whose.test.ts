/** delivery.status names the driver whom the delivery's own page names once the change is committed. */
import { beforeAll, expect, test } from "vitest";
import type { Answer, Person } from "../../support/api.ts";
import { handOver } from "../../support/assignments.ts";
import {
  driverOf,
  newSearching,
  onDuty,
  ordered,
  timePasses,
} from "../../support/auto-assignment.ts";
import { sql } from "../../support/db.ts";
import { type Ground, moves, newDelivery, newGround } from "../../support/deliveries.ts";
import { undo } from "../../support/outcomes.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { boardOf, driverTopic, pushesTo, statusPushes } from "../../support/pushes.ts";

let tenant: Tenant;
let ground: Ground;
beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});

const give = async (delivery: string, driver: Person): Promise<string> => {
  const answer = await tenant.dispatcher.post("/delivery/assignments", {
    delivery_id: delivery,
    driver_id: driver.id,
  });
  expect(answer).toSucceed(201);
  return answer.body.id;
};
const answered = (driver: Person, id: string, status: string): Promise<Answer> =>
  driver.put(`/delivery/assignments/${id}`, { status });
/** Status and driver of each push about a delivery. */
const told = async (topic: string, delivery: string) =>
  (await statusPushes(topic, delivery)).map(({ status, driver_id }) => [status, driver_id]);
const board = (delivery: string) => told(boardOf(tenant), delivery);

test("who was given it, and nobody once it was refused or withdrawn", async () => {
  const { id } = await newDelivery(ground);
  const { driver, driver2 } = tenant;
  const first = await give(id, driver);
  expect(await answered(driver, first, "rejected")).toSucceed(200);
  const second = await give(id, driver2);
  expect(await answered(driver2, second, "accepted")).toSucceed(200);
  expect(await tenant.ops.post(`/delivery/assignments/${second}/unassign`)).toSucceed(200);
  const life = [
    ["pending", null],
    ["assigned", driver.id],
    ["pending", null],
    ["assigned", driver2.id],
    ["accepted", driver2.id],
    ["pending", null],
  ];
  expect(await board(id)).toEqual(life);
  // A driver hears of what was theirs, and that it is theirs no more.
  expect(await told(driverTopic(driver), id)).toEqual(life.slice(1, 3));
  expect(await told(driverTopic(driver2), id)).toEqual(life.slice(3));
});

test("who delivered it, and who has it again once that is undone", async () => {
  const { id } = await newDelivery(ground);
  const { driver } = tenant;
  expect(await answered(driver, await give(id, driver), "accepted")).toSucceed(200);
  await moves(driver, id, "pickup", "depart", "complete");
  expect(await undo(tenant.ops, id)).toSucceed(200);
  const end = [["delivered", driver.id], ["in_transit", driver.id]];
  expect((await board(id)).slice(-2)).toEqual(end);
  expect((await told(driverTopic(driver), id)).slice(-2)).toEqual(end);
  expect((await tenant.ops.get(`/delivery/deliveries/${id}`)).body.delivery.assignment.driver_id)
    .toBe(driver.id);
});

test("the new driver of what is handed over, whom both hear of", async () => {
  const { id } = await newDelivery(ground);
  const { driver, driver2 } = tenant;
  expect(await answered(driver, await give(id, driver), "accepted")).toSucceed(200);
  const before = (await board(id)).length;
  expect(await handOver(tenant.ops, driver, driver2, [id])).toSucceed(201);
  const now = (await board(id)).slice(before);
  expect(now).toEqual([["pending", driver2.id], ["assigned", driver2.id]]);
  expect((await told(driverTopic(driver), id)).at(-1)).toEqual(now[0]);
  expect(await told(driverTopic(driver2), id)).toEqual(now);
});

test("nobody, when an offer lapses", async () => {
  const searching = await newSearching();
  const driver = await onDuty(searching.tenant);
  const { id } = await ordered(searching);
  expect(await driverOf(id)).toBe(driver.id);
  await timePasses(searching.tenant, id);
  const life = [["pending", null], ["assigned", driver.id], ["pending", null]];
  expect((await told(boardOf(searching.tenant), id)).slice(0, 3)).toEqual(life);
  expect((await told(driverTopic(driver), id)).slice(0, 2)).toEqual(life.slice(1));
});

test("deliveries that one call moves come in one message, and nothing is left behind", async () => {
  const made = [await newDelivery(ground), await newDelivery(ground), await newDelivery(ground)];
  const messages = async () =>
    (await pushesTo(boardOf(tenant), "delivery.status")).filter(({ deliveries }) =>
      deliveries.some(({ id, status }: { id: string; status: string }) =>
        status === "assigned" && made.some((one) => one.id === id)
      )
    );
  const answer = await tenant.dispatcher.post("/delivery/assignments/bulk", {
    driver_id: tenant.driver.id,
    delivery_ids: made.map(({ id }) => id),
  });
  expect(answer).toSucceed(201);
  expect((await messages()).map(({ deliveries }) => deliveries.length)).toEqual([3]);
  expect(await sql`select from delivery.status_broadcasts`).toHaveLength(0);
});
