/** A statement is paid once, exactly, from the wallet and in cash from a desk; its payout is confirmed or reversed. */
import { beforeAll, describe, expect, test } from "vitest";
import { heldBy } from "../../support/cash-desks.ts";
import { remit, selected } from "../../support/cod.ts";
import { sql } from "../../support/db.ts";
import {
  broughtIn,
  cancel,
  confirm,
  newMerchant,
  open,
  opened,
  pay,
  reverse,
  reverseSettlement,
  shownOf,
  sound,
  statementPath,
} from "../../support/merchant-statements.ts";
import { newSystemAdmin, type Tenant } from "../../support/people.ts";
import {
  expectGuarded,
  expectNoSuch,
  expectRefused,
  expectReplayed,
} from "../../support/promises.ts";
import { key } from "../../support/wallets.ts";

let other: Tenant;
let foreign: string;
beforeAll(async () => {
  other = (await newMerchant()).tenant;
  foreign = (await opened(other)).id;
});

const entriesOf = (payout: string) =>
  sql`select t.kind, a.kind as account, e.amount from money.ledger_transactions t
    join money.ledger_entries e on e.transaction_id = t.id join money.accounts a on a.id = e.account_id
    where t.reference_id = ${payout} order by t.kind, e.amount`;

describe("a statement is paid", () => {
  test("with a proof whose address is as long as signed ones are", async () => {
    const { tenant } = await newMerchant([7_000]);
    const proof = `https://files.example/slip.png?token=${"x".repeat(1_900)}`;
    const answer = await pay(tenant.ops, (await opened(tenant)).id, { proof });
    expect(answer).toSucceed(200);
    expect(answer.body.data.statement.payout.proof).toBe(proof);
  });

  test("by bank: the net leaves the wallet, and the event says so", async () => {
    const { tenant } = await newMerchant([7_000]);
    const { id } = await opened(tenant);
    const answer = await pay(tenant.ops, id, {
      reference: "SWIFT 1",
      proof: "https://files.example/slip.png",
    });
    expect(answer).toSucceed(200);
    const { statement } = answer.body.data;
    expect(statement).toMatchObject({
      id,
      status: "paid",
      payout_id: expect.any(String),
      payout: {
        id: statement.payout_id,
        method: "bank",
        amount: 7_000,
        reference: "SWIFT 1",
        proof: "https://files.example/slip.png",
        paid_at: expect.any(String),
        paid_by: { id: tenant.ops.id, full_name: expect.any(String) },
      },
    });
    expect(await entriesOf(statement.payout_id)).toEqual([
      { kind: "merchant_payout", account: "wallet", amount: -7_000 },
      { kind: "merchant_payout", account: "external", amount: 7_000 },
    ]);
    expect(await shownOf(tenant.customer)).toEqual([0, 0, 0, 0]);
    expect(
      await sql`select event_type, event_data ->> 'method' as method, event_data ->> 'payout_id' as payout
        from integration.system_events where entity_id = ${id} order by event_type`,
    ).toEqual([
      { event_type: "merchant_statement.opened", method: null, payout: null },
      { event_type: "merchant_statement.paid", method: "bank", payout: statement.payout_id },
    ]);
    // A payout is no line of the next statement.
    expect(await open(tenant)).toFailWith(409, "statement_below_minimum");
    await sound(tenant);
  });

  test("in cash from the desk of who pays, which says what was paid out", async () => {
    const { tenant } = await newMerchant([7_000]);
    const { id } = await opened(tenant);
    const before = await heldBy(tenant, tenant.dispatcher);
    const answer = await pay(tenant.dispatcher, id, { method: "cash" });
    expect(answer).toSucceed(200);
    expect(await heldBy(tenant, tenant.dispatcher)).toBe(before - 7_000);
    expect(await entriesOf(answer.body.data.statement.payout_id)).toEqual([
      { kind: "merchant_payout", account: "wallet", amount: -7_000 },
      { kind: "merchant_payout", account: "external", amount: 7_000 },
      { kind: "merchant_payout_cash", account: "cash_on_hand", amount: -7_000 },
      { kind: "merchant_payout_cash", account: "external", amount: 7_000 },
    ]);
    const { body } = await tenant.dispatcher.get("/delivery/cod-reconciliation");
    expect(body).toMatchObject({
      reconciled: true,
      desks: [{ paid_out: 7_000, in_hand: before - 7_000, ledger: before - 7_000 }],
    });
    await sound(tenant);
  });

  test("in cash never more than the desk holds", async () => {
    const { tenant } = await newMerchant([7_000]);
    const { id } = await opened(tenant);
    const empty = await pay(tenant.ops, id, { method: "cash" });
    expect(empty).toFailWith(409, "insufficient_desk_cash");
    expect(empty.body).toMatchObject({ held: 0, currency: "IQD" });
    const held = await heldBy(tenant, tenant.dispatcher);
    expect(
      await tenant.dispatcher.post("/delivery/cash-desks/transfers", {
        kind: "bank_deposit",
        amount: held - 6_999,
      }, key()),
    ).toSucceed(201);
    expect((await pay(tenant.dispatcher, id, { method: "cash" })).body).toMatchObject({
      code: "insufficient_desk_cash",
      held: 6_999,
    });
    expect(await shownOf(tenant.customer)).toEqual([7_000, 0, 7_000, 0]);
    await sound(tenant);
  });

  test("only of what is not held: what came back after it was stated has to come in first", async () => {
    const { ground, tenant, rows } = await newMerchant([7_000]);
    const { id } = await opened(tenant);
    expect(await reverseSettlement(tenant, rows[0]!)).toSucceed(200);
    expect(await shownOf(tenant.customer)).toEqual([7_000, 7_000, 7_000, -7_000]);
    const refused = await pay(tenant.ops, id);
    expect(refused).toFailWith(409, "statement_not_covered");
    expect(refused.body).toMatchObject({
      balance: 7_000,
      held: 7_000,
      required: 7_000,
      currency: "IQD",
    });
    // Other money covers it, although another statement waits for that.
    await broughtIn(ground, [8_000]);
    expect((await opened(tenant)).net).toBe(1_000);
    expect(await pay(tenant.ops, id)).toSucceed(200);
    await sound(tenant);
    expect(await tenant.dispatcher.post(remit, selected(rows[0]!))).toSucceed(200);
    expect((await opened(tenant)).net).toBe(7_000);
    await sound(tenant);
  });

  test("not twice, not void, not by the wrong person", async () => {
    const { tenant } = await newMerchant([7_000]);
    const { id } = await opened(tenant);
    expect(await pay(tenant.dispatcher, id)).toFailWith(403, "forbidden");
    expect(await pay(tenant.dispatcher, id, { method: "gateway_transfer" }))
      .toFailWith(403, "forbidden");
    const call = { method: "POST", path: `${statementPath}/${id}/pay` } as const;
    await expectGuarded({ ...call, body: { method: "bank" } }, {
      denied: [tenant.driver, tenant.customer, tenant.institution, tenant.warehouse],
    });
    await expectRefused(tenant.ops, call, [
      [{}, "method"],
      [{ method: "card" }, "method"],
      [{ method: "bank", proof: "slip" }, "proof"],
      [{ method: "bank", reference: 7 }, "reference"],
    ]);
    expect(await pay(tenant.admin, id, { method: "gateway_transfer" })).toSucceed(200);
    expect(await pay(tenant.ops, id)).toFailWith(409, "statement_already_paid");
    expect(await reverse(tenant.ops, id)).toSucceed(200);
    expect(await cancel(tenant.ops, id)).toSucceed(200);
    expect((await pay(tenant.ops, id)).body).toMatchObject({
      code: "statement_not_open",
      from: "void",
    });
    await sound(tenant);
  });

  test("by the administrator of the system, who has no desk", async () => {
    const { tenant } = await newMerchant([7_000]);
    const { id } = await opened(tenant);
    const system = await newSystemAdmin();
    const there = { query: { tenant_id: tenant.id } };
    expect(await pay(system, id, { method: "cash" }, there))
      .toFailWith(409, "insufficient_desk_cash");
    expect(await pay(system, id, {}, there)).toSucceed(200);
    await sound(tenant);
  });

  test("once under one key, also after the idempotency record is purged; other input is a conflict", async () => {
    const { tenant } = await newMerchant([7_000]);
    const { id } = await opened(tenant);
    const once = key();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => pay(tenant.ops, id, {}, once)),
    );
    for (const answer of answers) expect(answer.body).toEqual(answers[0].body);
    await sql`delete from app.idempotency_keys where key = ${once.headers["idempotency-key"]}`;
    expect((await pay(tenant.ops, id, {}, once)).body).toEqual(answers[0].body);
    await sql`delete from app.idempotency_keys where key = ${once.headers["idempotency-key"]}`;
    expect(await pay(tenant.ops, id, { reference: "Other" }, once)).toFailWith(
      409,
      "idempotency_conflict",
    );
    await sound(tenant);
  });
});

describe("a payout is confirmed", () => {
  test("by the owner, once it is paid; saying it again changes nothing", async () => {
    const { tenant } = await newMerchant([7_000]);
    const { id } = await opened(tenant);
    expect((await confirm(tenant.customer, id)).body).toMatchObject({
      code: "statement_not_paid",
      from: "open",
    });
    expect(await pay(tenant.ops, id)).toSucceed(200);
    const answer = await confirm(tenant.customer, id);
    expect(answer).toSucceed(200);
    const { confirmed_at } = answer.body.data.statement;
    expect(confirmed_at).toEqual(expect.any(String));
    expect((await confirm(tenant.customer, id)).body.data.statement.confirmed_at)
      .toBe(confirmed_at);
    await expectGuarded({ method: "POST", path: `${statementPath}/${id}/confirm`, body: {} }, {
      denied: [tenant.dispatcher, tenant.ops],
    });
    for (const person of [tenant.institution, tenant.driver, tenant.warehouse]) {
      expect(await confirm(person, id)).toFailWith(404, "statement_not_found");
    }
  });
});

test("a statement is voided by administrators and operations managers alone", async () => {
  const { tenant } = await newMerchant([7_000]);
  const { id } = await opened(tenant);
  const call = { method: "POST", path: `${statementPath}/${id}/void` } as const;
  await expectGuarded({ ...call, body: {} }, {
    denied: [tenant.dispatcher, tenant.driver, tenant.customer],
  });
  await expectRefused(tenant.ops, call, [[{ reason: 7 }, "reason"]]);
  await expectReplayed(tenant.ops, call.path, { reason: "Early" }, { reason: "Other" });
});

test.each(["pay", "confirm", "reverse", "void"])("%s: not of another company", async (step) => {
  const { tenant } = await newMerchant([]);
  const body = step === "pay" ? { method: "bank" } : { reason: "No" };
  const by = step === "confirm" ? tenant.customer : tenant.admin;
  await expectNoSuch(
    by,
    { method: "POST", path: `${statementPath}/{id}/${step}`, body },
    "id",
    "statement_not_found",
    foreign,
  );
});

test("no writer makes a statement that is not its lines, nor a payout without its journals", async () => {
  const { tenant: merchant } = await newMerchant([7_000]);
  const { id } = await opened(merchant);
  await expect(
    sql`update money.merchant_statements set net = net + 1, gross_cod = gross_cod + 1 where id = ${id}`,
  ).rejects.toThrow(/not the sum of its lines/);
  await expect(
    sql`insert into money.merchant_payouts (tenant_id, statement_id, owner_user_id, method, amount, currency, actor_id)
      values (${merchant.id}, ${id}, ${merchant.customer.id}, 'bank', 7000, 'IQD', ${merchant.ops.id})`,
  ).rejects.toThrow(/no journal of its amount/);
  await expect(
    sql`delete from money.merchant_statement_lines where statement_id = ${id}`,
  ).rejects.toThrow();
  await sound(merchant);
});
