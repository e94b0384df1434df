/** Settling cash from the wallet; and settlements of either way, once for each key and each row. */
import { describe, expect, test } from "vitest";
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
import { balanceOf, checkBooks, fundWallet } from "../../support/money.ts";
import { newTenant, saveSettings } from "../../support/people.ts";

describe("settle by wallet", () => {
  test("takes the whole from the driver, gives the fees to the tenant and nothing to the merchant", async () => {
    const tenant = await newTenant();
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
    expect(await cashRow(cash[0].id)).toMatchObject({
      status: "settled_by_wallet",
      remitted_at: null,
      remitted_to_user_id: null,
    });
    expect(await cashDifferences(tenant)).toEqual([]);
    expect(await checkBooks(tenant)).toEqual([]);
  });

  test("has no receiver: none is asked for, and one that is sent is kept nowhere", async () => {
    const tenant = await newTenant();
    await saveSettings(tenant.id, "delivery.cod", { driver_self_remit: "require_receiver" });
    await fundWallet(tenant, "driver", tenant.driver.id, 5000);
    for (const remitted_to_user_id of [undefined, tenant.dispatcher.id]) {
      const { id } = await newCash(tenant);
      const answer = await tenant.driver.post(settle, { ...selected(id), remitted_to_user_id });
      expect(answer).toSucceed(200);
      expect((await cashRow(id)).remitted_to_user_id).toBeNull();
      const [row] = await sql`select s.receiver_id, p.snapshot from money.cod_settlements s
        join money.payments p on p.id = s.payment_id
        where s.payment_id = ${answer.body.data.settlement_payment_id}`;
      expect(row.receiver_id).toBeNull();
      expect(row.snapshot).toMatchObject({ receiver: null, receiver_is_driver: false });
    }
  });

  test("a receiver who could not take the cash of a remittance is refused, and nothing is settled", async () => {
    const [tenant, other] = await Promise.all([newTenant(), newTenant()]);
    const wallet = await fundWallet(tenant, "driver", tenant.driver.id, 5000);
    const { id } = await newCash(tenant);
    const nobody = "00000000-0000-0000-0000-000000000000";
    for (const receiver of [nobody, other.dispatcher.id, tenant.customer.id, tenant.driver2.id]) {
      const body = { ...selected(id), remitted_to_user_id: receiver };
      for (const person of [tenant.driver, tenant.dispatcher]) {
        for (const path of [remit, settle]) {
          const refused = await person.post(path, body);
          expect(refused).toFailWith(400, "invalid_receiver");
          expect(refused.body.field).toBe("remitted_to_user_id");
        }
      }
    }
    expect((await cashRow(id)).status).toBe("collected");
    expect(await balanceOf(wallet)).toBe(5000);
    expect(await settlementsOf(tenant)).toBe(0);
  });

  test("a short wallet, no wallet, or one in another currency settles nothing", async () => {
    const tenant = await newTenant();
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
    expect((await cashRow(cash.id)).status).toBe("collected");
    expect(await settlementsOf(tenant)).toBe(0);
    expect(await cashDifferences(tenant)).toEqual([]);
  });

  test("cash in a currency that is not the tenant's is not remitted", async () => {
    const tenant = await newTenant();
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
    const tenant = await newTenant();
    await newCash(tenant);
    const once = key();
    const first = await tenant.driver.post(remit, { scope: "all" }, once);
    expect(first).toSucceed(200);
    const late = await newCash(tenant);
    const again = await tenant.driver.post(remit, { scope: "all", notes: null }, once);
    expect(again.body).toEqual(first.body);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect((await cashRow(late.id)).status).toBe("collected");
  });

  test("is remembered as long as the settlement, in whatever order the ids come", async () => {
    const tenant = await newTenant();
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
    const tenant = await newTenant();
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
    expect((await cashRow(two.id)).status).toBe("collected");
  });

  test("of two people, and after a refusal, is another key", async () => {
    const tenant = await newTenant();
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
    const tenant = await newTenant();
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
    const tenant = await newTenant();
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
