/** Cash that a carrier collects: what it is told, and what its report books, once. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  bookedCash,
  collectionsOf,
  enable,
  external,
  newSide,
  owedBy,
  payCarried,
  report,
  type Side,
  tell,
} from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import {
  bookOf,
  checkAll,
  type Ground,
  move,
  newDelivery,
  path,
  statusOf,
} from "../../support/deliveries.ts";
import { balanceOf, fundWallet, paymentsOf } from "../../support/money.ts";
import { newShop, placeOrder, standing, walletOf } from "../../support/orders.ts";
import type { Tenant } from "../../support/people.ts";
import { breachesIn } from "../../support/reconciled.ts";

let side: Side;
let tenant: Tenant;
let ground: Ground;
let wallet: string;
beforeAll(async () => {
  side = await newSide();
  ({ tenant, ground } = side);
  await enable(tenant, "easypost", { initial_token: "EZTK" });
  wallet = await fundWallet(tenant, "customer", tenant.customer.id, 100_000);
});
afterAll(async () => {
  await checkAll(tenant);
  expect(await breachesIn(tenant)).toEqual([]);
});
const driversRowsOf = (id: string) =>
  sql`select from money.cod_collections where delivery_id = ${id} and collection_stage = 'dropoff'`;

describe("a report of delivery", () => {
  test("books the cash as a driver's, but on the carrier's account", async () => {
    const parcel = await bookedCash(ground);
    const [owner, owed, clearing, held] = [
      await balanceOf(wallet),
      await owedBy(tenant),
      await bookOf(tenant, "cod_clearing"),
      await bookOf(tenant, "driver_cash", tenant.driver.id),
    ];
    expect((await tell(side, parcel, "picked_up")).body.outcome).toBe("applied");
    expect(await collectionsOf(parcel.id)).toEqual([]);
    expect((await tell(side, parcel, "delivered")).body.outcome).toBe("applied");
    expect(await collectionsOf(parcel.id)).toEqual([{
      carrier_code: "simulated",
      amount: 9_000,
      cod_amount: 7_000,
      delivery_fee_amount: 2_000,
      currency: "IQD",
      status: "owed",
    }]);
    expect(await paymentsOf(parcel.id)).toEqual([
      { type: "COD_COLLECTION", status: "SUCCESS", payment_method: "cash", amount: 7_000 },
      { type: "DELIVERY_FEE", status: "SUCCESS", payment_method: "cash", amount: 2_000 },
    ]);
    expect(await balanceOf(wallet) - owner).toBe(7_000);
    expect(await owedBy(tenant) - owed).toBe(9_000);
    expect(await bookOf(tenant, "cod_clearing") - clearing).toBe(-7_000);
    expect(await bookOf(tenant, "driver_cash", tenant.driver.id) - held).toBe(0);
    // The documented list is of drivers' cash.
    const list = await tenant.dispatcher.get("/delivery/cod-collections", {
      query: { delivery_id: parcel.id },
    });
    expect(list.body.cod.collections).toEqual([]);
    const { history } = (await tenant.ops.get(`${path}/${parcel.id}`)).body.delivery;
    expect(history.at(-1)).toMatchObject({ to_status: "delivered", actor: null });
  });

  test("of a parcel without cash due books none", async () => {
    const parcel = await bookedCash(ground, {
      cod_amount: 0,
      payer_type: "sender",
      payment_method: "wallet",
    });
    const owed = await owedBy(tenant);
    expect((await tell(side, parcel, "delivered")).body.outcome).toBe("applied");
    expect(await collectionsOf(parcel.id)).toEqual([]);
    expect(await owedBy(tenant)).toBe(owed);
  });

  test("fifty times at once, the same and others beside it, books once", async () => {
    const parcel = await bookedCash(ground);
    const [owner, owed] = [await balanceOf(wallet), await owedBy(tenant)];
    const event_id = randomUUID();
    const answers = await Promise.all([
      ...Array.from({ length: 50 }, () => tell(side, parcel, "delivered", { event_id })),
      ...Array.from({ length: 10 }, () => tell(side, parcel, "delivered")),
      ...Array.from({ length: 5 }, () => tell(side, parcel, "in_transit")),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(
      answers.slice(0, 60).filter(({ body }) => body.outcome === "applied" && !body.duplicate),
    ).toHaveLength(1);
    expect(await collectionsOf(parcel.id)).toHaveLength(1);
    expect(await paymentsOf(parcel.id)).toHaveLength(2);
    expect(await balanceOf(wallet) - owner).toBe(7_000);
    expect(await owedBy(tenant) - owed).toBe(9_000);
    expect(await statusOf(parcel.id)).toBe("delivered");
  });

  test("is the end: what is reported after it moves neither the parcel nor its money", async () => {
    const parcel = await bookedCash(ground);
    const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
    await tell(side, parcel, "delivered", { occurred_at: ago(30) });
    const [owner, owed] = [await balanceOf(wallet), await owedBy(tenant)];
    for (const status of ["returned", "failed", "cancelled", "in_transit", "picked_up"]) {
      expect((await tell(side, parcel, status, { occurred_at: ago(10) })).body.outcome).toBe(
        "impossible",
      );
      expect((await tell(side, parcel, status, { occurred_at: ago(40) })).body.outcome).toBe(
        "too_late",
      );
    }
    expect((await tell(side, parcel, "delivered", { occurred_at: ago(5) })).body.outcome).toBe(
      "unchanged",
    );
    expect(await statusOf(parcel.id)).toBe("delivered");
    expect(await collectionsOf(parcel.id)).toHaveLength(1);
    expect([await balanceOf(wallet), await owedBy(tenant)]).toEqual([owner, owed]);
  });

  test("of a cancelled order books nothing, and the tenant is notified once", async () => {
    const parcel = await bookedCash(ground);
    expect(await move(tenant.ops, parcel.id, "cancel", { reason: "no" })).toSucceed(200);
    const [owner, owed] = [await balanceOf(wallet), await owedBy(tenant)];
    const event_id = randomUUID();
    for (let time = 0; time < 3; time++) {
      expect((await tell(side, parcel, "delivered", { event_id })).body.outcome).toBe("impossible");
    }
    expect((await tell(side, parcel, "returned")).body.outcome).toBe("impossible");
    expect(await collectionsOf(parcel.id)).toEqual([]);
    expect([await balanceOf(wallet), await owedBy(tenant)]).toEqual([owner, owed]);
    expect(
      await sql`select event_data from integration.system_events
        where entity_id = ${parcel.id} and event_type = 'carrier_cash.unbooked'`,
    ).toMatchObject([{
      event_data: {
        carrier_code: "simulated",
        amount: 9_000,
        currency: "IQD",
        status: "cancelled",
      },
    }]);
  });

  test("without a time that had to wait for another's turn is not too late", async () => {
    const parcel = await bookedCash(ground);
    const { tracking_number } = parcel;
    const outcome = await sql.begin(async (tx) => {
      // Its transaction begins, and another report goes first.
      await tx`select 1`;
      expect((await tell(side, parcel, "in_transit")).body.outcome).toBe("applied");
      const told = tx.json({ event_id: randomUUID(), tracking_number, status: "delivered" });
      const [row] =
        await tx`select integration.carrier_report('simulated', ${tenant.id}, ${told}) as told`;
      return row.told.outcome;
    });
    expect(outcome).toBe("applied");
    expect(await collectionsOf(parcel.id)).toHaveLength(1);
  });

  test("after a failed attempt books the cash then, and not before", async () => {
    const parcel = await bookedCash(ground);
    await tell(side, parcel, "in_transit");
    await tell(side, parcel, "failed");
    expect(await collectionsOf(parcel.id)).toEqual([]);
    expect((await tell(side, parcel, "delivered")).body.outcome).toBe("applied");
    expect(await collectionsOf(parcel.id)).toHaveLength(1);
  });

  test("that cannot be booked changes nothing at all", async () => {
    const parcel = await bookedCash(ground);
    const event_id = randomUUID();
    // A harmed row: nobody is left to whom the COD belongs.
    await sql`update delivery.deliveries set customer_id = null where id = ${parcel.id}`;
    const { tracking_number } = parcel;
    const told = sql.json({ event_id, tracking_number, status: "delivered" });
    await expect(sql`select integration.carrier_report('simulated', ${tenant.id}, ${told})`).rejects
      .toThrow("customer_required_for_cod");
    expect(await statusOf(parcel.id)).toBe("pending");
    expect(await collectionsOf(parcel.id)).toEqual([]);
    await sql`update delivery.deliveries set customer_id = ${tenant.customer.id} where id = ${parcel.id}`;
    // The carrier tells it again, and nothing was remembered.
    expect((await tell(side, parcel, "delivered", { event_id })).body).toMatchObject({
      outcome: "applied",
      duplicate: false,
    });
    expect(await collectionsOf(parcel.id)).toHaveLength(1);
  });

  test("pays the shop's order that is paid at the door", async () => {
    const shop = await newShop();
    const { secret } = await enable(shop.tenant);
    const { id: order } = await placeOrder(shop);
    expect(await shop.tenant.admin.put(`/storefront/orders/${order}/approve`)).toSucceed(200);
    const [delivery] =
      await sql`select id, cod_amount from delivery.deliveries where order_id = ${order}`;
    const { ops } = shop.tenant;
    expect(await ops.patch(`${path}/${delivery.id}/carrier`, external)).toSucceed(200);
    const booked = await ops.post(`/carriers/shipments/${delivery.id}`, {
      carrier_code: "simulated",
    });
    expect(booked.body.shipment.cash_due).toBe(delivery.cod_amount);
    const { tracking_number } = booked.body.shipment;
    const told = await report(shop.tenant, secret, { tracking_number, status: "delivered" });
    expect(told.body.outcome).toBe("applied");
    expect(await standing(order)).toMatchObject({
      status: "delivered",
      payment_status: "paid",
      paid: 1,
    });
    expect(await walletOf(shop.tenant, null)).toBe(delivery.cod_amount);
    expect(await owedBy(shop.tenant)).toBe(delivery.cod_amount);
    await checkAll(shop.tenant);
  });
});

describe("a delivery completed by hand, when the report was lost", () => {
  test("books the same, and the late report nothing more", async () => {
    const parcel = await bookedCash(ground);
    await tell(side, parcel, "in_transit");
    const owed = await owedBy(tenant);
    const wrong = { cash_collected: { cod: 1, delivery_fee: 2_000 } };
    expect(await move(tenant.ops, parcel.id, "complete", wrong)).toFailWith(
      400,
      "cash_amount_mismatch",
    );
    expect(await move(tenant.ops, parcel.id, "complete")).toSucceed(200);
    expect(await collectionsOf(parcel.id)).toMatchObject([{ amount: 9_000, status: "owed" }]);
    expect(await driversRowsOf(parcel.id)).toEqual([]);
    expect((await tell(side, parcel, "delivered")).body.outcome).toBe("unchanged");
    expect(await owedBy(tenant) - owed).toBe(9_000);
  });

  test("is refused as before if no carrier was asked to collect", async () => {
    const { id } = await newDelivery(ground, external);
    expect(await move(tenant.ops, id, "depart")).toSucceed(200);
    const refused = await move(tenant.ops, id, "complete");
    expect(refused).toFailWith(409, "delivery_has_no_driver");
    expect(refused.body.field).toBe("cash_collected");
    expect(refused.body.message).toContain("If the carrier took it");
    expect(await collectionsOf(id)).toEqual([]);
  });

  test("of which no booking asked: operations say that the carrier took it, and it owes the same", async () => {
    const { id } = await newDelivery(ground, { ...external, cod_amount: 7_000 });
    expect(await move(tenant.ops, id, "depart")).toSucceed(200);
    const owed = await owedBy(tenant);
    const cash_collected = { cod: 7_000, delivery_fee: 2_000 };
    expect(await move(tenant.ops, id, "complete", { cash_collected: { cod: 7_000 } }))
      .toFailWith(400, "cash_amount_mismatch");
    expect(await move(tenant.ops, id, "complete", { cash_collected })).toSucceed(200);
    expect(await collectionsOf(id)).toMatchObject([{
      carrier_code: "simulated",
      amount: 9_000,
      status: "owed",
    }]);
    expect(await owedBy(tenant) - owed).toBe(9_000);
    const paid = await payCarried(tenant.admin, 9_000, { delivery_ids: [id] });
    expect(paid).toSucceed(201);
    // Of a carrier that nobody knows nobody can ask for it.
    const unknown = await newDelivery(ground, external);
    await sql`update delivery.deliveries set carrier_code = 'somebody' where id = ${unknown.id}`;
    await move(tenant.ops, unknown.id, "depart");
    expect(
      await move(tenant.ops, unknown.id, "complete", {
        cash_collected: { cod: 0, delivery_fee: 2_000 },
      }),
    ).toFailWith(409, "delivery_has_no_driver");
  });

  test("at the moment of the report is booked once", async () => {
    for (let round = 0; round < 5; round++) {
      const parcel = await bookedCash(ground);
      await tell(side, parcel, "in_transit");
      const owed = await owedBy(tenant);
      const [by] = await Promise.all([
        move(tenant.ops, parcel.id, "complete"),
        tell(side, parcel, "delivered"),
        tell(side, parcel, "delivered"),
      ]);
      if (by.status !== 200) expect(by).toFailWith(409, "invalid_status_transition");
      expect(await collectionsOf(parcel.id)).toHaveLength(1);
      expect(await owedBy(tenant) - owed).toBe(9_000);
    }
  });
});
