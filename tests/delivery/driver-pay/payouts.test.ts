/** Drivers are paid what they earned: into the wallet or from a desk, once, exactly. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { heldBy, key, withCash } from "../../support/cash-desks.ts";
import { accountOf } from "../../support/cod.ts";
import { sql } from "../../support/db.ts";
import type { Ground } from "../../support/deliveries.ts";
import { brought, newPayer, payFor, payOut, payPath, sound } from "../../support/driver-pay.ts";
import { newPerson, newSystemAdmin } from "../../support/people.ts";
import { expectGuarded, expectNoSuch, expectPaged, expectRefused } from "../../support/promises.ts";

let other: Ground;
beforeAll(async () => {
  other = await newPayer();
});

const entriesOf = (payout: string) =>
  sql`select t.kind, a.kind as account, a.owner_type, e.amount from money.ledger_transactions t
    join money.ledger_entries e on e.transaction_id = t.id join money.accounts a on a.id = e.account_id
    where t.reference_id = ${payout} order by t.kind, e.amount`;

describe("a payout into the wallet", () => {
  test("credits all that accrued, by one journal, with an event", async () => {
    const ground = await newPayer();
    const { tenant } = ground;
    const ids = [await brought(ground), await brought(ground)];
    await brought(ground, tenant.driver2);
    const body = {
      driver_id: tenant.driver.id,
      method: "wallet",
      reference: "Week 47",
      notes: "With thanks",
    };
    const answer = await payOut(tenant.admin, body);
    expect(answer).toSucceed(201);
    const { payout } = answer.body.data;
    expect(payout).toEqual({
      id: expect.any(String),
      driver: { id: tenant.driver.id, full_name: expect.any(String) },
      amount: 1000,
      currency: "IQD",
      method: "wallet",
      count: 2,
      reference: "Week 47",
      notes: "With thanks",
      paid_by: { id: tenant.admin.id, full_name: expect.any(String) },
      paid_at: expect.any(String),
      reversed_at: null,
      reversed_by: null,
      reversal_reason: null,
    });
    expect(await entriesOf(payout.id)).toEqual([
      { kind: "driver_payout", account: "driver_payable", owner_type: "driver", amount: -1000 },
      { kind: "driver_payout", account: "wallet", owner_type: "driver", amount: 1000 },
    ]);
    for (const id of ids) expect(await payFor(id)).toMatchObject([{ status: "paid" }]);
    expect(await accountOf(tenant, "driver_payable", tenant.driver2.id)).toBe(500);
    expect(
      await sql`select event_type, event_data from integration.system_events where entity_id = ${payout.id}`,
    ).toEqual([{
      event_type: "driver_pay.paid",
      event_data: {
        payout_id: payout.id,
        driver_id: tenant.driver.id,
        method: "wallet",
        amount: 1000,
        currency: "IQD",
        count: 2,
        reference: "Week 47",
        actor_id: tenant.admin.id,
      },
    }]);
    expect(
      await sql`select actor_id from app.audit_log where tenant_id = ${tenant.id} and entity_id = ${payout.id}`,
    ).toEqual([{ actor_id: tenant.admin.id }]);
    expect(await payOut(tenant.admin, body)).toFailWith(409, "nothing_to_pay");
    await sound(tenant);
  });

  test("is for administrators alone, as every adjustment", async () => {
    const ground = await newPayer();
    const { tenant } = ground;
    await brought(ground);
    const body = { driver_id: tenant.driver.id, method: "wallet" };
    for (const person of [tenant.dispatcher, tenant.ops]) {
      expect(await payOut(person, body)).toFailWith(403, "forbidden");
    }
    const system = await newSystemAdmin();
    const there = { query: { tenant_id: tenant.id } };
    const poor = await payOut(system, { ...body, method: "cash" }, there);
    expect(poor).toFailWith(409, "insufficient_desk_cash");
    expect(await payOut(system, body, there)).toSucceed(201);
  });
});

describe("a payout in cash", () => {
  test("leaves the caller's desk, by a journal of the desk and one of the pay", async () => {
    const ground = await newPayer();
    const { tenant } = ground;
    await withCash(800, tenant);
    await brought(ground);
    const answer = await payOut(tenant.dispatcher, { driver_id: tenant.driver.id });
    expect(answer).toSucceed(201);
    expect(await heldBy(tenant, tenant.dispatcher)).toBe(300);
    expect(await entriesOf(answer.body.data.payout.id)).toEqual([
      { kind: "driver_payout", account: "driver_payable", owner_type: "driver", amount: -500 },
      { kind: "driver_payout", account: "external", owner_type: "tenant", amount: 500 },
      { kind: "driver_payout_cash", account: "cash_on_hand", owner_type: "staff", amount: -500 },
      { kind: "driver_payout_cash", account: "external", owner_type: "tenant", amount: 500 },
    ]);
    const { body } = await tenant.dispatcher.get("/delivery/cod-reconciliation");
    expect(body).toMatchObject({
      reconciled: true,
      desks: [{ remitted: 800, paid_out: 500, in_hand: 300, ledger: 300 }],
      driver_pay: [{
        driver_id: tenant.driver.id,
        driver_name: expect.any(String),
        currency: "IQD",
        accrued: 500,
        paid: 500,
        owed: 0,
        ledger: 0,
      }],
    });
    await sound(tenant);
  });

  test("is never more than the desk holds, and a refusal leaves nothing", async () => {
    const ground = await newPayer();
    const { tenant } = ground;
    await withCash(499, tenant);
    const id = await brought(ground);
    const body = { driver_id: tenant.driver.id };
    const refused = await payOut(tenant.dispatcher, body);
    expect(refused).toFailWith(409, "insufficient_desk_cash");
    expect(refused.body).toMatchObject({ held: 499, currency: "IQD" });
    // Nothing was ever on this desk.
    expect((await payOut(tenant.ops, body)).body).toMatchObject({
      code: "insufficient_desk_cash",
      held: 0,
    });
    expect(await payFor(id)).toMatchObject([{ status: "accrued" }]);
    expect(await sql`select from money.driver_payouts where tenant_id = ${tenant.id}`)
      .toHaveLength(0);
    await sound(tenant);
  });

  test("the operations manager pays from the operations manager's desk", async () => {
    const ground = await newPayer();
    const { tenant } = ground;
    await withCash(700, tenant);
    const transfer = { kind: "handover", to_user_id: tenant.ops.id, amount: 700 };
    expect(await tenant.dispatcher.post("/delivery/cash-desks/transfers", transfer, key()))
      .toSucceed(201);
    await brought(ground);
    expect(await payOut(tenant.ops, { driver_id: tenant.driver.id })).toSucceed(201);
    expect(await heldBy(tenant, tenant.ops)).toBe(200);
    await sound(tenant);
  });
});

test("a payout pays what accrued until a day or an instant, and the next one the rest", async () => {
  const ground = await newPayer();
  const { tenant } = ground;
  const [old, fresh] = [await brought(ground), await brought(ground)];
  await sql`update money.driver_pay set accrued_at = '2026-03-05 10:00+00' where delivery_id = ${old}`;
  const paid = async (more: object) => {
    const answer = await payOut(tenant.admin, {
      driver_id: tenant.driver.id,
      method: "wallet",
      ...more,
    });
    return answer.body.data?.payout.count ?? answer.body.code;
  };
  expect(await paid({ date_to: "2026-03-04" })).toBe("nothing_to_pay");
  expect(await paid({ date_to: "2026-03-05T09:59:59Z" })).toBe("nothing_to_pay");
  expect(await paid({ date_to: "2026-03-05" })).toBe(1);
  expect(await payFor(fresh)).toMatchObject([{ status: "accrued" }]);
  expect(await paid({ currency: "USD" })).toBe("nothing_to_pay");
  expect(await paid({ currency: "IQD" })).toBe(1);
});

test("a payout is for the office of the driver's own company, and names what is wrong", async () => {
  const { tenant } = other;
  const body = { driver_id: tenant.driver.id, method: "cash" };
  await expectGuarded({ method: "POST", path: `${payPath}/payouts`, body }, {
    denied: [tenant.warehouse, tenant.staff, tenant.driver, tenant.institution, tenant.customer],
  });
  const { tenant: stranger } = await newPayer();
  expect(await payOut(stranger.admin, body, { query: { tenant_id: tenant.id } })).toFailWith(
    403,
    "forbidden",
  );
  for (const driver_id of [randomUUID(), stranger.driver.id, tenant.customer.id]) {
    const answer = await payOut(tenant.admin, { driver_id });
    expect(answer).toFailWith(404, "driver_not_found");
    expect(answer.body.field).toBe("driver_id");
  }
  for (const method of ["cash", "wallet"]) {
    expect(await payOut(tenant.admin, { ...body, method })).toFailWith(409, "nothing_to_pay");
  }
  await expectRefused(tenant.admin, { method: "POST", path: `${payPath}/payouts` }, [
    [{ method: "cash" }, "driver_id"],
    [{ ...body, driver_id: "x" }, "driver_id", "invalid_uuid"],
    [{ driver_id: tenant.driver.id }, "method"],
    [{ ...body, method: "bank" }, "method"],
    [{ ...body, currency: "dinar" }, "currency"],
    [{ ...body, date_to: "soon" }, "date_to"],
    [{ ...body, reference: " " }, "reference"],
    [{ ...body, notes: "x".repeat(2001) }, "notes"],
  ]);
});

test("the list finds payouts; drivers see their own alone", async () => {
  const ground = await newPayer();
  const { tenant } = ground;
  for (const who of [tenant.driver, tenant.driver, tenant.driver2]) {
    await brought(ground, who);
    expect(await payOut(tenant.admin, { driver_id: who.id, method: "wallet" })).toSucceed(201);
  }
  await expectPaged(tenant.dispatcher, `${payPath}/payouts`, "paid_at");
  const found = async (person: typeof tenant.admin, query: Record<string, string> = {}) => {
    const answer = await person.get(`${payPath}/payouts`, { query });
    expect(answer).toSucceed(200);
    return answer.body.data.map(({ driver }: { driver: { id: string } }) => driver.id);
  };
  const [one, two] = [tenant.driver.id, tenant.driver2.id];
  expect(await found(tenant.ops, { driver_id: two })).toEqual([two]);
  expect(await found(tenant.ops, { method: "cash" })).toEqual([]);
  expect(await found(tenant.ops, { reversed: "true" })).toEqual([]);
  expect(await found(tenant.ops, { date_from: "2100-01-01" })).toEqual([]);
  expect(await found(tenant.ops, { search: "driver2" })).toEqual([two]);
  expect(await found(tenant.driver)).toEqual([one, one]);
  expect(await found(tenant.driver, { driver_id: two })).toEqual([one, one]);
  expect(await found(tenant.driver, { driver_id: "x" })).toEqual([one, one]);
  expect(await tenant.ops.get(`${payPath}/payouts`, { query: { driver_id: "x" } })).toFailWith(
    400,
    "invalid_uuid",
  );
  const list = await tenant.admin.get(`${payPath}/payouts`);
  const [newest, , oldest] = list.body.data;
  const shown = await tenant.driver2.get(`${payPath}/payouts/${newest.id}`);
  expect(shown.body.data).toEqual({ payout: newest });
  expect(await tenant.driver2.get(`${payPath}/payouts/${oldest.id}`)).toFailWith(
    404,
    "driver_payout_not_found",
  );
  const read = { method: "GET", path: `${payPath}/payouts/{id}` } as const;
  await expectNoSuch(other.tenant.admin, read, "id", "driver_payout_not_found", newest.id);
  const denied = [tenant.warehouse, tenant.staff, tenant.institution, tenant.customer];
  for (const place of [`${payPath}/payouts`, `${payPath}/payouts/${newest.id}`]) {
    await expectGuarded({ method: "GET", path: place }, { denied });
  }
  expect(await found(await newPerson(tenant.id, "driver", "driver"))).toEqual([]);
});
