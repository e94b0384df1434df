/** A statement says what is released and on no statement yet: once, to the last dinar. */
import { beforeAll, describe, expect, test } from "vitest";
import { delivered, setPayouts } from "../../support/cod-holds.ts";
import { sql } from "../../support/db.ts";
import { newDelivery } from "../../support/deliveries.ts";
import {
  broughtIn,
  cancel,
  linesOf,
  newMerchant,
  open,
  opened,
  pay,
  reverseSettlement,
  shownOf,
  sound,
  statementPath,
} from "../../support/merchant-statements.ts";
import { fundWallet } from "../../support/money.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectRefused, expectReplayed } from "../../support/promises.ts";
import { adjust, newWallet } from "../../support/wallets.ts";

let other: Tenant;
beforeAll(async () => {
  other = (await newMerchant()).tenant;
});

test("a statement lists COD, fees and adjustments, each with its delivery, and emits an event", async () => {
  const { ground, tenant } = await newMerchant([7_000, 3_000]);
  const held = await delivered(ground, [900]);
  const { wallet } = (await tenant.customer.get("/delivery/wallets/me")).body;
  expect(await adjust(tenant.admin, wallet.id, 500)).toSucceed(200);
  const { id } = await newDelivery(ground, {
    payer_type: "sender",
    payment_method: "wallet",
    external_reference_id: "ORDER-1",
  });
  const answer = await open(tenant);
  expect(answer).toSucceed(201);
  const { statement } = answer.body.data;
  expect(statement).toEqual({
    id: expect.any(String),
    number: "MS-000001",
    owner: { id: tenant.customer.id, full_name: expect.any(String) },
    currency: "IQD",
    opened_at: expect.any(String),
    period: { from: expect.any(String), to: expect.any(String) },
    gross_cod: 10_000,
    fees: 2_000,
    refunds: 0,
    adjustments: 500,
    net: 8_500,
    count: 4,
    status: "open",
    payout_id: null,
    confirmed_at: null,
    voided_at: null,
    void_reason: null,
    payout: null,
  });
  const read = await tenant.customer.get(`${statementPath}/${statement.id}`);
  expect(read).toSucceed(200);
  const { lines, ...shown } = read.body.data.statement;
  expect(shown).toEqual({ ...statement, payouts: [] });
  expect(lines).toHaveLength(4);
  expect(lines.map(({ kind, amount }: Record<string, unknown>) => [kind, amount])).toEqual([
    ["cod", 7_000],
    ["cod", 3_000],
    ["adjustment", 500],
    ["delivery_fee", -2_000],
  ]);
  expect(lines[3]).toMatchObject({
    delivery: { id, delivery_code: expect.any(Number), external_reference_id: "ORDER-1" },
    collected_at: expect.any(String),
    released_at: expect.any(String),
  });
  expect(lines[0].released_at > lines[0].collected_at).toBe(true);
  expect(lines[2].delivery).toBeNull();
  expect(await shownOf(tenant.customer)).toEqual([9_400, 900, 8_500, 0]);
  expect(
    await sql`select event_type, event_data from integration.system_events where entity_id = ${statement.id}`,
  ).toEqual([{
    event_type: "merchant_statement.opened",
    event_data: {
      statement_id: statement.id,
      number: "MS-000001",
      owner_user_id: tenant.customer.id,
      net: 8_500,
      currency: "IQD",
      count: 4,
      actor_id: tenant.ops.id,
    },
  }]);
  // The held COD comes with the next one.
  expect(held).toHaveLength(1);
  expect(await open(tenant)).toFailWith(409, "statement_below_minimum");
  await sound(tenant);
});

test("what is stated pays nothing else", async () => {
  const { tenant } = await newMerchant([7_000]);
  const { wallet } = (await tenant.customer.get("/delivery/wallets/me")).body;
  await opened(tenant);
  const refused = await adjust(tenant.admin, wallet.id, 1, "debit");
  expect(refused).toFailWith(400, "insufficient_wallet_balance");
  expect(refused.body).toMatchObject({ balance: 7_000, available: 0, required: 1 });
  await fundWallet(tenant, "customer", tenant.customer.id, 300);
  expect(await shownOf(tenant.customer)).toEqual([7_300, 0, 7_000, 300]);
  expect(await adjust(tenant.admin, wallet.id, 300, "debit")).toSucceed(200);
  await sound(tenant);
});

test("a statement is of movements until a day or an instant; the next one has the rest", async () => {
  const { ground, tenant } = await newMerchant([7_000]);
  const [{ at }] = await sql`select now() as at`;
  await broughtIn(ground, [1_000]);
  const until = new Date(at).toISOString();
  expect((await opened(tenant, { date_to: until })).net).toBe(7_000);
  expect(await open(tenant, { date_to: until })).toFailWith(409, "statement_below_minimum");
  expect(await open(tenant, { date_to: "2020-01-01" })).toFailWith(409, "statement_below_minimum");
  const next = await opened(tenant);
  expect(next).toMatchObject({ net: 1_000, number: "MS-000002" });
  expect(Date.parse(next.period.from)).toBe(Date.parse(until));
  await sound(tenant);
});

test("what is held again after it was stated is taken off by the next statement, and stated once more", async () => {
  const { ground, tenant, rows } = await newMerchant([7_000]);
  const first = await opened(tenant);
  expect(await pay(tenant.ops, first.id)).toSucceed(200);
  expect(await reverseSettlement(tenant, rows[0]!)).toSucceed(200);
  expect(await shownOf(tenant.customer)).toEqual([0, 7_000, 0, -7_000]);
  expect(await open(tenant)).toFailWith(409, "statement_below_minimum");
  await broughtIn(ground, [10_000]);
  const second = await opened(tenant);
  expect(second).toMatchObject({ gross_cod: 10_000, adjustments: -7_000, net: 3_000 });
  expect(await linesOf(tenant.ops, second.id)).toEqual([["adjustment", -7_000], ["cod", 10_000]]);
  await sound(tenant);
  expect(
    await tenant.dispatcher.post("/delivery/cod-collections/remit", {
      scope: "selected",
      cod_collection_ids: [rows[0]],
    }),
  ).toSucceed(200);
  const third = await opened(tenant);
  expect(await linesOf(tenant.ops, third.id)).toEqual([["adjustment", 7_000]]);
  expect(await pay(tenant.ops, second.id)).toSucceed(200);
  expect(await pay(tenant.ops, third.id)).toSucceed(200);
  expect(await shownOf(tenant.customer)).toEqual([0, 0, 0, 0]);
  await sound(tenant);
});

describe("an owner who is no member any more", () => {
  const rule = { release: "on_remit", keep: 1_000, minimum: 3_000 };
  const deactivate = (tenant: Tenant, is_active: boolean) =>
    tenant.admin.put(`/tenants/${tenant.id}/users/${tenant.customer.id}`, { is_active });

  test("is stated all that is there: nothing is kept, and there is no least amount", async () => {
    const { tenant } = await newMerchant([7_000], rule);
    expect(await pay(tenant.ops, (await opened(tenant)).id)).toSucceed(200);
    expect(await shownOf(tenant.customer)).toEqual([1_000, 0, 0, 1_000]);
    const refused = await open(tenant);
    expect(refused).toFailWith(409, "statement_below_minimum");
    expect(refused.body.minimum).toBe(3_000);
    expect(await tenant.customer.post(`/tenants/${tenant.id}/leave`)).toSucceed(200);
    const last = await opened(tenant);
    expect(last).toMatchObject({ net: 1_000, adjustments: 1_000, count: 1 });
    expect(await linesOf(tenant.ops, last.id)).toEqual([["adjustment", 1_000]]);
    expect(await pay(tenant.ops, last.id)).toSucceed(200);
    const empty = await open(tenant);
    expect(empty).toFailWith(409, "statement_below_minimum");
    expect(empty.body.minimum).toBe(0);
    await sound(tenant);
  });

  test("is kept from again once back", async () => {
    const { ground, tenant } = await newMerchant([7_000], rule);
    await opened(tenant);
    expect(await deactivate(tenant, false)).toSucceed(200);
    const last = await opened(tenant);
    expect(last).toMatchObject({ net: 1_000, adjustments: 1_000 });
    expect(await cancel(tenant.ops, last.id)).toSucceed(200);
    expect(await opened(tenant)).toMatchObject({ net: 1_000 });
    expect(await deactivate(tenant, true)).toSucceed(200);
    await broughtIn(ground, [5_000]);
    expect(await opened(tenant)).toMatchObject({ gross_cod: 5_000, adjustments: -1_000 });
    await sound(tenant);
  });
});

test("an open statement that is voided frees its lines, and its number is used up", async () => {
  const { tenant } = await newMerchant([7_000]);
  const first = await opened(tenant);
  const gone = await cancel(tenant.ops, first.id, { reason: "Too early" });
  expect(gone).toSucceed(200);
  expect(gone.body.data.statement).toMatchObject({
    status: "void",
    void_reason: "Too early",
    voided_at: expect.any(String),
  });
  const [event] = await sql`select event_data from integration.system_events
    where entity_id = ${first.id} and event_type = 'merchant_statement.voided'`;
  expect(event!.event_data).toMatchObject({
    net: 7_000,
    reason: "Too early",
    actor_id: tenant.ops.id,
  });
  expect(await shownOf(tenant.customer)).toEqual([7_000, 0, 0, 7_000]);
  expect(await cancel(tenant.ops, first.id)).toFailWith(409, "statement_not_open");
  expect(await opened(tenant)).toMatchObject({ number: "MS-000002", gross_cod: 7_000 });
  await sound(tenant);
});

test("a statement keeps to the minimum, and to what stays in the wallet and comes back", async () => {
  const { ground, tenant } = await newMerchant([7_000], { minimum: 5_000, keep: 2_500 });
  expect((await open(tenant)).body).toMatchObject({
    code: "statement_below_minimum",
    minimum: 5_000,
    currency: "IQD",
  });
  await broughtIn(ground, [1_000]);
  const first = await opened(tenant);
  expect(first).toMatchObject({ gross_cod: 8_000, adjustments: -2_500, net: 5_500 });
  expect(await pay(tenant.ops, first.id)).toSucceed(200);
  expect(await shownOf(tenant.customer)).toEqual([2_500, 0, 0, 2_500]);
  await broughtIn(ground, [6_000]);
  await setPayouts(tenant, { release: "on_remit", keep: 1_000 });
  const second = await opened(tenant);
  expect(await linesOf(tenant.ops, second.id)).toEqual([
    ["cod", 6_000],
    ["adjustment", 2_500],
    ["adjustment", -1_000],
  ]);
  expect(await cancel(tenant.admin, second.id)).toSucceed(200);
  await sound(tenant);
  expect((await opened(tenant)).net).toBe(7_500);
  await sound(tenant);
});

test("what stays in the wallet has the decimals of the currency, so that the net can be paid", async () => {
  const { ground, tenant } = await newMerchant([], { keep: 1.005 });
  await saveSettings(tenant.id, "general.currency", { currency_code: "USD" });
  await broughtIn(ground, [70.5]);
  const statement = await opened(tenant);
  expect(statement).toMatchObject({ gross_cod: 70.5, adjustments: -1.01, net: 69.49 });
  expect(await pay(tenant.ops, statement.id)).toSucceed(200);
  expect(await shownOf(tenant.customer)).toEqual([1.01, 0, 0, 1.01]);
  await sound(tenant);
});

test("what was on the wallet before there were statements is one line", async () => {
  const { ground, tenant } = await newMerchant([]);
  await fundWallet(tenant, "customer", tenant.customer.id, 4_000);
  const [{ id }] =
    await sql`select id from money.accounts where tenant_id = ${tenant.id} and owner_user_id = ${tenant.customer.id} and kind = 'wallet'`;
  await sql`insert into money.merchant_accounts (tenant_id, account_id, opening, opening_movement, looked_to)
    select tenant_id, id, balance, version, version from money.accounts where id = ${id}`;
  await sql`insert into money.merchant_pending (tenant_id, account_id, movement) values (${tenant.id}, ${id}, 0)`;
  await broughtIn(ground, [1_000]);
  const statement = await opened(tenant);
  expect(await linesOf(tenant.ops, statement.id)).toEqual([["adjustment", 4_000], ["cod", 1_000]]);
  await sound(tenant);
});

describe("a statement is asked for", () => {
  test("by administrators and operations managers alone", async () => {
    await expectGuarded({
      method: "POST",
      path: statementPath,
      body: { owner_user_id: other.customer.id },
    }, { denied: [other.dispatcher, other.driver, other.customer, other.warehouse] });
    expect(await open(other, {}, other.admin)).toSucceed(201);
  });

  test("for an owner of this company, with a body that is right", async () => {
    const tenant = await newTenant();
    const call = { method: "POST", path: statementPath } as const;
    const owner_user_id = tenant.customer.id;
    await expectRefused(tenant.ops, call, [
      [{}, "owner_user_id"],
      [{ owner_user_id: "me" }, "owner_user_id", "invalid_uuid"],
      [{ owner_user_id, currency: "dinar" }, "currency"],
      [{ owner_user_id, date_to: "soon" }, "date_to"],
    ]);
    for (const id of [other.customer.id, tenant.driver.id, tenant.ops.id]) {
      const answer = await open(tenant, { owner_user_id: id });
      expect(answer).toFailWith(404, "merchant_not_found");
      expect(answer.body.field).toBe("owner_user_id");
    }
    expect(await open(tenant)).toFailWith(409, "statement_below_minimum");
    expect(await open(tenant, { currency: "USD" })).toFailWith(409, "statement_below_minimum");
  });

  test("for what an owner had before they were something else", async () => {
    const { tenant } = await newMerchant([7_000, 3_000]);
    const { id } = tenant.customer;
    const becomes = (type: string) =>
      sql`update tenancy.tenant_users set tenant_user_type = ${type}
        where tenant_id = ${tenant.id} and user_id = ${id}`;
    await becomes("institution");
    await newWallet(tenant, tenant.customer, "institution");
    const one = await opened(tenant);
    expect(one.net).toBe(10_000);
    expect(await pay(tenant.ops, one.id)).toSucceed(200);
    expect(await open(tenant)).toFailWith(409, "statement_below_minimum");
    await becomes("driver");
    expect(await open(tenant)).toFailWith(409, "statement_below_minimum");
    await sound(tenant);
  });

  test("twice with one key is one statement", async () => {
    const { tenant } = await newMerchant([7_000]);
    const body = { owner_user_id: tenant.customer.id };
    await expectReplayed(tenant.ops, statementPath, body, { ...body, currency: "IQD" });
    await sound(tenant);
  });
});
