/** Where and when a driver's device says that a step happened. */
import { beforeAll, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import {
  assign,
  type Ground,
  move,
  newDelivery,
  newGround,
  path,
} from "../../support/deliveries.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let ground: Ground;
beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});

const ago = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();
const historyOf = async (id: string) =>
  (await tenant.ops.get(`${path}/${id}`)).body.delivery.history as {
    to_status: string;
    place: { latitude: number; longitude: number; distance_m: number } | null;
    occurred_at: string | null;
  }[];

test("every step keeps them in the history, with the distance to where it should be", async () => {
  const { id } = await newDelivery(ground);
  await assign(tenant, id);
  // A thousandth of a degree of latitude is 111 metres.
  const beside = { latitude: 33.311, longitude: 44.36 };
  const at = ago(1);
  for (
    const [step, body] of [
      ["pickup", { ...beside, occurred_at: at }],
      ["depart", beside],
      ["fail", { reason: "absent", ...beside, occurred_at: at }],
      ["retry", { override_reason: "called", ...beside, occurred_at: at }],
      ["return", { ...beside, occurred_at: at }],
    ] as const
  ) {
    const person = step === "retry" ? tenant.ops : tenant.driver;
    expect(await move(person, id, step, body), step).toSucceed(200);
  }
  const steps = (await historyOf(id)).slice(2);
  expect(steps.map(({ to_status }) => to_status)).toEqual([
    "picked_up",
    "in_transit",
    "failed",
    "in_transit",
    "returned",
  ]);
  for (const { place, to_status } of steps) {
    expect(place, to_status).toMatchObject(beside);
    expect(Math.round(place!.distance_m), to_status).toBe(111);
  }
  expect(steps.map(({ occurred_at }) => occurred_at && Date.parse(occurred_at)))
    .toEqual([Date.parse(at), null, Date.parse(at), Date.parse(at), Date.parse(at)]);
});

test("a completion keeps them, and nothing is shown where nothing was said", async () => {
  const { id } = await newDelivery(ground);
  await assign(tenant, id);
  await move(tenant.driver, id, "pickup");
  expect(await move(tenant.driver, id, "complete", { latitude: 33.31, longitude: 44.36 }))
    .toSucceed(200);
  const [taken, done] = (await historyOf(id)).slice(-2);
  expect(taken).toMatchObject({ place: null, occurred_at: null });
  expect(done!.place).toEqual({ latitude: 33.31, longitude: 44.36, distance_m: 0 });
});

test("the distance is that to the place of the step, whatever status it leads to", async () => {
  const way = await newGround(await newTenant());
  const { tenant: who, from, to } = way;
  const [here, there] = [{ latitude: 33.3, longitude: 44.3 }, { latitude: 33.4, longitude: 44.3 }];
  await sql`update delivery.addresses set ${sql(here)} where id = ${from}`;
  await sql`update delivery.addresses set ${sql(there)} where id = ${to}`;
  await saveSettings(who.id, "delivery.attempts", { after_last: "return" });
  const { id } = await newDelivery(way);
  await assign(who, id);
  expect(await move(who.driver, id, "pickup", here)).toSucceed(200);
  expect(await move(who.driver, id, "depart", here)).toSucceed(200);
  const refused = { result: "refused", reason_code: "refused", ...there };
  const outcome = await who.driver.post(`${path}/${id}/outcome`, refused);
  expect(outcome).toSucceed(200);
  const { body } = await who.ops.get(`${path}/${id}`);
  const rows = body.delivery.history.filter(({ place }: { place: unknown }) => place);
  expect(rows.map((row: Body) => [row.to_status, Math.round(row.place.distance_m)])).toEqual([
    ["picked_up", 0],
    ["in_transit", 0],
    ["returned", 0],
  ]);
});

test("a time too long ago or ahead, and half a place, are refused and change nothing", async () => {
  const { id } = await newDelivery(ground);
  await assign(tenant, id);
  for (const occurred_at of [ago(73), ago(-0.1)]) {
    const answer = await move(tenant.driver, id, "pickup", { occurred_at });
    expect(answer).toFailWith(400, "invalid_occurred_at");
    expect(answer.body.field).toBe("occurred_at");
    expect(Math.abs(Date.parse(answer.body.server_time) - Date.now())).toBeLessThan(60_000);
    expect(answer.body.message).toMatch(
      occurred_at < ago(0) ? /at most 72 hours ago/ : /is ahead of the server's .*: set the time/,
    );
  }
  expect((await move(tenant.driver, id, "pickup", { latitude: 33 })).body.field).toBe("longitude");
  expect((await historyOf(id)).at(-1)!.to_status).toBe("accepted");
  expect(await move(tenant.driver, id, "pickup", { occurred_at: ago(71) })).toSucceed(200);
});
