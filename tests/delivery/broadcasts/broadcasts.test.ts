/** Messages that boards and drivers' apps hear at once, through the real client on private channels. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../../local/support.ts";
import { equip, newDriver } from "../../support/assignments.ts";
import { listen, type Listener, tokenOf } from "../../support/channels.ts";
import { sql } from "../../support/db.ts";
import { type Ground, moves, newDelivery, newGround } from "../../support/deliveries.ts";
import { newSystemAdmin, newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let other: Tenant;
let ground: Ground;
const listeners: Listener[] = [];
const boardOf = (of: Tenant) => `tenant:${of.id}:board`;
const listening = async (topic: string, person: { id: string }, of: Tenant = tenant) => {
  const listener = await listen(topic, await tokenOf(person, of));
  listeners.push(listener);
  return listener;
};

beforeAll(async () => {
  [tenant, other] = [await newTenant(), await newTenant()];
  ground = await newGround(tenant);
});
afterAll(() => Promise.all(listeners.map(({ app }) => app.removeAllChannels())));

describe("who may listen", () => {
  test("to a board: the office of that company and nobody else", async () => {
    for (const person of [tenant.admin, tenant.ops, tenant.dispatcher]) {
      await listening(boardOf(tenant), person);
    }
    const outsiders = [
      tenant.driver,
      tenant.customer,
      tenant.institution,
      tenant.warehouse,
      tenant.staff,
    ];
    for (const person of outsiders) {
      await expect(listening(boardOf(tenant), person)).rejects.toThrow("do not have permissions");
    }
    await expect(listening(boardOf(tenant), other.dispatcher, other)).rejects.toThrow(
      "permissions",
    );
    // A token that names the tenant makes nobody its member.
    await expect(listening(boardOf(tenant), other.dispatcher)).rejects.toThrow("permissions");
  });

  test("to a driver's topic: that driver and the office", async () => {
    const topic = `driver:${tenant.driver.id}`;
    await listening(topic, tenant.driver);
    await listening(topic, tenant.dispatcher);
    for (const person of [tenant.driver2, tenant.customer, tenant.warehouse]) {
      await expect(listening(topic, person)).rejects.toThrow("permissions");
    }
    await expect(listening(topic, other.admin, other)).rejects.toThrow("permissions");
  });

  test("a driver of two companies is heard by neither office, and by that driver", async () => {
    const driver = await newDriver(tenant);
    const topic = `driver:${driver.id}`;
    await listening(topic, tenant.dispatcher);
    await sql`insert into tenancy.tenant_users (tenant_id, user_id, tenant_user_type)
      values (${other.id}, ${driver.id}, 'driver')`;
    await equip(other, driver.id);
    await expect(listening(topic, tenant.dispatcher)).rejects.toThrow("permissions");
    await listening(topic, driver);
    // Once they have left one, the office of the other hears them, and that one does not.
    expect(await driver.post(`/tenants/${tenant.id}/leave`)).toSucceed(200);
    await listening(topic, other.dispatcher, other);
    await expect(listening(topic, tenant.dispatcher)).rejects.toThrow("permissions");
  });

  test("not by another company's office while a driver has parcels of one that shut them out", async () => {
    const driver = await newDriver(tenant);
    const topic = `driver:${driver.id}`;
    await sql`insert into tenancy.tenant_users (tenant_id, user_id, tenant_user_type)
      values (${other.id}, ${driver.id}, 'driver')`;
    await equip(other, driver.id);
    const { id: delivery_id } = await newDelivery(ground);
    const given = await tenant.dispatcher.post("/delivery/assignments", {
      delivery_id,
      driver_id: driver.id,
    });
    expect(given).toSucceed(201);
    const shut = await tenant.admin.put(`/tenants/${tenant.id}/users/${driver.id}`, {
      is_active: false,
    });
    expect(shut).toSucceed(200);
    await expect(listening(topic, other.dispatcher, other)).rejects.toThrow("permissions");
    const taken = await tenant.ops.post(`/delivery/assignments/${given.body.id}/unassign`);
    expect(taken).toSucceed(200);
    await listening(topic, other.dispatcher, other);
  });

  test("to nothing else, and not without a role that still holds", async () => {
    for (
      const topic of [`tenant:${tenant.id}`, "board", `driver:${randomUUID()}`, "tenant:x:board"]
    ) {
      await expect(listening(topic, tenant.admin)).rejects.toThrow("permissions");
    }
    await listening(boardOf(tenant), await newSystemAdmin());
    const dispatcher = tenant.dispatcher;
    await sql`update tenancy.tenant_users set is_active = false
      where tenant_id = ${tenant.id} and user_id = ${dispatcher.id}`;
    await expect(listening(boardOf(tenant), dispatcher)).rejects.toThrow("permissions");
    await sql`update tenancy.tenant_users set is_active = true
      where tenant_id = ${tenant.id} and user_id = ${dispatcher.id}`;
  });

  test("nobody sends there", async () => {
    const [one, two] = [
      await listening(boardOf(tenant), tenant.ops),
      await listening(boardOf(tenant), tenant.dispatcher),
    ];
    await one.app.getChannels()[0]!.send({
      type: "broadcast",
      event: "delivery.status",
      payload: {},
    });
    await tenant.driver.post("/delivery/drivers/me/duty", { on_duty: true });
    await until(() => two.of("driver.duty").length > 0);
    expect(two.of("delivery.status")).toEqual([]);
  });
});

test("that a driver works no more, or again, is heard on the board and by that driver, on duty or not", async () => {
  const driver = await newDriver(tenant);
  const board = await listening(boardOf(tenant), tenant.dispatcher);
  const own = await listening(`driver:${driver.id}`, driver);
  const change = (status: string) => tenant.ops.patch(`/delivery/drivers/${driver.id}`, { status });
  for (const status of ["inactive", "inactive", "active"]) {
    expect(await change(status)).toSucceed(200);
  }
  const sent = [{ status: "inactive" }, { status: "active" }]
    .map((one) => ({ driver_id: driver.id, ...one }));
  for (const listener of [board, own]) {
    await until(() => listener.of("driver.status").length >= sent.length);
    expect(listener.of("driver.status")).toEqual(sent);
  }
});

test("a delivery's life is heard on the board and by its driver, with ids, status and place alone", async () => {
  const board = await listening(boardOf(tenant), tenant.dispatcher);
  const driver = await listening(`driver:${tenant.driver.id}`, tenant.driver);
  const bystander = await listening(`driver:${tenant.driver2.id}`, tenant.driver2);
  const made = await newDelivery(ground);
  const assigned = await tenant.dispatcher.post("/delivery/assignments", {
    delivery_id: made.id,
    driver_id: tenant.driver.id,
  });
  expect(assigned).toSucceed(201);
  await tenant.driver.put(`/delivery/assignments/${assigned.body.id}`, { status: "accepted" });
  await moves(tenant.driver, made.id, "pickup", "depart", "complete");
  const statuses = (of: Listener) =>
    of.of("delivery.status").flatMap(({ deliveries }) => deliveries)
      .filter(({ id }: { id: string }) => id === made.id);
  const work = () => board.of("assignment.changed").flatMap(({ assignments }) => assignments);
  // Each listener has a connection of its own, and hears when its messages come.
  await until(() =>
    statuses(board).length >= 6 && work().length >= 3 &&
    statuses(driver).length >= 5 && driver.of("assignment.changed").length >= 3
  );
  expect(statuses(board).map(({ status }: { status: string }) => status)).toEqual([
    "pending",
    "assigned",
    "accepted",
    "picked_up",
    "in_transit",
    "delivered",
  ]);
  expect(statuses(board)[3]).toEqual({
    id: made.id,
    delivery_code: made.delivery_code,
    parent_id: null,
    status: "picked_up",
    from_status: "accepted",
    driver_id: tenant.driver.id,
    place: { kind: "dropoff", latitude: 33.31, longitude: 44.36 },
  });
  expect(statuses(driver).map(({ status }: { status: string }) => status)).toEqual([
    "assigned",
    "accepted",
    "picked_up",
    "in_transit",
    "delivered",
  ]);
  expect(work().map(({ status }: { status: string }) => status)).toEqual([
    "pending",
    "accepted",
    "completed",
  ]);
  expect(Object.keys(work()[0]).sort()).toEqual([
    "delivery_id",
    "driver_id",
    "id",
    "sequence_number",
    "status",
  ]);
  expect(driver.of("assignment.changed").length).toBe(3);
  expect(bystander.heard).toEqual([]);
  expect(JSON.stringify([...board.heard, ...driver.heard])).not.toMatch(/Recipient|Street|\+964/);
});

test("positions come to the board together, and to a driver's own topic not at every step", async () => {
  const board = await listening(boardOf(tenant), tenant.dispatcher);
  const drivers = [await newDriver(tenant), await newDriver(tenant), await newDriver(tenant)];
  const own = await listening(`driver:${drivers[0]!.id}`, drivers[0]!);
  for (const driver of drivers) {
    await driver.post("/delivery/drivers/me/duty", { on_duty: true });
  }
  const report = (latitude: number) =>
    Promise.all(drivers.map((driver) =>
      driver.post("/delivery/drivers/me/positions", {
        positions: [{ latitude, longitude: 44.4, recorded_at: new Date().toISOString() }],
      })
    ));
  for (const latitude of [33.1, 33.2, 33.3]) {
    for (const answer of await report(latitude)) expect(answer).toSucceed(202);
  }
  // The last word on each of them arrives, although it came within the same second as others.
  const latest = (id: string) =>
    board.of("driver.positions").flatMap(({ positions }) => positions)
      .filter(({ driver_id }: { driver_id: string }) => driver_id === id).at(-1)?.latitude;
  await until(() => drivers.every(({ id }) => latest(id) === 33.3), 10_000);
  await until(() => own.of("driver.positions").length > 0);
  expect(own.of("driver.positions").length).toBe(1);
  expect(Object.keys(own.of("driver.positions")[0].positions[0]).sort()).toEqual([
    "accuracy_m",
    "driver_id",
    "latitude",
    "longitude",
    "recorded_at",
  ]);
});

test("a broadcast that cannot be sent fails no write", async () => {
  const driver = await newDriver(tenant);
  await sql.begin(async (tx) => {
    await tx.unsafe("alter function realtime.send(jsonb, text, text, boolean) rename to send_away");
    await tx`select set_config('app.tenant_id', ${tenant.id}, true)`;
    await tx`select delivery.driver_broadcast(${driver.id}, 'driver.duty', '{}')`;
    await tx.unsafe("alter function realtime.send_away(jsonb, text, text, boolean) rename to send");
  });
});
