/** COD of a delivery whose outcome is undone: nothing of it is held, and no open or paid statement names it. */
import { describe, expect, test } from "vitest";
import { remit, selected } from "../../support/cod.ts";
import { daysLater, delivered, newHolder, sound, standing } from "../../support/cod-holds.ts";
import { sql } from "../../support/db.ts";
import { moves } from "../../support/deliveries.ts";
import {
  open,
  opened,
  reverseSettlement,
  sound as statementsSound,
  statementPath,
} from "../../support/merchant-statements.ts";
import { undo } from "../../support/outcomes.ts";

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
