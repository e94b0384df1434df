/** COD of a delivery whose outcome is undone: nothing of it is held, and no open or paid statement names it. */
import { describe, expect, test } from "vitest";
import { remit, selected } from "../../support/cod.ts";
import {
  daysLater,
  delivered,
  newHolder,
  setPayouts,
  sound,
  standing,
  walletOf,
} from "../../support/cod-holds.ts";
import { sql } from "../../support/db.ts";
import { moves } from "../../support/deliveries.ts";
import {
  broughtIn,
  open,
  opened,
  reverseSettlement,
  sound as statementsSound,
  statementPath,
} from "../../support/merchant-statements.ts";
import { fundWallet } from "../../support/money.ts";
import { undo } from "../../support/outcomes.ts";
import { adjust } from "../../support/wallets.ts";

const deliveryOf = async (row: string): Promise<string> =>
  (await sql`select delivery_id from money.cod_collections where id = ${row}`)[0].delivery_id;
describe.each([
  { release: "on_remit" },
  { release: "on_remit", hold_days: 3 },
  { release: "on_delivery", hold_days: 3 },
])("under %o", (rule) => {
  test("nothing is held after the undo, today and later, and the next life holds again", async () => {
    const ground = await newHolder(rule);
    const { tenant } = ground;
    const [row] = await delivered(ground, [7_000]);
    expect(await standing(tenant.customer)).toEqual([7_000, 7_000, 0]);
    const delivery = await deliveryOf(row);
    expect(await undo(tenant.ops, delivery)).toSucceed(200);
    expect(await standing(tenant.customer)).toEqual([0, 0, 0]);
    await sound(tenant);
    await daysLater(tenant, 5);
    expect(await standing(tenant.customer)).toEqual([0, 0, 0]);
    await moves(tenant.driver, delivery, "complete");
    expect(await standing(tenant.customer)).toEqual([7_000, 7_000, 0]);
    await sound(tenant);
  });
});

test("of a row whose remittance was reversed nothing is held either", async () => {
  const ground = await newHolder({ release: "on_remit", hold_days: 3 });
  const { tenant } = ground;
  const [row] = await delivered(ground, [7_000]);
  expect(await tenant.dispatcher.post(remit, selected(row))).toSucceed(200);
  expect(await reverseSettlement(tenant, row)).toSucceed(200);
  expect(await undo(tenant.ops, await deliveryOf(row))).toSucceed(200);
  expect(await standing(tenant.customer)).toEqual([0, 0, 0]);
  await sound(tenant);
  await daysLater(tenant, 5);
  expect(await standing(tenant.customer)).toEqual([0, 0, 0]);
});

test("COD on an open statement is not undone; once that is void it is, and the next statement has none of it", async () => {
  const ground = await newHolder({ release: "on_delivery" });
  const { tenant } = ground;
  const [row, other] = await delivered(ground, [7_000, 2_000]);
  const { id } = await opened(tenant);
  const delivery = await deliveryOf(row);
  expect(await undo(tenant.ops, delivery)).toFailWith(409, "outcome_is_settled");
  expect(await tenant.ops.post(`${statementPath}/${id}/void`, {})).toSucceed(200);
  expect(await undo(tenant.ops, delivery)).toSucceed(200);
  await statementsSound(tenant);
  const next = await open(tenant);
  expect(next.body.data.statement).toMatchObject({ net: 2_000, gross_cod: 2_000 });
  expect(await undo(tenant.ops, await deliveryOf(other))).toFailWith(409, "outcome_is_settled");
  await statementsSound(tenant);
});

test.each([{ release: "on_remit" }, { release: "on_remit", hold_days: 3 }])(
  "COD that is held under %o is undone where its owner lacks money for another reason",
  async (rule) => {
    const ground = await newHolder({ release: "on_remit" });
    const { tenant } = ground;
    const [paid] = await broughtIn(ground, [7_000]);
    const { wallet } = (await tenant.customer.get("/delivery/wallets/me")).body;
    expect(await adjust(tenant.admin, wallet.id, 7_000, "debit")).toSucceed(200);
    await fundWallet(tenant, "customer", tenant.customer.id, 1_000);
    await setPayouts(tenant, rule);
    const [row] = await delivered(ground, [4_000]);
    // The owner spent what is not there by now, and what is on the wallet is stated.
    await broughtIn(ground, [3_000]);
    await opened(tenant);
    expect(await reverseSettlement(tenant, paid!)).toSucceed(200);
    const before = await walletOf(tenant.customer);
    expect(before.available_balance).toBeLessThan(0);
    const delivery = await deliveryOf(row!);
    expect(await undo(tenant.ops, delivery, "Wrong door")).toSucceed(200);
    expect(await walletOf(tenant.customer)).toMatchObject({
      balance: before.balance - 4_000,
      held_balance: before.held_balance - 4_000,
      available_balance: before.available_balance,
    });
    const { body } = await tenant.customer.get(`/delivery/wallets/${wallet.id}/transactions`);
    const [{ delivery_code }] =
      await sql`select delivery_code from delivery.deliveries where id = ${delivery}`;
    expect(body.data[0]).toMatchObject({
      kind: "cod_credit_REVERSAL",
      description: `Delivery ${delivery_code}: Wrong door`,
    });
    await statementsSound(tenant);
  },
);
