/** Drivers, their vehicles and positions, and the assignments of deliveries. */
import { equip, newDeliveries } from "../../../support/assignments.ts";
import { newPerson, saveSettings } from "../../../support/people.ts";
import type { Call, Calls } from "../call.ts";
import { here } from "./services.ts";

/** An assignment of a driver that the world's other calls leave alone, still to be accepted or accepted. */
const assigned = (status: "pending" | "accepted", count = 1): Pick<Call, "before"> => ({
  before: async (world) => {
    const { tenant } = world;
    const driver = await newPerson(tenant.id, "driver", "driver");
    await equip(tenant, driver.id);
    const ids = await newDeliveries(tenant, count);
    const answer = await tenant.ops.post("/delivery/assignments/bulk", {
      driver_id: driver.id,
      delivery_ids: ids,
    });
    const { assignment_ids, bulk_assignment_id } = answer.body;
    if (status === "accepted") {
      for (const id of assignment_ids) {
        await driver.put(`/delivery/assignments/${id}`, { status });
      }
    }
    return {
      tenant: { ...tenant, driver },
      things: { driver: driver.id, assignment: assignment_ids[0], bulk: bulk_assignment_id },
    };
  },
});
const waits: Pick<Call, "before"> = {
  before: async ({ tenant, things }) => {
    await equip(tenant, String(things.driver2));
    return {
      things: { driver: things.driver2 as string, delivery: (await newDeliveries(tenant, 1))[0]! },
    };
  },
};

/** A driver who may choose, and something to choose. */
const choosing: Pick<Call, "alone" | "before"> = {
  alone: "draft",
  before: async ({ tenant }) => {
    await saveSettings(tenant.id, "general.driver", { driver_can_self_assign: true });
    const driver = await newPerson(tenant.id, "driver", "driver");
    await equip(tenant, driver.id);
    await driver.post("/delivery/drivers/me/duty", { on_duty: true });
    await driver.post("/delivery/drivers/me/positions", { positions: [position()] });
    const [delivery] = await newDeliveries(tenant, 1);
    return { tenant: { ...tenant, driver }, things: { driver: driver.id, delivery } };
  },
};

/** A driver on duty. */
const onDuty: Pick<Call, "before"> = {
  before: async ({ tenant }) => {
    await tenant.driver.post("/delivery/drivers/me/duty", { on_duty: true });
    await tenant.driver.post("/delivery/drivers/me/positions", { positions: [position()] });
    return {};
  },
};
const position = () => ({
  ...here,
  recorded_at: new Date(Date.now() - 1_000).toISOString(),
  accuracy_m: 8,
  speed_kmh: 32,
  heading: 270,
  battery_percent: 81,
});

export const drivers: Calls = {
  "POST /delivery/drivers/me/duty": { by: "driver", body: () => ({ on_duty: true }) },
  "POST /delivery/drivers/me/positions": {
    ...onDuty,
    by: "driver",
    body: () => ({ positions: [position()] }),
  },
  "GET /delivery/drivers/:driver_id/positions": onDuty,
  "GET /delivery/board": onDuty,
  "POST /delivery/deliveries/:delivery_id/auto-assign": {
    before: async (world) => ({
      ...await onDuty.before!(world),
      ...await waits.before!(world),
    }),
    body: () => ({ dry_run: true }),
  },
  "POST /delivery/drivers": {
    before: async ({ tenant }) => ({
      things: { driver: (await newPerson(tenant.id, "driver", "driver")).id },
    }),
    body: ({ driver, zone }) => ({
      user_id: driver,
      all_zones: false,
      zone_ids: [zone],
    }),
  },
  "PATCH /delivery/drivers/:driver_id": { body: ({ zone }) => ({ zone_ids: [zone] }) },
  "POST /delivery/vehicles": { body: () => ({ name: "Motorcycle", unit_capacity: 15 }) },
  "PATCH /delivery/vehicles/:vehicle_id": { body: () => ({ unit_capacity: 120 }) },
  "GET /delivery/assignments/open": { ...choosing, by: "driver" },
  "POST /delivery/assignments/self": {
    ...choosing,
    by: "driver",
    body: ({ delivery }) => ({ delivery_ids: [delivery] }),
  },
  "POST /delivery/assignments": {
    ...waits,
    body: ({ delivery, driver }) => ({
      delivery_id: delivery,
      driver_id: driver,
      notes: "Before noon",
    }),
  },
  "POST /delivery/assignments/bulk": {
    ...waits,
    body: ({ delivery, driver }) => ({ driver_id: driver, delivery_ids: [delivery] }),
  },
  "PUT /delivery/assignments/bulk/:bulkAssignmentId": {
    ...assigned("pending", 2),
    by: "driver",
    body: () => ({ status: "accepted" }),
  },
  "PUT /delivery/assignments/:assignmentId": {
    ...assigned("pending"),
    by: "driver",
    body: () => ({ status: "rejected", reason: "The van is full" }),
  },
  "POST /delivery/assignments/:assignmentId/unassign": {
    ...assigned("pending"),
    body: () => ({ reason: "Another driver is closer" }),
  },
  "POST /delivery/assignments/driver/:driverId/hand-over": {
    ...assigned("accepted"),
    body: ({ driver2 }) => ({ to_driver_id: driver2 }),
  },
  "PUT /delivery/assignments/driver/:driverId/sequence": {
    ...assigned("accepted"),
    body: ({ assignment }) => ({
      assignments: [{ assignment_id: assignment, sequence_number: 1 }],
    }),
  },
  "GET /delivery/assignments/:driverId/sequence": assigned("accepted", 2),
  "POST /delivery/assignments/driver/:driverId/sequence/suggest": {
    ...assigned("accepted", 2),
    body: () => here,
  },
  "POST /delivery/driver-performance/rebuild": { body: () => ({ year: 2026, month: 1 }) },
};
