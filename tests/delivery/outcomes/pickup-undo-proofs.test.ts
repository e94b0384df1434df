/** Proofs of a pickup that was undone: they prove no later one. */
import { beforeEach, expect, test } from "vitest";
import {
  assign,
  deliveryIn,
  type Ground,
  move,
  moves,
  newGround,
  path,
} from "../../support/deliveries.ts";
import { sql } from "../../support/db.ts";
import { photoOf } from "../../support/outcomes.ts";
import { queuedOn } from "../../support/overlapping.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let ground: Ground;
beforeEach(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
  await saveSettings(tenant.id, "delivery.proof_settings", { pickup: { photo_required: true } });
});

const parcel = async () => (await deliveryIn(ground, "accepted")).id as string;
const undoPickup = (id: string) =>
  tenant.ops.post(`${path}/${id}/pickup/undo`, { reason: "Wrong parcel" });
const photos = async (id: string) =>
  (await tenant.ops.get(`${path}/${id}`)).body.delivery.proofs
    .filter(({ stage }: { stage: string }) => stage === "pickup").length;

test.each([["picked_up", []], ["in_transit", ["depart"]]])(
  "undone from %s: the photo of the wrong parcel stays, and the next driver needs one of their own",
  async (_, departed) => {
    const id = await parcel();
    const proof = await photoOf(tenant.driver, id);
    await moves(tenant.driver, id, ["pickup", { proof }], ...departed);
    expect(await undoPickup(id)).toSucceed(200);
    const [held] = await sql`select id from delivery.assignments where delivery_id = ${id}`;
    expect(await tenant.ops.post(`/delivery/assignments/${held.id}/unassign`, {}))
      .toSucceed(200);
    await assign(tenant, id, tenant.driver2);
    const refused = await move(tenant.driver2, id, "pickup");
    expect(refused).toFailWith(400, "delivery_proof_required");
    expect(refused.body.missing).toEqual(["photo"]);
    const own = await photoOf(tenant.driver2, id);
    expect(await move(tenant.driver2, id, "pickup", { proof: own })).toSucceed(200);
    expect(await photos(id)).toBe(2);
  },
);

test("the same picture may prove the next pickup of the same driver", async () => {
  const id = await parcel();
  const proof = await photoOf(tenant.driver, id);
  for (let life = 1; life <= 2; life++) {
    expect(await move(tenant.driver, id, "pickup")).toFailWith(400, "delivery_proof_required");
    expect(await move(tenant.driver, id, "pickup", { proof })).toSucceed(200);
    expect(await photos(id)).toBe(life);
    expect(await undoPickup(id)).toSucceed(200);
  }
});

test("a pickup that waits for the undo of the one before is proven by its own photo", async () => {
  const id = await parcel();
  const proof = await photoOf(tenant.driver, id);
  await moves(tenant.driver, id, ["pickup", { proof }]);
  const own = await photoOf(tenant.driver, id);
  const [undone, next] = await queuedOn(id, [
    () => undoPickup(id),
    () => move(tenant.driver, id, "pickup", { proof: own }),
  ]);
  expect(undone).toSucceed(200);
  expect(next).toSucceed(200);
});
