/** Taking settlements back under many callers, and what the reconciliation says of it, now and of before. */
import { expect, test } from "vitest";
import { tries } from "../../prove/proof.ts";
import { heldBy, transfer } from "../../support/cash-desks.ts";
import { newCash, remit, selected, settle } from "../../support/cod.ts";
import { sql } from "../../support/db.ts";
import { balanceOf, fundWallet } from "../../support/money.ts";
import { newTenant } from "../../support/people.ts";
import { expectReplayed } from "../../support/promises.ts";
import { paid, remitted, settlements, sound, takeBack } from "../../support/settlements.ts";

test("twenty who take back one settlement at once: one does; under one key all hear the same", async () => {
  const tenant = await newTenant();
  // The first round may find connections that have no plans yet, and so meet one after the other.
  for (let round = 0; round < tries(6, 2); round++) {
    const { payment } = await remitted(tenant);
    const answers = await Promise.all(
      Array.from(
        { length: 20 },
        (_, n) => takeBack(n % 2 ? tenant.dispatcher : tenant.admin, payment),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      expect(answer).toFailWith(409, "settlement_already_reversed");
    }
  }
  const { payment } = await remitted(tenant);
  const path = `${settlements}/${payment}/reverse`;
  await expectReplayed(tenant.dispatcher, path, { reason: "Wrong" }, { reason: "Other" });
  await sound(tenant);
});

test("taking back, settling all and giving cash on, at once: every dinar stays where the books say", async () => {
  const tenant = await newTenant();
  for (let round = 0; round < tries(8, 2); round++) {
    const { payment } = await remitted(tenant, { rows: 3 });
    await newCash(tenant);
    const held = await heldBy(tenant, tenant.dispatcher);
    const [back, all, gone] = await Promise.all([
      takeBack(tenant.dispatcher, payment),
      tenant.admin.post(remit, { scope: "all", driver_id: tenant.driver.id }),
      transfer(tenant.dispatcher, { amount: held }),
    ]);
    expect([[200, 409], [409, 201]]).toContainEqual([back.status, gone.status]);
    expect([200, 404, 409]).toContain(all.status);
    await sound(tenant);
  }
});

test("settling all during a reversal happens before or after it, not between", async () => {
  const tenant = await newTenant();
  for (let round = 0; round < tries(15, 3); round++) {
    const { payment } = await paid(tenant);
    const wallet = await fundWallet(tenant, "driver", tenant.driver.id, 5000);
    await newCash(tenant);
    const before = await balanceOf(wallet);
    const [all, back] = await Promise.all([
      tenant.driver.post(settle, { scope: "all" }),
      takeBack(tenant.admin, payment),
    ]);
    expect(all).toSucceed(200);
    expect(back).toSucceed(200);
    const { settled_count, wallet_balance_after } = all.body.data;
    expect([[1, before - 1250], [2, before - 1250]]).toContainEqual([
      settled_count,
      wallet_balance_after,
    ]);
    await sound(tenant);
    if (settled_count === 1) await tenant.driver.post(settle, { scope: "all" });
  }
});

test("as of a moment before, it still counts", async () => {
  const tenant = await newTenant();
  const { payment, ids } = await remitted(tenant, { rows: 2 });
  const wallet = await paid(tenant);
  await new Promise((resolve) => setTimeout(resolve, 20));
  const before = new Date().toISOString();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(await takeBack(tenant.dispatcher, payment)).toSucceed(200);
  expect(await takeBack(tenant.admin, wallet.payment)).toSucceed(200);
  const position = async (as_of?: string) => {
    const answer = await tenant.admin.get("/delivery/cod-reconciliation", {
      query: as_of ? { as_of } : {},
    });
    expect(answer.body).toMatchObject({ reconciled: true, differences: [] });
    const [{ in_hand, remitted, settled_by_wallet, ledger }] = answer.body.drivers;
    const desk = answer.body.desks.find(({ user_id }: { user_id: string }) =>
      user_id === tenant.dispatcher.id
    );
    return { in_hand, remitted, settled_by_wallet, ledger, desk: desk.remitted };
  };
  const then = { in_hand: 0, remitted: 2500, settled_by_wallet: 1250, ledger: 0, desk: 2500 };
  expect(await position(before)).toEqual(then);
  const now = { in_hand: 3750, remitted: 0, settled_by_wallet: 0, ledger: 3750, desk: 0 };
  expect(await position()).toEqual(now);
  // Settled anew since, a row is counted once in both.
  expect(await tenant.dispatcher.post(remit, selected(ids[0]))).toSucceed(200);
  expect(await position(before)).toEqual(then);
  expect(await position()).toEqual({
    ...now,
    in_hand: 2500,
    ledger: 2500,
    remitted: 1250,
    desk: 1250,
  });
});

test("a reversal that was broken by hand is named by the reconciliation", async () => {
  const tenant = await newTenant();
  const { payment } = await remitted(tenant);
  await sql.begin(async (tx) => {
    await tx`update money.cod_settlements set reversed_at = now(), reversed_by = ${tenant.admin.id}, reversal_reason = 'x'
      where payment_id = ${payment}`;
  });
  const { body } = await tenant.admin.get("/delivery/cod-reconciliation");
  expect(body.reconciled).toBe(false);
  expect(new Set(body.differences.map(({ kind }: { kind: string }) => kind))).toEqual(
    new Set(["desk_cash", "settlement_items", "settlement_journal"]),
  );
  await expect(
    sql`update money.cod_settlements set reversal_reason = 'other' where payment_id = ${payment}`,
  ).rejects.toThrow();
});
