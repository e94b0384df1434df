/** Statements, payouts, orders, remittances and their reversals at the same moment: paid once, to the last dinar. */
import type postgres from "postgres";
import { expect, test } from "vitest";
import { heldBy } from "../../support/cash-desks.ts";
import { remit, selected } from "../../support/cod.ts";
import { delivered, handIn, lawless, leaves, newBanker, stepsOf } from "../../support/cod-holds.ts";
import { sql } from "../../support/db.ts";
import { order, path } from "../../support/deliveries.ts";
import {
  broughtIn,
  cancel,
  linesOf,
  newMerchant,
  open,
  opened,
  pay,
  reverse,
  reverseSettlement,
  shownOf,
  sound,
} from "../../support/merchant-statements.ts";
import { locksBefore, overlapping } from "../../support/overlapping.ts";
import type { Tenant } from "../../support/people.ts";
import { times } from "../../support/races.ts";

/** Holds the customer's wallet, which statements wait for. */
const lockWallet = (session: postgres.TransactionSql | postgres.ReservedSql, tenant: Tenant) =>
  session`select from money.accounts where tenant_id = ${tenant.id} and kind = 'wallet'
    and owner_user_id = ${tenant.customer.id} for no key update`;

test("twenty statements for one owner at once make one", async () => {
  const { tenant } = await newMerchant([7_000, 3_000]);
  const answers = await times(20, () => open(tenant));
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
  for (const answer of answers.filter(({ status }) => status !== 201)) {
    expect(answer).toFailWith(409, "statement_below_minimum");
  }
  await sound(tenant);
});

test("twenty payments of one statement pay once, in cash and by bank", async () => {
  const { tenant } = await newMerchant([7_000]);
  const { id } = await opened(tenant);
  const answers = await times(
    20,
    (n) => n % 2 ? pay(tenant.ops, id) : pay(tenant.dispatcher, id, { method: "cash" }),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  for (const answer of answers.filter(({ status }) => status !== 200)) {
    expect(answer).toFailWith(409, "statement_already_paid");
  }
  expect(await shownOf(tenant.customer)).toEqual([0, 0, 0, 0]);
  await sound(tenant);
});

test("a payout against orders that spend the wallet: neither takes what is the other's", async () => {
  const { ground, tenant } = await newMerchant([7_000]);
  const { id } = await opened(tenant);
  await broughtIn(ground, [4_000]);
  const [paid, ...orders] = await Promise.all([
    pay(tenant.ops, id),
    ...Array.from({ length: 6 }, () =>
      tenant.customer.post(path, {
        ...order(ground),
        payer_type: "sender",
        payment_method: "wallet",
      })),
  ]);
  expect(paid).toSucceed(200);
  expect(orders.filter(({ status }) => status === 201)).toHaveLength(2);
  expect(await shownOf(tenant.customer)).toEqual([0, 0, 0, 0]);
  await sound(tenant);
});

test("statements against orders that spend the wallet: what is stated is there", async () => {
  const { ground, tenant } = await newMerchant([7_000]);
  const spend = () =>
    tenant.customer.post(path, {
      ...order(ground),
      payer_type: "sender",
      payment_method: "wallet",
    });
  await Promise.all([open(tenant), spend(), spend(), spend(), spend()]);
  const [, , stated, available] = await shownOf(tenant.customer);
  expect(available).toBeGreaterThanOrEqual(0);
  expect(stated).toBeGreaterThan(0);
  await sound(tenant);
});

test("voided while it is paid: one of the two", async () => {
  const { tenant } = await newMerchant([7_000]);
  const { id } = await opened(tenant);
  const [[paid], [gone]] = await Promise.all([
    times(1, () => pay(tenant.ops, id)),
    times(1, () => cancel(tenant.admin, id)),
  ]);
  expect([paid!.status, gone!.status].sort()).toEqual([200, 409]);
  const [{ status }] = await sql`select status from money.merchant_statements where id = ${id}`;
  expect(status).toBe(paid!.status === 200 ? "paid" : "void");
  await sound(tenant);
});

test("opening, paying, reversing and voiding while cash comes in and goes back: nothing stranded, no deadlock", async () => {
  const { ground, tenant, rows } = await newMerchant([1_000, 1_000]);
  const parcels = await delivered(ground, [1_000, 1_000, 1_000, 1_000]);
  const work = async () => {
    const answer = await open(tenant);
    if (answer.status !== 201) return [answer];
    const { id } = answer.body.data.statement;
    const ends = await Promise.all([pay(tenant.ops, id), cancel(tenant.admin, id)]);
    return [answer, ...ends, await reverse(tenant.admin, id)];
  };
  for (let round = 0; round < 3; round++) {
    for (
      const step of [
        (row: string) => tenant.dispatcher.post(remit, selected(row)),
        (row: string) => reverseSettlement(tenant, row),
      ]
    ) {
      const [stated, moved] = await Promise.all([times(4, work), Promise.all(parcels.map(step))]);
      expect([...stated.flat(), ...moved].filter(({ status }) => status >= 500)).toEqual([]);
    }
    await sound(tenant);
  }
  await tenant.dispatcher.post(remit, selected(...parcels));
  expect(rows).toHaveLength(2);
  const left =
    await sql`select id from money.merchant_statements where tenant_id = ${tenant.id} and status = 'open'`;
  for (const { id } of left) await cancel(tenant.admin, id);
  await open(tenant);
  const [balance, held, stated, available] = await shownOf(tenant.customer);
  expect([held, available]).toEqual([0, 0]);
  expect(stated).toBe(balance);
  await sound(tenant);
});

test("a statement that waited while cash went, came back and went again says each COD once", async () => {
  const ground = await newBanker();
  const { tenant } = ground;
  const [row, other] = await delivered(ground, [7_000, 8_000]);
  await handIn(ground, [row!]);
  await handIn(ground, [other!]);
  const made = await locksBefore((tx) => lockWallet(tx, tenant), () => open(tenant), async () => {
    // The reversal began before the trip to the bank, and comes after it.
    const back = await locksBefore(
      (tx) => tx`select from delivery.drivers where tenant_id = ${tenant.id} for update`,
      () => reverseSettlement(tenant, row!),
      () => leaves(tenant.dispatcher, 7_000 + 2_000),
    );
    expect(back).toSucceed(200);
    await handIn(ground, [row!]);
    await leaves(tenant.dispatcher, await heldBy(tenant, tenant.dispatcher));
  });
  expect(await stepsOf(row!)).toEqual([7_000, -7_000, 7_000, -7_000]);
  expect(made).toSucceed(201);
  expect(await linesOf(tenant.admin, made.body.data.statement.id)).toEqual([
    ["cod", 7_000],
    ["cod", 8_000],
  ]);
  expect(await shownOf(tenant.customer)).toEqual([15_000, 0, 15_000, 0]);
  const [{ age }] = await sql`select min(s.opened_at - h.created_at) >= '0' as age
    from money.merchant_statements s, money.wallet_holds h where s.tenant_id = ${tenant.id} and h.tenant_id = ${tenant.id}`;
  expect(age, "the statement is not older than what it says").toBe(true);
  await sound(tenant);
});

test("what a call that waited has not seen is not spent: cash that came back is held", async () => {
  const ground = await newBanker();
  const { tenant } = ground;
  const [row, other] = await delivered(ground, [7_000, 8_000]);
  await handIn(ground, [row!]);
  await handIn(ground, [other!]);
  const spent = await locksBefore(
    (tx) => lockWallet(tx, tenant),
    () =>
      tenant.customer.post(path, {
        ...order(ground),
        payer_type: "sender",
        payment_method: "wallet",
      }),
    async () => {
      const back = await locksBefore(
        (tx) => tx`select from delivery.drivers where tenant_id = ${tenant.id} for update`,
        () => reverseSettlement(tenant, row!),
        () => leaves(tenant.dispatcher, 7_000 + 2_000),
      );
      expect(back).toSucceed(200);
    },
  );
  expect(spent).toFailWith(400, "insufficient_wallet_balance");
  await sound(tenant);
});

test("a statement that waited over midnight says what the new day releases", async () => {
  const ground = await newBanker({ release: "on_delivery", hold_days: 1 });
  const { tenant } = ground;
  await delivered(ground, [7_000]);
  expect(await open(tenant)).toFailWith(409, "statement_below_minimum");
  const made = await locksBefore(
    (tx) => lockWallet(tx, tenant),
    () => open(tenant),
    () =>
      lawless((tx) =>
        tx`update money.wallet_holds set due_at = clock_timestamp(), counts_from = clock_timestamp() where tenant_id = ${tenant.id} and step = 2`
      ),
  );
  expect(made).toSucceed(201);
  await sound(tenant);
});

test("a void waits for the wallet: the statement beside it counts what is kept once", async () => {
  const { tenant } = await newMerchant([7_000], { keep: 1_000 });
  const { id } = await opened(tenant);
  expect(
    await overlapping((session) => lockWallet(session, tenant), () => cancel(tenant.admin, id)),
  )
    .toSucceed(200);
  expect((await opened(tenant)).net).toBe(6_000);
  await sound(tenant);
});
