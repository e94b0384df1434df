/** Remitting cash and settling it from the wallet: all or nothing, once, and exactly. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { nobody, type Person } from "../support/api.ts";
import { cashDifferences, newCash } from "../support/cod.ts";
import { sql } from "../support/db.ts";
import { balanceOf, checkBooks, fundWallet } from "../support/money.ts";
import { newPerson, newTenant, saveSettings, type Tenant } from "../support/people.ts";

const remit = "/delivery/cod-collections/remit";
const settle = "/delivery/cod-collections/settle-by-wallet";

let a: Tenant;
let b: Tenant;
beforeAll(async () => {
  [a, b] = await Promise.all([newTenant(), newTenant()]);
});

const key = (value: string = randomUUID()) => ({ headers: { "idempotency-key": value } });
const selected = (...ids: string[]) => ({ scope: "selected", cod_collection_ids: ids });
const rowOf = async (id: string) =>
  (await sql`select * from money.cod_collections where id = ${id}`)[0];
const settlementsOf = async (tenant: Tenant) =>
  Number(
    (await sql`select count(*) from money.cod_settlements where tenant_id = ${tenant.id}`)[0].count,
  );
const accountOf = async (tenant: Tenant, kind: string, owner: string | null) =>
  Number(
    (await sql`select coalesce(sum(balance), 0) as b from money.accounts where tenant_id = ${tenant.id} and kind = ${kind}
      and owner_user_id is not distinct from ${owner}`)[0].b,
  );

async function fresh(): Promise<Tenant> {
  return await newTenant();
}

describe("remit", () => {
  test("marks the rows, records the receiver, moves cash from hand to desk and no wallet", async () => {
    const tenant = await fresh();
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
      settlement_payment_id: expect.any(String),
      receipt_status: "pending",
      currency: "IQD",
    });
    const row = await rowOf(first.id);
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
    const tenant = await fresh();
    const mine = [await newCash(tenant), await newCash(tenant)];
    const others = await newCash(tenant, { driver: tenant.driver2.id });
    const answer = await tenant.driver.post(remit, { scope: "all", driver_id: tenant.driver2.id });
    expect(answer).toSucceed(200);
    expect(answer.body.data.remitted_count).toBe(2);
    expect((await rowOf(mine[0].id)).status).toBe("remitted");
    expect((await rowOf(others.id)).status).toBe("collected");
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
    expect(await ask(selected(one.id, one.id))).toFailWith(400, "validation_failed");
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
    expect((await rowOf(one.id)).status).toBe("collected");
    expect((await rowOf(foreign.id)).status).toBe("collected");
    expect(await ask(selected(one.id))).toSucceed(200);
    expect(await ask(selected(one.id))).toFailWith(400, "cod_collections_not_pending");
  });

  test("the receiver is active staff; for a driver somebody of the office", async () => {
    const cash = await newCash(a);
    const inactive = await newPerson(a.id, "staff", "dispatcher");
    await sql`update tenancy.tenant_users set is_active = false where user_id = ${inactive.id}`;
    const to = (receiver: string, person: Person = a.admin) =>
      person.post(remit, { ...selected(cash.id), remitted_to_user_id: receiver });
    for (const wrong of [a.customer.id, inactive.id, b.dispatcher.id, randomUUID(), a.driver2.id]) {
      expect(await to(wrong)).toFailWith(400, "invalid_receiver");
    }
    expect(await to(a.warehouse.id, a.driver)).toFailWith(400, "invalid_receiver");
    expect(await to(a.dispatcher.id, a.driver)).toSucceed(200);
    expect((await rowOf(cash.id)).remitted_to_user_id).toBe(a.dispatcher.id);
  });

  test("a tenant may want a receiver named by its drivers", async () => {
    const tenant = await fresh();
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

describe("settle by wallet", () => {
  test("takes the whole from the driver, gives the fees to the tenant and nothing to the merchant", async () => {
    const tenant = await fresh();
    const wallet = await fundWallet(tenant, "driver", tenant.driver.id, 5000);
    const cash = [
      await newCash(tenant, { cod: 1000, fee: 250 }),
      await newCash(tenant, { cod: 0, fee: 100 }),
    ];
    const merchant = await accountOf(tenant, "wallet", tenant.institution.id);
    const answer = await tenant.driver.post(settle, selected(...cash.map(({ id }) => id)));
    expect(answer).toSucceed(200);
    expect(answer.body.data).toMatchObject({
      scope: "selected",
      total_settled: 1350,
      total_cash_settled: 1350,
      total_cod_settled: 1000,
      total_delivery_fee_settled: 350,
      settled_count: 2,
      failed_count: 0,
      currency: "IQD",
      wallet_balance_after: 3650,
      receipt_status: "pending",
    });
    expect(answer.body.data.settled_collections).toHaveLength(2);
    expect(await balanceOf(wallet)).toBe(3650);
    expect(await accountOf(tenant, "wallet", null)).toBe(350);
    expect(await accountOf(tenant, "cod_clearing", null)).toBe(0);
    expect(await accountOf(tenant, "driver_cash", tenant.driver.id)).toBe(0);
    expect(await accountOf(tenant, "wallet", tenant.institution.id)).toBe(merchant);
    expect(await rowOf(cash[0].id)).toMatchObject({
      status: "settled_by_wallet",
      remitted_at: null,
      remitted_to_user_id: null,
    });
    expect(await cashDifferences(tenant)).toEqual([]);
    expect(await checkBooks(tenant)).toEqual([]);
  });

  test("a short wallet, no wallet, or one in another currency settles nothing", async () => {
    const tenant = await fresh();
    const cash = await newCash(tenant);
    expect(await tenant.driver.post(settle, selected(cash.id))).toFailWith(
      400,
      "insufficient_wallet_balance",
    );
    const wallet = await fundWallet(tenant, "driver", tenant.driver.id, 1249);
    expect(await tenant.driver.post(settle, selected(cash.id))).toFailWith(
      400,
      "insufficient_wallet_balance",
    );
    expect(await balanceOf(wallet)).toBe(1249);
    const other = await newCash(tenant, { driver: tenant.driver2.id });
    await fundWallet(tenant, "driver", tenant.driver2.id, 9000, "USD");
    const mismatch = await tenant.driver2.post(settle, selected(other.id));
    expect(mismatch).toFailWith(400, "settlement_amount_mismatch");
    expect((await rowOf(cash.id)).status).toBe("collected");
    expect(await settlementsOf(tenant)).toBe(0);
    expect(await cashDifferences(tenant)).toEqual([]);
  });

  test("cash in a currency that is not the tenant's is not remitted", async () => {
    const tenant = await fresh();
    const cash = await newCash(tenant, { currency: "USD", cod: 10.5, fee: 1.25 });
    expect(await tenant.dispatcher.post(remit, selected(cash.id))).toFailWith(
      400,
      "settlement_amount_mismatch",
    );
    const wallet = await fundWallet(tenant, "driver", tenant.driver.id, 20, "USD");
    const answer = await tenant.driver.post(settle, selected(cash.id));
    expect(answer.body.data).toMatchObject({
      total_settled: 11.75,
      currency: "USD",
      wallet_balance_after: 8.25,
    });
    expect(await balanceOf(wallet)).toBe(8.25);
  });
});

describe("the same key", () => {
  test("gives the same settlement, also for all, whatever was collected meanwhile", async () => {
    const tenant = await fresh();
    await newCash(tenant);
    const once = key();
    const first = await tenant.driver.post(remit, { scope: "all" }, once);
    expect(first).toSucceed(200);
    const late = await newCash(tenant);
    const again = await tenant.driver.post(remit, { scope: "all", notes: null }, once);
    expect(again.body).toEqual(first.body);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect((await rowOf(late.id)).status).toBe("collected");
  });

  test("is remembered as long as the settlement, in whatever order the ids come", async () => {
    const tenant = await fresh();
    const [one, two] = [await newCash(tenant), await newCash(tenant)];
    const once = key();
    const first = await tenant.dispatcher.post(remit, selected(one.id, two.id), once);
    await sql`delete from app.idempotency_keys where scope like ${tenant.id + "%"}`;
    const again = await tenant.dispatcher.post(remit, selected(two.id, one.id), once);
    expect(again.body.data).toEqual({ ...first.body.data, receipt_status: expect.any(String) });
    await sql`delete from app.idempotency_keys where scope like ${tenant.id + "%"}`;
    expect(await tenant.dispatcher.post(remit, selected(one.id), once)).toFailWith(
      409,
      "settlement_idempotency_conflict",
    );
    expect(await settlementsOf(tenant)).toBe(1);
  });

  test("with other input, or for the other way of settling, is refused", async () => {
    const tenant = await fresh();
    await fundWallet(tenant, "driver", tenant.driver.id, 100_000);
    const [one, two] = [await newCash(tenant), await newCash(tenant)];
    const once = key();
    expect(await tenant.driver.post(remit, selected(one.id), once)).toSucceed(200);
    expect(await tenant.driver.post(remit, selected(two.id), once)).toFailWith(
      409,
      "settlement_idempotency_conflict",
    );
    expect(await tenant.driver.post(settle, selected(two.id), once)).toFailWith(
      409,
      "settlement_idempotency_conflict",
    );
    expect((await rowOf(two.id)).status).toBe("collected");
  });

  test("of two people, and after a refusal, is another key", async () => {
    const tenant = await fresh();
    const once = key();
    expect(await tenant.driver.post(remit, { scope: "all" }, once)).toFailWith(
      400,
      "no_pending_collections",
    );
    await newCash(tenant);
    expect(await tenant.driver.post(remit, { scope: "all" }, once)).toSucceed(200);
    await newCash(tenant, { driver: tenant.driver2.id });
    expect(await tenant.driver2.post(remit, { scope: "all" }, once)).toSucceed(200);
    expect(await settlementsOf(tenant)).toBe(2);
  });
});

describe("races", () => {
  test("100 calls with one key make one settlement and 100 equal answers", async () => {
    const tenant = await fresh();
    const cash = [await newCash(tenant), await newCash(tenant)];
    const once = key();
    const answers = await Promise.all(
      Array.from(
        { length: 100 },
        () => tenant.dispatcher.post(remit, selected(...cash.map(({ id }) => id)), once),
      ),
    );
    for (const answer of answers) expect(answer.body).toEqual(answers[0].body);
    expect(answers[0]).toSucceed(200);
    expect(await settlementsOf(tenant)).toBe(1);
    expect(await accountOf(tenant, "cash_on_hand", tenant.dispatcher.id)).toBe(2500);
    expect(await cashDifferences(tenant)).toEqual([]);
  });

  test("selected, all and the wallet over the same rows settle each row once", async () => {
    const tenant = await fresh();
    const wallet = await fundWallet(tenant, "driver", tenant.driver.id, 1_000_000);
    const cash: { id: string }[] = [];
    for (let i = 0; i < 12; i++) cash.push(await newCash(tenant));
    const asks = [
      ...cash.map(({ id }, i) =>
        i % 2
          ? tenant.dispatcher.post(remit, selected(id))
          : tenant.driver.post(settle, selected(id))
      ),
      tenant.driver.post(remit, { scope: "all" }),
      tenant.driver.post(settle, { scope: "all" }),
      tenant.dispatcher.post(remit, selected(...cash.slice(3, 9).map(({ id }) => id))),
    ];
    const answers = await Promise.all(asks);
    for (const answer of answers) {
      if (answer.status !== 200) {
        expect(["cod_collections_not_pending", "no_pending_collections"]).toContain(
          answer.body.code,
        );
      }
    }
    const settled = answers.filter(({ status }) => status === 200)
      .flatMap(({ body: { data } }) => data.remitted_collections ?? data.settled_collections)
      .map(({ cod_collection_id }: { cod_collection_id: string }) => cod_collection_id);
    expect(settled.sort()).toEqual(cash.map(({ id }) => id).sort());
    const paid = answers.filter(({ status }) => status === 200).reduce(
      (sum, { body }) => sum + (body.data.total_settled ?? 0),
      0,
    );
    expect(await balanceOf(wallet)).toBe(1_000_000 - paid);
    expect(await cashDifferences(tenant)).toEqual([]);
    expect(await checkBooks(tenant)).toEqual([]);
  });
});
