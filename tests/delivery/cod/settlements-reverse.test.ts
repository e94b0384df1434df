/** A settlement that was entered wrongly is taken back as a whole, once, by its mirror; then its rows may be settled rightly. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { heldBy, transfer } from "../../support/cash-desks.ts";
import { accountOf, cashRow, newCash, remit, selected, settle } from "../../support/cod.ts";
import { sql } from "../../support/db.ts";
import { fundWallet } from "../../support/money.ts";
import { newPerson, newTenant, type Tenant } from "../../support/people.ts";
import { expectNoSuch, expectRefused } from "../../support/promises.ts";
import { paid, remitted, settlements, sound, takeBack } from "../../support/settlements.ts";

let b: Tenant;
beforeAll(async () => {
  b = await newTenant();
});

const noticesOf = (payment: string) =>
  sql`select user_id, type from tenancy.notifications where payload ->> 'settlement_payment_id' = ${payment}`;

test("cash that was remitted is the driver's again; settlement, items and journal stay", async () => {
  const tenant = await newTenant();
  const { payment, ids } = await remitted(tenant, { rows: 2, body: { reference: "Slip 9" } });
  const answer = await takeBack(tenant.dispatcher, payment);
  expect(answer).toSucceed(200);
  expect(answer.body.data).toMatchObject({
    settlement_payment_id: payment,
    method: "remit",
    total: 2500,
    cod: 2000,
    delivery_fee: 500,
    reference: "Slip 9",
    receiver: { id: tenant.dispatcher.id },
    reversed_at: expect.any(String),
    reversed_by: { id: tenant.dispatcher.id },
    reversal_reason: "Wrong driver",
  });
  expect(
    answer.body.data.items.map(({ cod_collection_id }: { cod_collection_id: string }) =>
      cod_collection_id
    ),
  ).toEqual(
    ids,
  );
  for (const id of ids) {
    expect(await cashRow(id)).toMatchObject({
      status: "collected",
      remitted_at: null,
      remitted_to_user_id: null,
      settlement_payment_id: null,
    });
  }
  expect(await heldBy(tenant, tenant.dispatcher)).toBe(0);
  expect(await accountOf(tenant, "driver_cash", tenant.driver.id)).toBe(2500);
  expect(
    await sql`select t.kind, t.description, e.amount from money.ledger_transactions t
      join money.ledger_entries e on e.transaction_id = t.id join money.accounts a on a.id = e.account_id
      where t.reference_id = ${payment} and a.kind = 'driver_cash' order by e.id`,
  ).toEqual([
    { kind: "cod_settlement", description: "Cash remitted", amount: -2500 },
    { kind: "cod_settlement_REVERSAL", description: "Wrong driver", amount: 2500 },
  ]);
  expect(
    await sql`select event_type from integration.system_events where entity_id = ${payment} order by event_type`,
  ).toEqual([{ event_type: "cod_settlement.created" }, { event_type: "cod_settlement.reversed" }]);
  expect(await noticesOf(payment)).toEqual([
    { user_id: tenant.driver.id, type: "cod_settlement_reversed" },
  ]);
  const told = await tenant.driver.in("ar").get("/tenants/me/notifications");
  expect(told.body.data[0].message).toBe(
    "تم التراجع عن تسوية بمبلغ 2500 IQD، وعاد نقدها إلى ذمة السائق.",
  );
  await sound(tenant);
});

test("a reversed settlement is settled again, the other way or in parts, and reversed again", async () => {
  const tenant = await newTenant();
  const { payment, ids } = await remitted(tenant, { rows: 2 });
  expect(await takeBack(tenant.dispatcher, payment)).toSucceed(200);
  await fundWallet(tenant, "driver", tenant.driver.id, 1250);
  const byWallet = await tenant.driver.post(settle, selected(ids[0]));
  expect(byWallet).toSucceed(200);
  const all = await tenant.dispatcher.post(remit, { scope: "all", driver_id: tenant.driver.id });
  expect(all).toSucceed(200);
  expect(all.body.data.total_remitted).toBe(1250);
  await sound(tenant);
  expect(await takeBack(tenant.dispatcher, all.body.data.settlement_payment_id)).toSucceed(200);
  expect(await takeBack(tenant.admin, byWallet.body.data.settlement_payment_id)).toSucceed(200);
  expect(await cashRow(ids[0])).toMatchObject({ status: "collected", settled_at: null });
  await sound(tenant);
});

test("what was paid from a wallet is there again, and the tenant's fees are not", async () => {
  const tenant = await newTenant();
  const { payment } = await paid(tenant);
  expect(await accountOf(tenant, "wallet", null)).toBe(250);
  const answer = await takeBack(tenant.admin, payment);
  expect(answer).toSucceed(200);
  expect(answer.body.data).toMatchObject({ method: "wallet", receiver: null });
  expect(await accountOf(tenant, "wallet", tenant.driver.id)).toBe(1250);
  expect(await accountOf(tenant, "wallet", null)).toBe(0);
  expect(await accountOf(tenant, "driver_cash", tenant.driver.id)).toBe(1250);
  await sound(tenant);
});

test("a repetition of the settlement's key is still answered with it, and settles nothing", async () => {
  const tenant = await newTenant();
  const { id } = await newCash(tenant);
  const options = { headers: { "idempotency-key": randomUUID() } };
  const first = await tenant.dispatcher.post(remit, selected(id), options);
  expect(first).toSucceed(200);
  const payment = first.body.data.settlement_payment_id;
  expect(await takeBack(tenant.dispatcher, payment)).toSucceed(200);
  const again = await tenant.dispatcher.post(remit, selected(id), options);
  expect(again).toSucceed(200);
  expect(again.body.data.settlement_payment_id).toBe(payment);
  expect((await cashRow(id)).status).toBe("collected");
  await sound(tenant);
});

describe("is refused", () => {
  test("when it was done", async () => {
    const tenant = await newTenant();
    const { payment } = await remitted(tenant);
    expect(await takeBack(tenant.dispatcher, payment)).toSucceed(200);
    const again = await takeBack(tenant.admin.in("ku"), payment);
    expect(again).toFailWith(409, "settlement_already_reversed");
    expect(again.body.message).toBe("ئەم یەکلاکردنەوەیە پێشتر هەڵوەشێنراوەتەوە.");
  });

  test("when the receiver gave the cash on, until it comes back", async () => {
    const tenant = await newTenant();
    const { payment, ids } = await remitted(tenant);
    const gone = await transfer(tenant.dispatcher, { amount: 1 });
    expect(gone).toSucceed(201);
    const refused = await takeBack(tenant.dispatcher, payment);
    expect(refused).toFailWith(409, "insufficient_desk_cash");
    expect(refused.body).toMatchObject({ held: 1249, currency: "IQD" });
    expect((await cashRow(ids[0])).status).toBe("remitted");
    await remitted(tenant, { body: { reference: "More" } });
    expect(await takeBack(tenant.dispatcher, payment)).toSucceed(200);
    expect(await heldBy(tenant, tenant.dispatcher)).toBe(1249);
    await sound(tenant);
  });

  test("when the tenant spent the fees", async () => {
    const tenant = await newTenant();
    const { payment, ids } = await paid(tenant);
    const { body } = await tenant.admin.get("/delivery/wallets", {
      query: { owner_type: "tenant" },
    });
    const spent = await tenant.admin.post(
      `/delivery/wallets/${body.data[0].id}/adjust`,
      { direction: "debit", amount: 1, reason: "Stamps" },
      { headers: { "idempotency-key": randomUUID() } },
    );
    expect(spent).toSucceed();
    expect(await takeBack(tenant.admin, payment)).toFailWith(400, "insufficient_wallet_balance");
    expect((await cashRow(ids[0])).status).toBe("settled_by_wallet");
    await sound(tenant);
  });

  test("for the receipt of an old row, which moved no money", async () => {
    const tenant = await newTenant();
    const { id } = await newCash(tenant);
    await sql`update money.cod_collections set status = 'remitted', remitted_at = '2025-05-05T10:00:00Z' where id = ${id}`;
    const { body } = await tenant.admin.post(`/delivery/cod-collections/${id}/receipt`);
    expect(await takeBack(tenant.admin, body.settlement_payment_id)).toFailWith(
      409,
      "settlement_not_reversible",
    );
  });

  test("without a reason, and for ids that are none or another tenant's", async () => {
    const [tenant, ofB] = [await newTenant(), await remitted(b)];
    const call = {
      method: "POST" as const,
      path: `${settlements}/{id}/reverse`,
      body: { reason: "x" },
    };
    await expectNoSuch(
      tenant.admin,
      call,
      "settlement_payment_id",
      "settlement_not_found",
      ofB.payment,
    );
    const { payment } = await remitted(tenant);
    await expectRefused(tenant.admin, { ...call, path: call.path.replace("{id}", payment) }, [
      [{}, "reason"],
      [{ reason: " " }, "reason"],
      [{ reason: 7 }, "reason"],
      [{ reason: "x".repeat(2_001) }, "reason"],
    ]);
    expect((await takeBack(nobody, payment)).status).toBe(401);
    await sound(b);
  });

  test("to all but who entered it, who has the cash, and administrators", async () => {
    const tenant = await newTenant();
    const other = await newPerson(tenant.id, "staff", "dispatcher");
    const { payment } = await remitted(tenant, { body: { remitted_to_user_id: other.id } });
    const third = await newPerson(tenant.id, "staff", "dispatcher");
    for (
      const person of [third, tenant.ops, tenant.warehouse, tenant.driver, tenant.customer]
    ) {
      expect(await takeBack(person, payment)).toFailWith(403, "forbidden");
    }
    expect(await takeBack(tenant.dispatcher, payment)).toSucceed(200);
    expect((await noticesOf(payment)).map(({ user_id }) => user_id).sort()).toEqual(
      [tenant.driver.id, other.id].sort(),
    );
    const second = await remitted(tenant, { body: { remitted_to_user_id: other.id } });
    expect(await takeBack(other, second.payment)).toSucceed(200);
    const own = await remitted(tenant, { by: tenant.driver });
    expect(await takeBack(tenant.dispatcher, own.payment)).toFailWith(403, "forbidden");
    expect(await takeBack(tenant.admin, own.payment)).toSucceed(200);
    await sound(tenant);
  });
});

describe("the handover it used", () => {
  const declare = (tenant: Tenant, counted_amount: number) =>
    tenant.dispatcher.post("/delivery/cod-collections/handover", {
      driver_id: tenant.driver.id,
      amount: 1250,
      counted_amount,
    });
  const handover = async (id: string) =>
    (await sql`select status, settlement_payment_id from money.cash_handovers where id = ${id}`)[0];

  test("is used by the next remittance of its sum", async () => {
    const tenant = await newTenant({
      settings: { "delivery.cod": { require_handover: true } },
    });
    await newCash(tenant, { cod: 0, fee: 1250 });
    const counted = await declare(tenant, 1250);
    expect(counted).toSucceed(201);
    const all = { scope: "all", driver_id: tenant.driver.id };
    const first = await tenant.dispatcher.post(remit, all);
    expect(first).toSucceed(200);
    expect(await takeBack(tenant.dispatcher, first.body.data.settlement_payment_id)).toSucceed(200);
    expect(await handover(counted.body.data.id)).toEqual({
      status: "counted",
      settlement_payment_id: null,
    });
    const second = await tenant.dispatcher.post(remit, all);
    expect(second).toSucceed(200);
    expect((await handover(counted.body.data.id)).settlement_payment_id).toBe(
      second.body.data.settlement_payment_id,
    );
    await sound(tenant);
  });

  test("that was resolved before is booked with each remittance, and with its reversal", async () => {
    const tenant = await newTenant();
    const { id } = await newCash(tenant);
    const short = await declare(tenant, 1000);
    expect(short.body.data.status).toBe("discrepancy");
    const path = `/delivery/cod-collections/handovers/${short.body.data.id}/resolve`;
    expect(await tenant.dispatcher.post(path, { resolution: "written_off" })).toSucceed(200);
    const answer = await tenant.dispatcher.post(remit, selected(id));
    expect(answer).toSucceed(200);
    expect(await heldBy(tenant, tenant.dispatcher)).toBe(1000);
    expect(await takeBack(tenant.dispatcher, answer.body.data.settlement_payment_id)).toSucceed(
      200,
    );
    expect(await heldBy(tenant, tenant.dispatcher)).toBe(0);
    await sound(tenant);
    expect(await tenant.dispatcher.post(remit, selected(id))).toSucceed(200);
    expect(await heldBy(tenant, tenant.dispatcher)).toBe(1000);
    await sound(tenant);
  });
});
