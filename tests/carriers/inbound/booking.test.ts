/** Bookings at a carrier, and their cancellation. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { change } from "../../support/amount-changes.ts";
import {
  enable,
  external,
  newBooked,
  newExternal,
  newSide,
  report,
} from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import { newDelivery } from "../../support/deliveries.ts";
import { kept, priced } from "../../support/kept-parts.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let other: Tenant;
let secret: string;
beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
  secret = (await enable(tenant)).secret;
});
const book = (
  delivery: { id: string },
  who = tenant.ops,
  carrier_code = "simulated",
  headers = {},
) => who.post(`/carriers/shipments/${delivery.id}`, { carrier_code }, { headers });

const cancel = (id: string, who = tenant.ops, headers = {}) =>
  who.post(`/carriers/shipments/${id}/cancel`, undefined, { headers });

describe("booking", () => {
  test("keeps and answers the tracking number; a second time answers the same", async () => {
    const delivery = await newExternal(tenant);
    const first = await book(delivery);
    expect(first).toSucceed(200);
    expect(first.body.shipment).toEqual({
      id: expect.any(String),
      delivery_id: delivery.id,
      carrier_code: "simulated",
      status: "booked",
      tracking_number: `SIM-${delivery.code}`,
      label_url: null,
      cash_due: 0,
      booked_at: expect.any(String),
      cancelled_at: null,
    });
    expect((await book(delivery)).body.shipment).toEqual(first.body.shipment);
    const events = await sql`select event_data from integration.system_events
      where tenant_id = ${tenant.id} and entity_id = ${delivery.id} and event_type = 'shipment.booked'`;
    expect(events).toHaveLength(1);
    expect(events[0].event_data.tracking_number).toBe(`SIM-${delivery.code}`);
    const [row] = await sql`select carrier_code from delivery.deliveries where id = ${delivery.id}`;
    expect(row.carrier_code).toBe("simulated");
  });

  test("of many at once books once", async () => {
    const delivery = await newExternal(tenant);
    const answers = await Promise.all(Array.from({ length: 15 }, () => book(delivery)));
    for (const answer of answers) {
      if (answer.status === 200) expect(answer.body.shipment.status).toBe("booked");
      else expect(answer).toFailWith(409, "shipment_in_progress");
    }
    expect(await sql`select from integration.carrier_shipments where delivery_id = ${delivery.id}`)
      .toHaveLength(1);
    expect(
      await sql`select from integration.system_events where entity_id = ${delivery.id} and event_type = 'shipment.booked'`,
    ).toHaveLength(1);
  });

  test("of a parcel whose amount was agreed for a part is refused: a carrier hands over the whole", async () => {
    const side = await newSide();
    const { id } = await newDelivery(side.ground, { ...external, ...priced });
    const kept_items = await kept(side.tenant, id, { Shirt: 1 });
    expect(await change(side.tenant.ops, id, 9_000, { kept_items })).toSucceed(201);
    const refused = await book({ id }, side.tenant.ops);
    expect(refused).toFailWith(409, "amount_is_for_part");
    expect(refused.body).toMatchObject({ kept_items, cod_amount: 9_000 });
    expect(await change(side.tenant.ops, id, 20_000)).toSucceed(201);
    expect(await book({ id }, side.tenant.ops)).toSucceed(200);
  });

  test("that the carrier refuses leaves nothing; one that does not answer can be tried again", async () => {
    const strict = await newTenant();
    await enable(strict, "simulated", { login_id: "refuse" });
    const delivery = await newExternal(strict);
    const refused = await book(delivery, strict.ops);
    expect(refused).toFailWith(409, "carrier_refused");
    expect(refused.body.reason).toBe("asked to refuse");
    expect(refused.body.message).toBe("The carrier refused: asked to refuse.");
    expect(await sql`select from integration.carrier_shipments where delivery_id = ${delivery.id}`)
      .toHaveLength(0);
    await strict.admin.patch("/carriers/tenant/simulated", { credentials: { login_id: "silent" } });
    expect(await book(delivery, strict.ops)).toFailWith(502, "carrier_unavailable");
    const [kept] =
      await sql`select id, status from integration.carrier_shipments where delivery_id = ${delivery.id}`;
    expect(kept.status).toBe("booking");
    await strict.admin.patch("/carriers/tenant/simulated", { credentials: { login_id: "fine" } });
    const answer = await book(delivery, strict.ops);
    expect(answer).toSucceed(200);
    // The same reference, so that the carrier finds what the lost call did.
    expect(answer.body.shipment.id).toBe(kept.id);
  });

  test("is for pending external deliveries and enabled carriers of the tenant", async () => {
    expect(await book(await newExternal(tenant, { carrier_type: "internal" }))).toFailWith(
      409,
      "delivery_not_external",
    );
    expect(await book(await newExternal(tenant, { status: "in_transit" }))).toFailWith(
      409,
      "delivery_not_bookable",
    );
    expect(await book(await newExternal(tenant, { carrier_code: "easypost" }))).toFailWith(
      409,
      "delivery_not_bookable",
    );
    const delivery = await newExternal(tenant);
    expect(await book(delivery, tenant.ops, "easypost")).toFailWith(409, "carrier_not_enabled");
    expect(await book(delivery, tenant.ops, "internal")).toFailWith(409, "delivery_not_external");
    expect(await book(delivery, tenant.ops, "nobody")).toFailWith(404, "carrier_not_found");
    expect(await book({ id: randomUUID() })).toFailWith(404, "delivery_not_found");
    expect(await book(delivery, other.ops)).toFailWith(404, "delivery_not_found");
    expect(await book({ id: "x" })).toFailWith(400, "invalid_uuid");
    for (const who of [tenant.staff, tenant.driver, tenant.customer]) {
      expect(await book(delivery, who)).toFailWith(403, "forbidden");
    }
    expect(await book(delivery, nobody)).toFailWith(401, "unauthorized");
    expect(await sql`select from integration.carrier_shipments where delivery_id = ${delivery.id}`)
      .toHaveLength(0);
  });

  test("can be cancelled until the carrier has picked the parcel up", async () => {
    const delivery = await newBooked(tenant);
    const answer = await cancel(delivery.id);
    expect(answer).toSucceed(200);
    expect(answer.body.shipment).toMatchObject({
      status: "cancelled",
      cancelled_at: expect.any(String),
    });
    expect(await cancel(delivery.id)).toFailWith(404, "shipment_not_found");
    expect((await book(delivery)).body.shipment).toMatchObject({ status: "booked" });
    const gone = await newBooked(tenant);
    await report(tenant, secret, { tracking_number: gone.tracking_number, status: "in_transit" });
    expect(await cancel(gone.id)).toFailWith(409, "delivery_not_bookable");
    expect(await cancel(randomUUID())).toFailWith(404, "delivery_not_found");
    expect(await cancel(gone.id, tenant.staff)).toFailWith(403, "forbidden");
  });

  test("with a key answers as before, and other input under it is a conflict", async () => {
    const headers = { "idempotency-key": randomUUID() };
    const delivery = await newExternal(tenant);
    const first = await book(delivery, tenant.ops, "simulated", headers);
    const second = await book(delivery, tenant.ops, "simulated", headers);
    expect(second.body).toEqual(first.body);
    expect(second.headers.get("idempotency-replayed")).toBe("true");
    expect(await book(await newExternal(tenant), tenant.ops, "simulated", headers)).toFailWith(
      409,
      "idempotency_conflict",
    );
  });
});

describe("cancelling with a key", () => {
  test("returns the first answer again; another delivery under the key is a conflict", async () => {
    const headers = { "idempotency-key": randomUUID() };
    const [delivery, another] = [await newBooked(tenant), await newBooked(tenant)];
    const first = await cancel(delivery.id, tenant.ops, headers);
    expect(first).toSucceed(200);
    expect(first.headers.get("idempotency-replayed")).toBeNull();
    const second = await cancel(delivery.id, tenant.ops, headers);
    expect(second).toSucceed(200);
    expect(second.body).toEqual(first.body);
    expect(second.headers.get("idempotency-replayed")).toBe("true");
    expect(
      await sql`select from integration.system_events where entity_id = ${delivery.id} and event_type = 'shipment.cancelled'`,
    ).toHaveLength(1);
    expect(await cancel(another.id, tenant.ops, headers)).toFailWith(409, "idempotency_conflict");
    const [row] =
      await sql`select status from integration.carrier_shipments where delivery_id = ${another.id}`;
    expect(row.status).toBe("booked");
  });

  test("does the work when the key's earlier call found the carrier silent or refusing", async () => {
    const headers = { "idempotency-key": randomUUID() };
    const strict = await newTenant();
    await enable(strict);
    const delivery = await newExternal(strict);
    expect(await book(delivery, strict.ops)).toSucceed(200);
    const answerWith = (login_id: string) =>
      strict.admin.patch("/carriers/tenant/simulated", { credentials: { login_id } });
    for (
      const [login, status, code] of [
        ["silent", 502, "carrier_unavailable"],
        ["refuse", 409, "carrier_refused"],
      ] as const
    ) {
      expect(await answerWith(login)).toSucceed(200);
      expect(await cancel(delivery.id, strict.ops, headers)).toFailWith(status, code);
      const [row] =
        await sql`select status from integration.carrier_shipments where delivery_id = ${delivery.id}`;
      expect(row.status).toBe("booked");
    }
    expect(await answerWith("fine")).toSucceed(200);
    const answer = await cancel(delivery.id, strict.ops, headers);
    expect(answer).toSucceed(200);
    expect(answer.headers.get("idempotency-replayed")).toBeNull();
    expect(answer.body.shipment.status).toBe("cancelled");
  });
});
