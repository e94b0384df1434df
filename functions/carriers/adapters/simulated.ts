/**
 * A carrier that exists nowhere, for trying things out: it books at once, under numbers that follow from the
 * delivery's. The login id `refuse` makes it refuse, `silent` makes it not answer.
 */
import { z } from "zod";
import { ExactInstant } from "../../../shared/schemas/schemas.ts";
import { type Adapter, CarrierSilent, refused } from "./adapter.ts";

const Body = z.object({
  event_id: z.string().min(1).max(200),
  tracking_number: z.string().max(100),
  status: z.string().max(100),
  occurred_at: ExactInstant.optional(),
});

// deno-lint-ignore require-await
async function obey(login: string | undefined): Promise<void> {
  if (login === "refuse") throw refused("asked to refuse");
  if (login === "silent") throw new CarrierSilent("asked to be silent");
}

export const simulated: Adapter = {
  code: "simulated",
  async bookShipment(parcel, reference, { login_id }) {
    await obey(login_id);
    return { tracking_number: `SIM-${parcel.delivery_code}`, carrier_reference: reference };
  },
  // A booking that it did not answer it has not made.
  async findShipment(_reference, { login_id }) {
    await obey(login_id);
    return null;
  },
  async cancelShipment(_shipment, { login_id }) {
    await obey(login_id);
    return true;
  },
  signature: { header: "x-carrier-signature", prefix: "" },
  parseWebhook(body) {
    const { event_id, tracking_number, status, occurred_at } = Body.parse(body);
    return { event_id, tracking_number, carrier_status: status, occurred_at };
  },
  statusMap: {
    picked_up: "picked_up",
    in_transit: "in_transit",
    delivered: "delivered",
    failed: "failed",
    returned: "returned",
    cancelled: "cancelled",
  },
};
