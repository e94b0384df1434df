/** A payout that was entered by mistake is reversed by its mirror, once; its pay is due again. */
import { beforeAll, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { heldBy, withCash } from "../../support/cash-desks.ts";
import { accountOf } from "../../support/cod.ts";
import { sql } from "../../support/db.ts";
import type { Ground } from "../../support/deliveries.ts";
import {
  brought,
  newPayer,
  payFor,
  payOut,
  payPath,
  reverse,
  sound,
} from "../../support/driver-pay.ts";
import { newPerson, type Tenant } from "../../support/people.ts";
import { expectNoSuch, expectReplayed } from "../../support/promises.ts";
import { adjust } from "../../support/wallets.ts";

let other: Tenant;
beforeAll(async () => {
  other = (await newPayer()).tenant;
});

/** A payout of 500 to the driver: from the dispatcher's desk, which holds 800, or into the wallet. */
async function paid(
  method: "wallet" | "cash",
): Promise<{ ground: Ground; id: string; pay: string }> {
  const ground = await newPayer();
  const { tenant } = ground;
  await withCash(800, tenant);
  const pay = await brought(ground);
  const answer = await payOut(method === "cash" ? tenant.dispatcher : tenant.admin, {
    driver_id: tenant.driver.id,
    method,
  });
  expect(answer).toSucceed(201);
  return { ground, pay, id: answer.body.data.payout.id };
}

test.each(["cash", "wallet"] as const)(
  "of %s: both journals stay, and the pay is paid anew",
  async (method) => {
    const { ground: { tenant }, id, pay } = await paid(method);
    const by = method === "cash" ? tenant.dispatcher : tenant.admin;
    const answer = await reverse(by, id);
    expect(answer).toSucceed(200);
    expect(answer.body.data.payout).toMatchObject({
      id,
      amount: 500,
      reversed_at: expect.any(String),
      reversed_by: { id: by.id },
      reversal_reason: "Typed twice",
    });
    const [event] = await sql`select event_data from integration.system_events
      where entity_id = ${id} and event_type = 'driver_pay.reversed'`;
    expect(event!.event_data).toEqual({
      payout_id: id,
      driver_id: tenant.driver.id,
      method,
      amount: 500,
      currency: "IQD",
      count: 1,
      reference: null,
      reason: "Typed twice",
      actor_id: by.id,
    });
    expect(await payFor(pay)).toMatchObject([{ status: "accrued" }]);
    expect(await accountOf(tenant, "driver_payable", tenant.driver.id)).toBe(500);
    expect(await heldBy(tenant, tenant.dispatcher)).toBe(800);
    expect(await accountOf(tenant, "wallet", tenant.driver.id)).toBe(0);
    const journals = await sql`select kind from money.ledger_transactions
    where tenant_id = ${tenant.id} and reference_id = ${id} order by kind collate "C"`;
    expect(journals.map(({ kind }) => kind)).toEqual(
      method === "cash"
        ? [
          "driver_payout",
          "driver_payout_REVERSAL",
          "driver_payout_cash",
          "driver_payout_cash_REVERSAL",
        ]
        : ["driver_payout", "driver_payout_REVERSAL"],
    );
    await sound(tenant);
    const again = await reverse(tenant.admin.in("ar"), id);
    expect(again).toFailWith(409, "driver_payout_already_reversed");
    expect(again.body.message).toBe("تم التراجع عن عملية صرف الأجر هذه من قبل.");
    expect(await payOut(tenant.admin, { driver_id: tenant.driver.id, method: "wallet" }))
      .toSucceed(201);
    expect(await payFor(pay)).toMatchObject([{ status: "paid" }]);
    const list = await tenant.admin.get(`${payPath}/payouts`, { query: { reversed: "true" } });
    expect(list.body.data.map((one: { id: string }) => one.id)).toEqual([id]);
    await sound(tenant);
  },
);

test("not from a wallet that has spent it", async () => {
  const { ground: { tenant }, id, pay } = await paid("wallet");
  const { body } = await tenant.driver.get("/delivery/wallets/me");
  expect(body.wallet.balance).toBe(500);
  expect(await adjust(tenant.admin, body.wallet.id, 1, "debit")).toSucceed(200);
  expect(await reverse(tenant.admin, id)).toFailWith(400, "insufficient_wallet_balance");
  expect(await payFor(pay)).toMatchObject([{ status: "paid" }]);
  await sound(tenant);
});

test("cash comes back to the desk that paid it, entered by its owner or an administrator", async () => {
  const { ground: { tenant }, id } = await paid("cash");
  const colleague = await newPerson(tenant.id, "staff", "dispatcher");
  for (const person of [colleague, tenant.ops, tenant.warehouse, tenant.driver, tenant.customer]) {
    expect(await reverse(person, id)).toFailWith(403, "forbidden");
  }
  expect(await reverse(nobody, id)).toFailWith(401, "unauthorized");
  expect(await reverse(tenant.admin, id)).toSucceed(200);
  expect(await heldBy(tenant, tenant.dispatcher)).toBe(800);
});

test("wallets are for administrators, of their own company, with a reason", async () => {
  const { ground: { tenant }, id } = await paid("wallet");
  for (const person of [tenant.dispatcher, tenant.ops]) {
    expect(await reverse(person, id)).toFailWith(403, "forbidden");
  }
  for (const reason of [undefined, null, "", " ", 7]) {
    const answer = await tenant.admin.post(`${payPath}/payouts/${id}/reverse`, { reason });
    expect(answer).toFailWith(400, "validation_failed");
    expect(answer.body.field).toBe("reason");
  }
  const call = {
    method: "POST",
    path: `${payPath}/payouts/{id}/reverse`,
    body: { reason: "No" },
  } as const;
  await expectNoSuch(other.admin, call, "id", "driver_payout_not_found", id);
});

test("twenty at once reverse once; one key is answered with what it did", async () => {
  const { ground: { tenant }, id } = await paid("cash");
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => reverse(n % 2 ? tenant.dispatcher : tenant.admin, id)),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  for (const answer of answers.filter(({ status }) => status !== 200)) {
    expect(answer).toFailWith(409, "driver_payout_already_reversed");
  }
  const second = await payOut(tenant.dispatcher, { driver_id: tenant.driver.id });
  const place = `${payPath}/payouts/${second.body.data.payout.id}/reverse`;
  await expectReplayed(tenant.dispatcher, place, { reason: "Wrong" }, { reason: "Other" });
  expect(await heldBy(tenant, tenant.dispatcher)).toBe(800);
  await sound(tenant);
});

test("a payout and a reversal at the same moment pay the pay at most once", async () => {
  const { ground: { tenant }, id } = await paid("wallet");
  for (let round = 0, last = id; round < 5; round++) {
    const [back, next] = await Promise.all([
      reverse(tenant.admin, last),
      payOut(tenant.dispatcher, { driver_id: tenant.driver.id }),
    ]);
    expect(back).toSucceed(200);
    if (next.status !== 201) expect(next).toFailWith(409, "nothing_to_pay");
    const paidNow = next.status === 201
      ? next
      : await payOut(tenant.dispatcher, { driver_id: tenant.driver.id });
    expect(paidNow).toSucceed(201);
    last = paidNow.body.data.payout.id;
    await sound(tenant);
  }
});
