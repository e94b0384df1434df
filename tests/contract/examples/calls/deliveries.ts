/** Deliveries, those who carry them, and where they go and for what price. */
import { sql } from "../../../support/db.ts";
import {
  deliveryIn,
  type Ground,
  handedTo,
  moves,
  newGround,
  stagedInWarehouse,
} from "../../../support/deliveries.ts";
import { dayIn } from "../../../support/outcomes.ts";
import { saveSettings } from "../../../support/people.ts";
import { answerBy, offerTracking, tokenOf } from "../../../support/tracking.ts";
import type { Call, Calls, World } from "../call.ts";
import { here, home } from "./services.ts";

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

/** A parcel that its recipient may follow, and the token of its link. */
const tracked: Pick<Call, "before"> = {
  before: async (world) => {
    const ground = await groundOf(world);
    await offerTracking(ground);
    const { id } = await deliveryIn(ground, "in_transit", { cod_amount: 25_000 });
    return { things: { delivery: id, tracking: await tokenOf(world.tenant.ops, id) } };
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

const proof = {
  photo_urls: ["https://cdn.example.com/proofs/door.jpg"],
  signature_url: "https://cdn.example.com/proofs/signature.png",
  signed_by: "Sara Hadi",
};

export const deliveries: Calls = {
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
  "POST /delivery/tracking-links": {
    ...tracked,
    body: ({ delivery }) => ({ delivery_ids: [delivery] }),
  },
  "DELETE /delivery/tracking-links/:delivery_id": tracked,
  "GET /delivery/public/tracking/:token": {
    ...tracked,
    by: "nobody",
    params: ({ tracking }) => ({ token: String(tracking) }),
  },
  "POST /delivery/public/tracking/:token/answer": {
    ...tracked,
    by: "nobody",
    params: ({ tracking }) => ({ token: String(tracking) }),
    body: () => ({
      wanted_day: dayIn(3),
      note: "Second floor, ring twice",
      location: { latitude: 36.1911, longitude: 44.0091 },
    }),
  },
  "GET /delivery/recipient-answers": {
    before: async (world) => {
      const made = await tracked.before!(world);
      await answerBy(String(made.things!.tracking), {
        wanted_day: dayIn(3),
        note: "Second floor, ring twice",
      });
      return made;
    },
    query: ({ delivery }) => ({ delivery_id: String(delivery) }),
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
  "POST /delivery/deliveries/imports/:import_id/cancel": {
    alone: "draft",
    body: () => ({ reason: "The file of yesterday" }),
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
  "POST /delivery/deliveries/:delivery_id/pickup/undo": {
    ...given("picked_up"),
    by: "driver",
    body: () => ({ reason: "Tapped the parcel beside it" }),
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
  "POST /delivery/deliveries/:delivery_id/execute/undo": {
    before: async (world) => {
      const { b } = await stagedInWarehouse(await groundOf(world));
      await moves(world.tenant.ops, b, "execute");
      return { things: { delivery: b } };
    },
    body: () => ({ reason: "It goes by waybill" }),
  },
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
  "POST /delivery/shipment-labels": {
    body: ({ delivery_code }) => ({ delivery_codes: [delivery_code] }),
  },
};
