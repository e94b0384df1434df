/** Requests of parcels on the road. */
import type { Of } from "../ops.ts";
import type { Names, Requests } from "./ask.ts";

export const parcelRequests: Requests<
  "step" | "outcome" | "undo" | "undoPickup" | "changeAmount" | "redirect" | "handOver" | "confirm"
> = {
  step(op, { place, ids, by }) {
    const handoff = ids[`handoff of ${op.name}`];
    return by(
      place.drivers[op.driver].token,
      op.what === "pickup" && handoff
        ? `/delivery/handoffs/${handoff}/pickup`
        : `/delivery/deliveries/${ids[op.name]}/${op.what}`,
      op.what === "fail"
        ? { reason: "absent" }
        : op.what === "complete" && ids[`proof of ${op.name}`]
        ? { proof: { photo_urls: [ids[`proof of ${op.name}`]] } }
        : {},
    );
  },
  outcome(op, { place, ids, by }) {
    return by(
      place.drivers[op.driver].token,
      `/delivery/deliveries/${ids[op.name]}/outcome`,
      { result: op.result, ...reported(op, ids) },
    );
  },
  undo(op, { place, ids, by }) {
    return by(
      op.driver === null ? place.ops.token : place.drivers[op.driver].token,
      `/delivery/deliveries/${ids[op.name]}/outcome/undo`,
      { reason: "model" },
    );
  },
  undoPickup(op, { place, ids, by }) {
    return by(
      op.driver === null ? place.ops.token : place.drivers[op.driver].token,
      `/delivery/deliveries/${ids[op.name]}/pickup/undo`,
      { reason: "model" },
    );
  },
  changeAmount(op, { place, ids, owners, by }) {
    return by(
      op.byOwner ? owners[op.name] : place.ops.token,
      `/delivery/deliveries/${ids[op.name]}/amount-changes`,
      {
        cod_amount: op.cod,
        reason: "model",
        ...(op.part
          ? { kept_items: [{ delivery_item_id: ids[`item of ${op.name}`], quantity: 1 }] }
          : {}),
      },
    );
  },
  redirect(op, { place, ids, places, by }) {
    return by(place.ops.token, `/delivery/deliveries/${ids[op.name]}/redirect`, {
      dropoff_address_id: op.place === "home" ? ids[`home of ${op.name}`] : places[op.place],
      ...(op.charge ? { charge: "wallet" } : {}),
    });
  },
  handOver(op, { place, ids, by }) {
    return by(
      place.ops.token,
      `/delivery/assignments/driver/${place.drivers[op.from].id}/hand-over`,
      { to_driver_id: place.drivers[op.to].id, delivery_ids: [ids[op.name]] },
    );
  },
  confirm(op, { place, ids, by }) {
    return by(
      place.drivers[op.to].token,
      `/delivery/assignments/bulk/${ids[op.hand]}`,
      { status: op.accept ? "accepted" : "rejected" },
      "PUT",
    );
  },
};

/** The fields of a result at the door. */
function reported({ name, result }: Of<"outcome">, ids: Names["ids"]) {
  switch (result) {
    case "partial":
      return { items: [{ delivery_item_id: ids[`item of ${name}`], quantity: 1 }] };
    case "exchanged":
      return { taken_back: [{ name: "Other thing", quantity: 1 }] };
    case "refused":
      return { reason_code: "refused" };
    case "postponed":
      return {
        reason_code: "postponed",
        postponed_to: new Date(Date.now() + 3 * 86_400_000).toISOString().slice(0, 10),
      };
  }
}
