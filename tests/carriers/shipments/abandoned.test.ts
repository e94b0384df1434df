/** Bookings that never came back: nobody knows whether the carrier has them, and they can be ended all the same. */
import { beforeEach, expect, test } from "vitest";
import { enable, newExternal } from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import { path } from "../../support/deliveries.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
beforeEach(async () => {
  tenant = await newTenant();
  await enable(tenant, "simulated", { login_id: "silent" });
});

const carrier = (body: Record<string, unknown>) =>
  tenant.admin.patch("/carriers/tenant/simulated", body);
const book = (id: string) =>
  tenant.ops.post(`/carriers/shipments/${id}`, { carrier_code: "simulated" });
const cancel = (id: string) => tenant.ops.post(`/carriers/shipments/${id}/cancel`);
const notices = async () =>
  (await tenant.admin.get("/tenants/me/notifications", {
    query: { type: "shipment_not_cancelled" },
  })).body.data;

/** A delivery whose booking the carrier never answered. */
async function newAbandoned() {
  const delivery = await newExternal(tenant);
  expect(await book(delivery.id)).toFailWith(502, "carrier_unavailable");
  return delivery;
}

test("one of a carrier that stays silent is cancelled here, and the administrators are to call the carrier", async () => {
  const { id, code } = await newAbandoned();
  const answer = await cancel(id);
  expect(answer).toSucceed(200);
  expect(answer.body.shipment).toMatchObject({ status: "cancelled", tracking_number: null });
  const [notice, ...more] = await notices();
  expect(more).toEqual([]);
  const reference = answer.body.shipment.id;
  expect(notice.payload).toEqual({
    shipment_id: reference,
    delivery_id: id,
    delivery_code: code,
    carrier_code: "simulated",
    tracking_number: null,
    reference,
  });
  expect(notice.message).toContain(reference);
  expect(await cancel(id)).toFailWith(404, "shipment_not_found");
});

test("one of a carrier that answers again is looked for there, and nobody has to call", async () => {
  const { id } = await newAbandoned();
  await carrier({ credentials: { login_id: "fine" } });
  const answer = await cancel(id);
  expect(answer).toSucceed(200);
  expect(answer.body.shipment.status).toBe("cancelled");
  expect(await notices()).toEqual([]);
  // Booked anew it is another shipment.
  const again = await book(id);
  expect(again).toSucceed(200);
  expect(again.body.shipment.id).not.toBe(answer.body.shipment.id);
});

test("one of a carrier that is switched off is cancelled as well", async () => {
  const { id } = await newAbandoned();
  await carrier({ is_enabled: false });
  expect(await book(id)).toFailWith(409, "carrier_not_enabled");
  expect((await cancel(id)).body.shipment.status).toBe("cancelled");
  expect(await notices()).toHaveLength(1);
});

test("one that somebody is still booking is left to them", async () => {
  const { id } = await newAbandoned();
  await sql`update integration.carrier_shipments set claimed_at = now() where delivery_id = ${id}`;
  expect(await cancel(id)).toFailWith(409, "shipment_in_progress");
});

test("one of a delivery that was cancelled is not booked at last", async () => {
  const { id } = await newAbandoned();
  await carrier({ credentials: { login_id: "fine" } });
  expect(await tenant.ops.post(`${path}/${id}/cancel`, { reason: "changed_mind" })).toSucceed(200);
  const answer = await book(id);
  expect(answer).toFailWith(409, "delivery_not_bookable");
  expect(answer.body.status).toBe("cancelled");
  expect((await cancel(id)).body.shipment.status).toBe("cancelled");
});

test("one that the carrier has, and does not let go, is booked under the carrier's number", async () => {
  const { id } = await newAbandoned();
  const step = async (name: string, input: Record<string, string | boolean | object>) =>
    await sql.begin(async (tx) => {
      await tx`select set_config('app.tenant_id', ${tenant.id}, true)`;
      const [{ answer }] = await tx`select ${tx(`integration.${name}`)}(${
        tx.json(input as never)
      }) as answer`;
      return answer;
    });
  const ending = async (more: object) => {
    const { shipment_id, claim_token } = await step("cancel_begin", { delivery_id: id });
    return (await step("cancel_finish", { shipment_id, claim_token, ...more })).shipment;
  };
  // Nothing was learned: it is as it was before.
  expect(await ending({ cancelled: false })).toMatchObject({ status: "booking" });
  const found = { tracking_number: `T-${id}`, carrier_reference: "shp_1" };
  expect(await ending({ cancelled: false, found })).toMatchObject({
    status: "booked",
    tracking_number: found.tracking_number,
    booked_at: expect.any(String),
  });
  expect(await ending({ cancelled: true })).toMatchObject({ status: "cancelled" });
});

test("one that the carrier refuses at the second call may have been booked by the first, and is found by the third", async () => {
  const { id } = await newAbandoned();
  const [{ id: shipment }] =
    await sql`select id from integration.carrier_shipments where delivery_id = ${id}`;
  await carrier({ credentials: { login_id: "refuse" } });
  expect(await book(id)).toFailWith(409, "carrier_refused");
  expect(
    (await sql`select id, status from integration.carrier_shipments where delivery_id = ${id}`)[0],
  )
    .toEqual({ id: shipment, status: "booking" });
  await carrier({ credentials: { login_id: "fine" } });
  const answer = await book(id);
  expect(answer).toSucceed(200);
  expect(answer.body.shipment.id).toBe(shipment);
});
