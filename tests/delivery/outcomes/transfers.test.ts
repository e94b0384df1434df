/** Parcels that a driver brings to another warehouse: they continue from there, which is no outcome to undo. */
import { beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { assign, move, moves, path } from "../../support/deliveries.ts";
import { failed, photoOf, report, sound, undo } from "../../support/outcomes.ts";
import { newTransferring, type Transferring } from "../../support/package-transfers.ts";
import { newPackage, whereIs } from "../../support/packages.ts";
import { saveSettings } from "../../support/people.ts";
import { transferNoted } from "../../support/send-back.ts";

let { tenant, yard } = {} as Transferring;
beforeAll(async () => {
  ({ tenant, yard } = await newTransferring());
});

/** On its way to the second warehouse with the driver. */
async function transferring(): Promise<string> {
  const parcel = await newPackage(yard, { cod_amount: 5000 });
  await transferNoted(yard, parcel.barcode);
  await assign(tenant, parcel.id);
  await moves(tenant.driver, parcel.id, "pickup", "depart");
  return parcel.id;
}
const outcomesOf = async (id: string) =>
  (await sql`select result from delivery.outcomes where delivery_id = ${id} order by id`)
    .map(({ result }) => result);
/** The results that subscribers heard of. */
const announced = async (id: string) =>
  (await sql`select event_data ->> 'result' as result from integration.system_events
    where entity_id = ${id} and event_type = 'delivery.outcome' order by position`)
    .map(({ result }) => result);

test("reported as delivered it waits there, and there is nothing to undo", async () => {
  const id = await transferring();
  const done = await report(tenant.driver, id, { result: "delivered" });
  expect(done).toSucceed(200);
  expect(done.body.data).toMatchObject({ undo_until: null, returns: [] });
  expect(await whereIs(id)).toMatchObject({ status: "pending", at: yard.there });
  expect(await outcomesOf(id)).toEqual([]);
  expect(await announced(id)).toEqual([]);
  expect(await undo(tenant.ops, id)).toFailWith(409, "no_outcome_to_undo");
  await sound(tenant);
});

test("an attempt before it says nothing of it", async () => {
  const id = await transferring();
  const first = await report(tenant.driver, id, failed);
  expect(first).toSucceed(200);
  expect(first.body.data.undo_until).toEqual(expect.any(String));
  await moves(tenant.driver, id, "retry");
  const done = await report(tenant.driver, id, { result: "delivered" });
  expect(done).toSucceed(200);
  expect(done.body.data.undo_until).toBeNull();
  expect(await whereIs(id)).toMatchObject({ status: "pending", at: yard.there });
  expect(await outcomesOf(id)).toEqual(["failed"]);
  expect(await announced(id)).toEqual(["failed"]);
  expect(await undo(tenant.ops, id)).toFailWith(409, "outcome_went_on");
  await sound(tenant);
});

test("a photo of the warehouse is none of the door", async () => {
  const own = await newTransferring();
  await saveSettings(own.tenant.id, "delivery.proof_settings", {
    delivery: { photo_required: true },
  });
  const { driver, driver2 } = own.tenant;
  const { id, barcode } = await newPackage(own.yard, { cod_amount: 5000 });
  await transferNoted(own.yard, barcode);
  await assign(own.tenant, id);
  await moves(driver, id, "pickup", "depart");
  const proof = await photoOf(driver, id);
  await moves(driver, id, ["complete", { proof }]);
  expect(await whereIs(id)).toMatchObject({ status: "pending", at: own.yard.there });
  await assign(own.tenant, id, driver2);
  await moves(driver2, id, "pickup", "depart");
  expect(await move(driver2, id, "complete")).toFailWith(400, "delivery_proof_required");
  const mine = await photoOf(driver2, id);
  expect(await move(driver2, id, "complete", { proof: mine })).toSucceed(200);
  const { proofs } = (await own.tenant.ops.get(`${path}/${id}`)).body.delivery;
  expect(proofs.map(({ stage }: { stage: string }) => stage)).toEqual(["attempt", "delivery"]);
  await sound(own.tenant);
});
