/** Requests of parcels that a carrier has, and of its cash. */
import { external, signedBy } from "../../../support/carriers.ts";
import type { Requests } from "./ask.ts";

export const carrierRequests: Requests<
  "consign" | "book" | "unbook" | "tell" | "carrierPays" | "unpayCarrier" | "bank"
> = {
  consign: (op, { ops, ids }) =>
    ops(
      `/delivery/deliveries/${ids[op.name]}/carrier`,
      op.external ? external : { carrier_type: "internal" },
      "PATCH",
    ),
  book: (op, { ops, ids, place }) =>
    ops(`/carriers/shipments/${ids[op.name]}`, { carrier_code: place.carrier.code }),
  unbook: (op, { ops, ids }) => ops(`/carriers/shipments/${ids[op.name]}/cancel`, undefined),
  // Carriers have no token: the signature is the proof.
  tell(op, { by, place: { id, carrier }, ids }) {
    const body = {
      event_id: `${id} ${op.id}`,
      tracking_number: ids[`number of ${op.name}`],
      status: op.report,
    };
    const signature = signedBy(carrier.secret, JSON.stringify(body));
    return {
      ...by("", `/carriers/webhooks/${carrier.code}/${id}`, body),
      headers: { "x-carrier-signature": signature },
    };
  },
  carrierPays: (op, { admin, place, ids }) =>
    admin(`/carriers/tenant/${place.carrier.code}/remittances`, {
      amount: op.amount,
      ...(op.charges ? { charges: op.charges } : {}),
      currency: "IQD",
      reference: op.id,
      ...(op.lost ? { kind: "write_off", notes: "model" } : {}),
      ...(op.rows === "oldest"
        ? {}
        : { delivery_ids: op.rows.map((row) => ids[row.replace(/ carrier$/, "")]) }),
    }),
  unpayCarrier: (op, { admin, place, ids }) =>
    admin(`/carriers/tenant/${place.carrier.code}/remittances/${ids[op.payment]}/reverse`, {
      reason: "model",
    }),
  bank: (op, { admin }) =>
    admin("/delivery/cash-desks/transfers", {
      kind: "bank_deposit",
      from_owner_type: "tenant",
      amount: op.amount,
    }),
};
