/** Remitting cash to the desk: all or nothing, and exactly. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { nobody, type Person } from "../../support/api.ts";
import { key } from "../../support/cash-desks.ts";
import {
  accountOf,
  cashDifferences,
  cashRow,
  newCash,
  remit,
  selected,
  settle,
  settlementsOf,
} from "../../support/cod.ts";
import { sql } from "../../support/db.ts";
import { checkBooks } from "../../support/money.ts";
import { newPerson, newTenant, saveSettings, type Tenant } from "../../support/people.ts";

let a: Tenant;
let b: Tenant;
beforeAll(async () => {
  [a, b] = await Promise.all([newTenant(), newTenant()]);
});

describe("remit", () => {
  test("marks the rows, records the receiver, moves cash from hand to desk and no wallet", async () => {
    const tenant = await newTenant();
    const first = await newCash(tenant, {
      cod: 1000,
      fee: 250,
      collectedAt: "2026-01-02T10:00:00Z",
    });
    const second = await newCash(tenant, { cod: 0, fee: 300, collectedAt: "2026-01-01T10:00:00Z" });
    const merchant = await accountOf(tenant, "wallet", tenant.institution.id);
    const answer = await tenant.dispatcher.post(remit, {
      ...selected(first.id, second.id),
      reference: "R-1",
      notes: "Evening",
    });
    expect(answer).toSucceed(200);
    expect(answer.body.data).toEqual({
      scope: "selected",
      remitted_collections: [
        {
          cod_collection_id: second.id,
          amount: 300,
          allocations: { cod: 0, delivery_fee: 300 },
          delivery_code: second.code,
          delivery_number: String(second.code),
        },
        {
          cod_collection_id: first.id,
          amount: 1250,
          allocations: { cod: 1000, delivery_fee: 250 },
          delivery_code: first.code,
          delivery_number: String(first.code),
        },
      ],
      total_remitted: 1550,
      total_cash_remitted: 1550,
      total_cod_remitted: 1000,
      total_delivery_fee_remitted: 550,
      remitted_count: 2,
      failed_count: 0,
      remitted_at: expect.any(String),
      counted: 1550,
      shortage: null,
      settlement_payment_id: expect.any(String),
      receipt_status: "pending",
      currency: "IQD",
    });
    const row = await cashRow(first.id);
    expect(row).toMatchObject({
      status: "remitted",
      remitted_to_user_id: tenant.dispatcher.id,
      settlement_payment_id: answer.body.data.settlement_payment_id,
      reference: "R-1",
      settled_at: null,
    });
    expect(row.remitted_at.toISOString()).toBe(
      new Date(answer.body.data.remitted_at).toISOString(),
    );
    expect(await accountOf(tenant, "wallet", tenant.institution.id)).toBe(merchant);
    expect(await accountOf(tenant, "driver_cash", tenant.driver.id)).toBe(0);
    expect(await accountOf(tenant, "cash_on_hand", tenant.dispatcher.id)).toBe(1550);
    const [payment] =
      await sql`select * from money.payments where id = ${answer.body.data.settlement_payment_id}`;
    expect(payment).toMatchObject({
      category: "DELIVERY",
      type: "COD_SETTLEMENT",
      status: "SUCCESS",
      payment_method: "cash",
      amount: 1550,
      snapshot: {
        driver: { id: tenant.driver.id },
        actor: { id: tenant.dispatcher.id },
        receiver: { id: tenant.dispatcher.id },
        receiver_is_driver: false,
        reference: "R-1",
        totals: { count: 2, amount: 1550, cod: 1000, delivery_fee: 550 },
      },
    });
    expect(await checkBooks(tenant)).toEqual([]);
    expect(await cashDifferences(tenant)).toEqual([]);
  });

  test("all takes everything the driver still holds, and nothing of anybody else", async () => {
    const tenant = await newTenant();
    const mine = [await newCash(tenant), await newCash(tenant)];
    const others = await newCash(tenant, { driver: tenant.driver2.id });
    const answer = await tenant.driver.post(remit, { scope: "all", driver_id: tenant.driver2.id });
    expect(answer).toSucceed(200);
    expect(answer.body.data.remitted_count).toBe(2);
    expect((await cashRow(mine[0].id)).status).toBe("remitted");
    expect((await cashRow(others.id)).status).toBe("collected");
    const [settlement] =
      await sql`select p.snapshot from money.payments p where p.id = ${answer.body.data.settlement_payment_id}`;
    expect(settlement.snapshot.receiver_is_driver).toBe(true);
    expect(await tenant.driver.post(remit, { scope: "all" })).toFailWith(
      400,
      "no_pending_collections",
    );
    expect(await tenant.admin.post(remit, { scope: "all" })).toFailWith(400, "driver_id_required");
    expect(await tenant.admin.post(remit, { scope: "all", driver_id: tenant.driver2.id }))
      .toSucceed(200);
    expect(await cashDifferences(tenant)).toEqual([]);
  });

  test("refuses drivers of two, rows of others, settled rows, repeated and no ids, and writes nothing", async () => {
    const [one, two, foreign] = [
      await newCash(a),
      await newCash(a, { driver: a.driver2.id }),
      await newCash(b),
    ];
    const before = await settlementsOf(a);
    const ask = (body: object, person: Person = a.dispatcher) => person.post(remit, body);
    expect(await ask(selected(one.id, two.id))).toFailWith(400, "mixed_driver_selection");
    expect(await ask({ ...selected(one.id), driver_id: a.driver2.id })).toFailWith(
      400,
      "mixed_driver_selection",
    );
    const unknown = await ask(selected(one.id, foreign.id));
    expect(unknown).toFailWith(400, "cod_collections_not_pending");
    expect(unknown.body.invalid_ids).toEqual([foreign.id]);
    expect(await ask(selected(two.id), a.driver)).toFailWith(400, "cod_collections_not_pending");
    for (const again of [one.id, one.id.toUpperCase()]) {
      expect(await ask(selected(one.id, again))).toFailWith(400, "validation_failed");
    }
    expect(await ask(selected())).toFailWith(400, "cod_collection_ids_required");
    expect(await ask({ scope: "selected" })).toFailWith(400, "cod_collection_ids_required");
    expect(await ask({ scope: "some" })).toFailWith(400, "validation_failed");
    expect(await ask({ scope: "selected", cod_collection_ids: ["x"] })).toFailWith(
      400,
      "invalid_uuid",
    );
    expect(await ask({ scope: "all", driver_id: b.driver.id })).toFailWith(404, "driver_not_found");
    expect(await a.dispatcher.post(remit, selected(one.id), key("k".repeat(201)))).toFailWith(
      400,
      "invalid_idempotency_key",
    );
    expect(await settlementsOf(a)).toBe(before);
    expect((await cashRow(one.id)).status).toBe("collected");
    expect((await cashRow(foreign.id)).status).toBe("collected");
    expect(await ask(selected(one.id))).toSucceed(200);
    expect(await ask(selected(one.id))).toFailWith(400, "cod_collections_not_pending");
  });

  test("the receiver is active staff who can pass it on; for a driver somebody of the office", async () => {
    const cash = await newCash(a);
    const inactive = await newPerson(a.id, "staff", "dispatcher");
    await sql`update tenancy.tenant_users set is_active = false where user_id = ${inactive.id}`;
    const to = (receiver: string, person: Person = a.admin) =>
      person.post(remit, { ...selected(cash.id), remitted_to_user_id: receiver });
    const people = [a.customer, inactive, b.dispatcher, a.driver2, a.warehouse].map(({ id }) => id);
    for (const wrong of [...people, randomUUID()]) {
      const answer = await to(wrong);
      expect(answer).toFailWith(400, "invalid_receiver");
      expect(answer.body.field).toBe("remitted_to_user_id");
    }
    for (const wrong of [a.warehouse.id, a.ops.id]) {
      expect(await to(wrong, a.driver)).toFailWith(400, "invalid_receiver");
    }
    expect(await to(a.dispatcher.id, a.driver)).toSucceed(200);
    expect((await cashRow(cash.id)).remitted_to_user_id).toBe(a.dispatcher.id);
  });

  test("a tenant may want a receiver named by its drivers", async () => {
    const tenant = await newTenant();
    await saveSettings(tenant.id, "delivery.cod", { driver_self_remit: "require_receiver" });
    const cash = await newCash(tenant);
    expect(await tenant.driver.post(remit, selected(cash.id))).toFailWith(400, "receiver_required");
    expect(await tenant.dispatcher.post(remit, selected(cash.id))).toSucceed(200);
  });

  test("only drivers, dispatchers and administrators; a message in the caller's language", async () => {
    const cash = await newCash(a);
    for (const person of [a.ops, a.warehouse, a.staff, a.institution, a.customer]) {
      expect(await person.post(remit, selected(cash.id))).toFailWith(403, "forbidden");
      expect(await person.post(settle, selected(cash.id))).toFailWith(403, "forbidden");
    }
    expect(await nobody.post(remit, selected(cash.id))).toFailWith(401, "unauthorized");
    const arabic = await a.dispatcher.in("ar").post(remit, { scope: "selected" });
    expect(arabic.body.message).toBe("اختر التحصيلات المراد تسويتها.");
    expect((await a.dispatcher.in("ku").post(remit, { scope: "selected" })).body.message).toContain(
      "کۆکراوانە",
    );
  });
});
