/** Deliveries, those who carry them, and where they go and for what price. */
import { equip, newDeliveries } from "../../../support/assignments.ts";
import { sql } from "../../../support/db.ts";
import {
  deliveryIn,
  type Ground,
  handedTo,
  newGround,
  stagedInWarehouse,
} from "../../../support/deliveries.ts";
import { newPerson, saveSettings } from "../../../support/people.ts";
import { newService } from "../../../support/money.ts";
import type { Call, Calls, World } from "../call.ts";

const grounds = new WeakMap<object, Promise<Ground>>();

/** The ground of the world's tenant, made once. */
export function groundOf({ tenant }: World): Promise<Ground> {
  const known = grounds.get(tenant) ?? newGround(tenant);
  grounds.set(tenant, known);
  return known;
}

/** A delivery that stands as it has to. */
const given = (status: string, more: Record<string, unknown> = {}): Pick<Call, "before"> => ({
  before: async (world) => {
    const { id } = await deliveryIn(await groundOf(world), status, more);
    return { things: { delivery: id } };
  },
});

/** A parcel in the warehouse, and its leg out of it. */
const staged: Pick<Call, "before"> = {
  before: async (world) => {
    const { b } = await stagedInWarehouse(await groundOf(world));
    return { things: { delivery: b } };
  },
};

/** An amount that a driver requested. */
const amountRequested: Pick<Call, "before"> = {
  before: async (world) => {
    const { id } = await deliveryIn(await groundOf(world), "in_transit", { cod_amount: 25_000 });
    const { body } = await world.tenant.driver.post(`/delivery/deliveries/${id}/amount-changes`, {
      cod_amount: 20_000,
      reason: "The receiver found one box dented",
    });
    return { things: { delivery: id, amount_change: body.data.amount_change.id } };
  },
};

/** A return that a customer asked for and the office has to approve. */
const returnAsked: Pick<Call, "alone" | "before"> = {
  alone: "received",
  before: async (world) => {
    const { tenant } = world;
    const ground = await groundOf(world);
    await saveSettings(tenant.id, "general.delivery", {
      return_requests: { auto_approval: false },
    });
    await sql`update delivery.delivery_services set allow_returns = true where id = ${ground.service}`;
    const { id } = await deliveryIn(ground, "delivered");
    const { body } = await tenant.customer.post("/delivery/deliveries", {
      delivery_flow: "customer_return",
      original_delivery_id: id,
      delivery_service_id: ground.service,
      payer_type: "sender",
      payment_method: "cash",
      unit_size: 2,
    });
    return { things: { delivery: body.id } };
  },
};

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

const proof = {
  photo_urls: ["https://cdn.example.com/proofs/door.jpg"],
  signature_url: "https://cdn.example.com/proofs/signature.png",
  signed_by: "Sara Hadi",
};
const here = { latitude: 33.299, longitude: 44.427 };
const polygon = {
  type: "Polygon",
  coordinates: [[[44.4, 33.28], [44.46, 33.28], [44.46, 33.32], [44.4, 33.32], [44.4, 33.28]]],
};
const home = {
  title: { en: "Home", ar: "البيت", ku: "ماڵ" },
  full_address: "Karrada, Street 14, House 27",
  city: "Baghdad",
  country: "IQ",
  ...here,
  contact_info: { phone: "+9647701234567" },
};
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

export const deliveries: Calls = {
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
  "POST /delivery/deliveries": {
    body: ({ user, service, address }) => ({
      customer_id: user,
      delivery_service_id: service,
      pickup_address_id: address,
      delivery_location: home,
      payer_type: "receiver",
      payment_method: "cash",
      cod_amount: 25_000,
      unit_size: 2,
      recipient: { name: "Sara Hadi", phone: "+9647701234567" },
      external_reference_id: "ORDER-1042",
      notes: "Ring twice",
    }),
  },
  "PATCH /delivery/deliveries/:delivery_id": {
    ...given("pending"),
    body: () => ({
      recipient: { name: "Sara Hadi", phone: "+9647701234567" },
      notes: "Second floor",
    }),
  },
  "PUT /delivery/deliveries/:delivery_id": {
    ...given("draft"),
    body: () => ({ cod_amount: 30_000, notes: "Second floor" }),
  },
  "POST /delivery/deliveries/:delivery_id/submit": given("draft"),
  "POST /delivery/deliveries/:delivery_id/return-request/approve": returnAsked,
  "POST /delivery/deliveries/:delivery_id/return-request/decline": {
    ...returnAsked,
    body: () => ({ reason: "Worn, and older than 14 days" }),
  },
  "POST /delivery/deliveries/:delivery_id/redirect": {
    ...given("pending"),
    body: ({ address }) => ({
      dropoff_address_id: address,
      recipient: { name: "Sara Ahmad", phone: "+9647701234567" },
    }),
  },
  "POST /delivery/deliveries/:delivery_id/amount-changes": {
    ...given("in_transit", { cod_amount: 25_000 }),
    body: () => ({ cod_amount: 20_000, reason: "The receiver found one box dented" }),
  },
  "POST /delivery/deliveries/:delivery_id/amount-changes/:change_id/approve": amountRequested,
  "POST /delivery/deliveries/:delivery_id/amount-changes/:change_id/decline": {
    ...amountRequested,
    body: () => ({ reason: "The box was dented when it was sent" }),
  },
  "PATCH /delivery/deliveries/:delivery_id/carrier": {
    ...given("pending"),
    body: () => ({ carrier_type: "internal" }),
  },
  "POST /delivery/deliveries/:delivery_id/cancel": {
    ...given("pending"),
    body: () => ({ reason: "The customer ordered twice" }),
  },
  "POST /delivery/deliveries/:delivery_id/pickup": {
    ...given("accepted"),
    by: "driver",
    body: () => ({ proof, ...here }),
  },
  "POST /delivery/deliveries/:delivery_id/depart": {
    ...given("picked_up"),
    by: "driver",
    body: () => here,
  },
  "POST /delivery/deliveries/:delivery_id/complete": {
    ...given("in_transit", { cod_amount: 25_000 }),
    by: "driver",
    body: () => ({
      proof,
      cash_collected: { cod: 25_000, delivery_fee: 2_000 },
      recipient_name: "Sara Hadi",
      ...here,
    }),
  },
  "POST /delivery/deliveries/:delivery_id/fail": {
    ...given("in_transit"),
    by: "driver",
    body: () => ({ reason: "absent", notes: "Nobody opens, the telephone is off" }),
  },
  "POST /delivery/deliveries/:delivery_id/outcome": {
    ...given("in_transit"),
    by: "driver",
    body: () => ({
      result: "failed",
      reason_code: "no_answer",
      note: "Rang three times within ten minutes",
    }),
  },
  "POST /delivery/deliveries/:delivery_id/outcome/undo": {
    ...given("delivered"),
    by: "driver",
    body: () => ({ reason: "Reported for another parcel" }),
  },
  "POST /delivery/deliveries/:delivery_id/retry": {
    ...given("failed"),
    body: () => ({
      override_reason: "The shop pays for another attempt",
      notes: "Sara is at home after five",
    }),
  },
  "POST /delivery/deliveries/:delivery_id/return": {
    ...given("failed"),
    by: "driver",
    body: () => ({ reason: "refused" }),
  },
  "POST /delivery/deliveries/:delivery_id/proof-uploads": {
    ...given("in_transit"),
    by: "driver",
    body: () => ({ stage: "delivery", kind: "photo", content_type: "image/jpeg" }),
  },
  "POST /delivery/deliveries/:delivery_id/execute": staged,
  "POST /delivery/deliveries/:delivery_id/operational-return": {
    before: async (world) => {
      const { parent } = await stagedInWarehouse(await groundOf(world));
      return { things: { delivery: parent.id } };
    },
    body: () => ({ reason: "The shop wants it back" }),
  },
  "POST /delivery/deliveries/:delivery_id/exceptions": {
    ...given("in_transit"),
    by: "driver",
    body: () => ({ type: "damaged", notes: "The box got wet" }),
  },
  "POST /delivery/delivery-exceptions/:delivery_exception_id/resolve": {
    body: () => ({ resolution: "repacked", notes: "Nothing inside was broken" }),
  },
  "POST /delivery/handoffs/:handoff_id/pickup": {
    by: "driver",
    before: async (world) => {
      const ground = await groundOf(world);
      const { b } = await stagedInWarehouse(ground);
      return { things: { handoff: await handedTo(ground, b) } };
    },
    body: () => here,
  },
  "POST /delivery/addresses": { body: () => home },
  "POST /delivery/addresses/import": {
    body: () => ({ full_address: home.full_address, city: "Baghdad", country: "IQ", ...here }),
  },
  "PATCH /delivery/addresses/:address_id": {
    body: () => ({ full_address: "Karrada, Street 14, House 29", ...here }),
  },
  "POST /delivery/zones": { body: ({ tag }) => ({ name: "Jadriya", polygon, tag_ids: [tag] }) },
  "PATCH /delivery/zones/:zone_id": { body: ({ tag }) => ({ name: "Karrada", tag_ids: [tag] }) },
  "POST /delivery/zone-tags": { body: () => ({ name: "Evening round" }) },
  "POST /delivery/services": {
    body: ({ delivery_type, zone }) => ({
      name: { en: "Express", ar: "سريع", ku: "خێرا" },
      code: "EXPRESS",
      service_level: "express",
      delivery_type_id: delivery_type,
      unit_min: 1,
      unit_max: 10,
      default_price: 3_000,
      estimated_delivery_time_min: 2,
      estimated_delivery_time_max: 6,
      allowed_delivery_attempts: 3,
      zone_access_mode: "select_zones",
      zone_selector_type: "zone",
      zone_ids: [zone],
    }),
  },
  "PUT /delivery/services/:serviceId": {
    body: () => ({ default_price: 1_000, allowed_delivery_attempts: 3 }),
  },
  "DELETE /delivery/services/:serviceId": {
    before: async ({ tenant }) => ({ things: { service: await newService(tenant) } }),
  },
  "GET /delivery/price": {
    query: ({ service }) => ({ delivery_service_id: service, units: "2" }),
  },
  "POST /delivery/price": {
    body: ({ service }) => ({
      delivery_service_id: service,
      pickup_location: { latitude: 33.315, longitude: 44.343 },
      delivery_location: here,
      unit_size: 2,
    }),
  },
  "POST /delivery/delivery-types": {
    body: () => ({ code: "cold", name: { en: "Cold chain", ar: "مبرّد", ku: "سارد" } }),
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
  "POST /delivery/shipment-labels": {
    body: ({ delivery_code }) => ({ delivery_codes: [delivery_code] }),
  },
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
