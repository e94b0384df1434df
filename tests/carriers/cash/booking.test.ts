/** Bookings of parcels with cash due at the door. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  bookedCash,
  collectionsOf,
  enable,
  external,
  newSide,
  type Side,
  tell,
} from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import {
  checkAll,
  type Ground,
  move,
  newDelivery,
  path,
  stagedInWarehouse,
  statusOf,
} from "../../support/deliveries.ts";
import { fundWallet, paymentsOf } from "../../support/money.ts";
import type { Tenant } from "../../support/people.ts";
import { breachesIn } from "../../support/reconciled.ts";

let side: Side;
let tenant: Tenant;
let ground: Ground;
beforeAll(async () => {
  side = await newSide();
  ({ tenant, ground } = side);
  await fundWallet(tenant, "customer", tenant.customer.id, 100_000);
  await enable(tenant, "easypost", { initial_token: "EZTK" });
});
afterAll(async () => {
  await checkAll(tenant);
  expect(await breachesIn(tenant)).toEqual([]);
});

const book = (id: string, carrier_code = "simulated", language = "en") =>
  tenant.ops.post(`/carriers/shipments/${id}`, { carrier_code }, { query: { language } });

describe("booking", () => {
  test("with a carrier that collects no cash is refused before anything is sent", async () => {
    const { id } = await newDelivery(ground, {
      carrier_type: "external",
      carrier_code: "easypost",
    });
    const refused = await book(id, "easypost");
    expect(refused).toFailWith(409, "carrier_collects_no_cash");
    expect(refused.body).toMatchObject({ amount: 2_000, currency: "IQD" });
    expect((await book(id, "easypost", "ar")).body.message).toContain("2000 IQD");
    expect(await sql`select from integration.carrier_shipments where delivery_id = ${id}`)
      .toHaveLength(0);
    // Nothing of the refusal is remembered under a key.
    const headers = { "idempotency-key": randomUUID() };
    for (let time = 0; time < 2; time++) {
      expect(
        await tenant.ops.post(`/carriers/shipments/${id}`, { carrier_code: "easypost" }, {
          headers,
        }),
      ).toFailWith(409, "carrier_collects_no_cash");
    }
  });

  test.each([
    ["the receiver's fee and the COD", { cod_amount: 7_000 }, 9_000],
    ["the receiver's fee alone", { cod_amount: 0 }, 2_000],
    ["the COD where the sender's wallet paid the fee", {
      cod_amount: 7_000,
      payer_type: "sender",
      payment_method: "wallet",
    }, 7_000],
    ["nothing where nothing is due", {
      cod_amount: 0,
      payer_type: "sender",
      payment_method: "wallet",
    }, 0],
  ])("tells it to collect %s", async (_what, terms, due) => {
    expect((await bookedCash(ground, terms)).cash_due).toBe(due);
  });

  test("is refused while the sender has to pay in cash: a carrier takes nothing from the sender", async () => {
    const { id } = await newDelivery(ground, {
      ...external,
      payer_type: "sender",
      cod_amount: 7_000,
    });
    const refused = await book(id);
    expect(refused).toFailWith(409, "sender_cash_not_collected");
    expect(refused.body).toMatchObject({ amount: 2_000, currency: "IQD" });
    expect(await sql`select from integration.carrier_shipments where delivery_id = ${id}`)
      .toHaveLength(0);
    // Nor is it given to a carrier by hand.
    const departed = await move(tenant.ops, id, "depart");
    expect(departed).toFailWith(409, "sender_cash_not_collected");
    expect(departed.body).toMatchObject({ amount: 2_000, currency: "IQD" });
    expect(await statusOf(id)).toBe("pending");
  });

  test("of a parcel that goes through a warehouse is by leg; the sender's fee is the driver's, the COD the carrier's", async () => {
    const { parent, b } = await stagedInWarehouse(ground, {
      payer_type: "sender",
      cod_amount: 7_000,
    });
    expect(await tenant.ops.patch(`${path}/${b}/carrier`, external)).toSucceed(200);
    const booked = await book(b);
    expect(booked).toSucceed(200);
    expect(booked.body.shipment.cash_due).toBe(7_000);
    expect((await tell(side, booked.body.shipment, "delivered")).body.outcome).toBe("applied");
    expect(await statusOf(parent.id)).toBe("delivered");
    expect(await collectionsOf(parent.id)).toMatchObject([{ amount: 7_000, cod_amount: 7_000 }]);
    expect(await paymentsOf(parent.id)).toMatchObject([
      { type: "COD_COLLECTION", amount: 7_000 },
      { type: "DELIVERY_FEE", amount: 2_000 },
    ]);
    const whole = await newDelivery(ground, { staged: true, warehouse_id: ground.warehouse });
    // As those were that could still be ordered with another carrier.
    await sql`update delivery.deliveries set ${sql(external)} where id = ${whole.id}`;
    expect(await book(whole.id)).toFailWith(409, "delivery_goes_in_legs");
  });

  test("keeps the delivery with the carrier until the booking is cancelled", async () => {
    const { id } = await bookedCash(ground);
    const give = (to: object) => tenant.ops.patch(`${path}/${id}/carrier`, to);
    expect(await give({ carrier_type: "internal" })).toFailWith(409, "shipment_with_other_carrier");
    expect(await give({ carrier_type: "external", carrier_code: "easypost" })).toFailWith(
      409,
      "shipment_with_other_carrier",
    );
    expect(await give(external)).toSucceed(200);
    expect(await tenant.ops.post(`/carriers/shipments/${id}/cancel`)).toSucceed(200);
    expect(await give({ carrier_type: "internal" })).toSucceed(200);
  });
});
