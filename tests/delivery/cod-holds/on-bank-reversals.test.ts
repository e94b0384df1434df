/** Reversals put the same parts back, whatever left a desk; and cash that went on is exchanged for what is there. Rows are their COD and a fee of 2,000. */
import { expect, test } from "vitest";
import type { Answer, Person } from "../../support/api.ts";
import { heldBy, reverse as reverseTransfer } from "../../support/cash-desks.ts";
import { carried, newSide, payCarried } from "../../support/carriers.ts";
import {
  areHeld,
  delivered,
  handIn,
  leaves,
  newBanker,
  onDesks,
  setPayouts,
  sound,
  standing,
  stepsOf,
} from "../../support/cod-holds.ts";
import { sql } from "../../support/db.ts";
import type { Ground } from "../../support/deliveries.ts";
import {
  payOut,
  perDelivery,
  reverse as reversePayout,
  setRule,
} from "../../support/driver-pay.ts";
import { opened, pay, reverse as reverseStatement } from "../../support/merchant-statements.ts";
import { key } from "../../support/wallets.ts";

const takeBack = (by: Person, settlement: string): Promise<Answer> =>
  by.post(`/delivery/cod-settlements/${settlement}/reverse`, { reason: "Typed twice" }, key());

/** Two rows of 9,000 and 5,000 on the dispatcher's desk, each by a settlement of its own. */
async function twoRows(ground: Ground) {
  const [old, fresh] = await delivered(ground, [7_000, 3_000]);
  const first = await handIn(ground, [old!]);
  const second = await handIn(ground, [fresh!]);
  return { old: old!, fresh: fresh!, first, second };
}

test("a trip to the bank that is reversed brings back what it took, before what came since", async () => {
  const ground = await newBanker();
  const { tenant } = ground;
  const { old, fresh } = await twoRows(ground);
  const trip = await leaves(tenant.dispatcher, 10_000);
  const [later] = await delivered(ground, [1_000]);
  await handIn(ground, [later!]);
  expect(await areHeld(old, fresh, later!)).toEqual([false, true, true]);
  expect(await reverseTransfer(tenant.dispatcher, trip)).toSucceed(200);
  expect(await onDesks(tenant, old, fresh, later!)).toEqual([9_000, 5_000, 3_000]);
  expect(await areHeld(old, fresh, later!)).toEqual([true, true, true]);
  expect(await stepsOf(old)).toEqual([7_000, -7_000, 7_000]);
  await sound(tenant);
  await leaves(tenant.dispatcher, 9_000);
  expect(await areHeld(old, fresh, later!)).toEqual([false, true, true]);
  await sound(tenant);
});

test("of two trips the earlier one is reversed: it brings back its own", async () => {
  const ground = await newBanker();
  const { tenant } = ground;
  const { old, fresh } = await twoRows(ground);
  const first = await leaves(tenant.dispatcher, 9_000);
  await leaves(tenant.dispatcher, 5_000);
  expect(await areHeld(old, fresh)).toEqual([false, false]);
  expect(await reverseTransfer(tenant.dispatcher, first)).toSucceed(200);
  expect(await areHeld(old, fresh)).toEqual([true, false]);
  expect(await onDesks(tenant, old, fresh)).toEqual([9_000, 0]);
  await sound(tenant);
});

test("a handover that is reversed brings back its parts, also when older cash lies there", async () => {
  const ground = await newBanker();
  const { tenant } = ground;
  const [oldest, given] = await delivered(ground, [7_000, 3_000]);
  await handIn(ground, [oldest!], tenant.admin);
  await handIn(ground, [given!]);
  const to = { kind: "handover", to_user_id: tenant.admin.id };
  const handover = await leaves(tenant.dispatcher, 5_000, to);
  expect(await reverseTransfer(tenant.dispatcher, handover)).toSucceed(200);
  await leaves(tenant.dispatcher, 5_000);
  expect(await areHeld(oldest!, given!)).toEqual([true, false]);
  expect(await onDesks(tenant, oldest!, given!)).toEqual([9_000, 0]);
  await sound(tenant);
});

test("a handover whose cash went on is reversed with the oldest that is there", async () => {
  const ground = await newBanker();
  const { tenant } = ground;
  const { old, fresh } = await twoRows(ground);
  const handover = await leaves(tenant.dispatcher, 9_000, {
    kind: "handover",
    to_user_id: tenant.admin.id,
  });
  const [other] = await delivered(ground, [7_000]);
  await handIn(ground, [other!], tenant.admin);
  await leaves(tenant.admin, 9_000);
  expect(await areHeld(old, fresh, other!)).toEqual([false, true, true]);
  expect(await reverseTransfer(tenant.dispatcher, handover)).toSucceed(200);
  expect(await heldBy(tenant, tenant.dispatcher)).toBe(14_000);
  expect(await areHeld(old, fresh, other!)).toEqual([false, true, true]);
  await leaves(tenant.dispatcher, 5_000);
  expect(await areHeld(fresh, other!)).toEqual([false, true]);
  await sound(tenant);
});

test("pay of a driver and a merchant's payout that are reversed bring back what they took", async () => {
  const ground = await newBanker();
  const { tenant } = ground;
  await setRule(tenant, perDelivery(9_000));
  const [row, other] = await delivered(ground, [7_000, 7_000], {
    institution_user_id: tenant.institution.id,
    customer_id: undefined,
  });
  await handIn(ground, [row!, other!]);
  const paid = await payOut(tenant.dispatcher, {
    driver_id: tenant.driver.id,
    date_to: new Date(Date.now() + 86_400_000).toISOString().slice(0, 10),
  });
  expect(paid).toSucceed(201);
  expect(await areHeld(row!, other!)).toEqual([false, false]);
  const { id } = paid.body.payout ?? paid.body.data.payout;
  expect(await reversePayout(tenant.dispatcher, id)).toSucceed(200);
  expect(await areHeld(row!, other!)).toEqual([true, true]);
  expect(await onDesks(tenant, row!, other!)).toEqual([9_000, 9_000]);
  await sound(tenant);

  await leaves(tenant.dispatcher, 9_000);
  expect(await areHeld(row!, other!)).toEqual([false, true]);
  const statement = await opened(tenant, { owner_user_id: tenant.institution.id });
  expect(statement.net).toBe(7_000);
  expect(await pay(tenant.dispatcher, statement.id, { method: "cash" })).toSucceed(200);
  expect(await onDesks(tenant, other!)).toEqual([2_000]);
  expect(await areHeld(other!)).toEqual([true]);
  expect(await reverseStatement(tenant.admin, statement.id)).toSucceed(200);
  expect(await onDesks(tenant, row!, other!)).toEqual([0, 9_000]);
  await sound(tenant);
});

test("a settlement that is reversed takes its own cash, not the oldest, and brings it anew", async () => {
  const ground = await newBanker();
  const { tenant } = ground;
  const { old, fresh, second } = await twoRows(ground);
  expect(await takeBack(tenant.dispatcher, second)).toSucceed(200);
  expect(await onDesks(tenant, old, fresh)).toEqual([9_000, 0]);
  expect(await areHeld(old, fresh)).toEqual([true, true]);
  await sound(tenant);
  await leaves(tenant.dispatcher, 9_000);
  await handIn(ground, [fresh], tenant.admin);
  expect(await onDesks(tenant, old, fresh)).toEqual([0, 5_000]);
  expect(await areHeld(old, fresh)).toEqual([false, true]);
  await leaves(tenant.admin, 5_000);
  expect(await areHeld(fresh)).toEqual([false]);
  await sound(tenant);
});

test("of cash that was banked, the next takes the place when its settlement is reversed", async () => {
  const ground = await newBanker();
  const { tenant } = ground;
  const [old, fresh] = await delivered(ground, [3_000, 7_000]);
  const first = await handIn(ground, [old!]);
  await handIn(ground, [fresh!]);
  const trip = await leaves(tenant.dispatcher, 5_000);
  expect(await areHeld(old!, fresh!)).toEqual([false, true]);
  expect(await takeBack(tenant.dispatcher, first)).toSucceed(200);
  // The cash that was brought to the bank was the other row's after all.
  expect(await onDesks(tenant, old!, fresh!)).toEqual([0, 4_000]);
  expect(await areHeld(old!, fresh!)).toEqual([true, true]);
  expect(await stepsOf(old!)).toEqual([3_000, -3_000, 3_000]);
  await sound(tenant);
  expect(await reverseTransfer(tenant.dispatcher, trip)).toSucceed(200);
  expect(await onDesks(tenant, old!, fresh!)).toEqual([0, 9_000]);
  await sound(tenant);
  await handIn(ground, [old!]);
  await leaves(tenant.dispatcher, 9_000);
  expect(await areHeld(old!, fresh!)).toEqual([true, false]);
  await sound(tenant);
});

test("of cash that was handed on, and banked there in part, the next takes both places", async () => {
  const ground = await newBanker();
  const { tenant } = ground;
  const [old, one, two] = await delivered(ground, [3_000, 1_000, 7_000]);
  const first = await handIn(ground, [old!]);
  await handIn(ground, [one!, two!]);
  const to = { kind: "handover", to_user_id: tenant.admin.id };
  await leaves(tenant.dispatcher, 5_000, to);
  const trip = await leaves(tenant.admin, 2_000);
  expect(await takeBack(tenant.dispatcher, first)).toSucceed(200);
  // Of the others 2,000 were banked instead, the oldest, and the next 3,000 lie on the other desk.
  expect(await onDesks(tenant, old!, one!, two!)).toEqual([0, 1_000, 9_000]);
  expect(await heldBy(tenant, tenant.admin)).toBe(3_000);
  expect(await heldBy(tenant, tenant.dispatcher)).toBe(7_000);
  await sound(tenant);
  expect(await reverseTransfer(tenant.admin, trip)).toSucceed(200);
  expect(await onDesks(tenant, old!, one!, two!)).toEqual([0, 3_000, 9_000]);
  expect(await areHeld(old!, one!, two!)).toEqual([true, true, true]);
  await sound(tenant);
});

test("a carrier's payment that is reversed takes its own cash out of the till", async () => {
  const side = await newSide();
  const { tenant } = side;
  await setPayouts(tenant, { release: "on_bank" });
  const [first, second] = await carried(side, 7_000, 3_000);
  for (const { collection, cash_due } of [first!, second!]) {
    expect(
      await payCarried(tenant.admin, cash_due, { carrier_collection_ids: [collection] }),
    ).toSucceed(201);
  }
  const [{ remittance_id }] =
    await sql`select remittance_id from money.carrier_collections where id = ${second!.collection}`;
  const answer = await tenant.admin.post(
    `/carriers/tenant/simulated/remittances/${remittance_id}/reverse`,
    { reason: "Typed twice" },
    key(),
  );
  expect(answer).toSucceed(200);
  expect(await onDesks(tenant, first!.collection, second!.collection)).toEqual([9_000, 0]);
  await leaves(tenant.admin, 9_000, { from_owner_type: "tenant" });
  expect(await standing(tenant.customer)).toEqual([10_000, 3_000, 7_000]);
  await sound(tenant);
});
