/** COD that is held until its cash has left the desks: each way out takes the oldest. Rows are their COD and a fee of 2,000. */
import { expect, test } from "vitest";
import { heldBy, transfer } from "../../support/cash-desks.ts";
import { carried, newSide, payCarried } from "../../support/carriers.ts";
import { selected, settle } from "../../support/cod.ts";
import {
  areHeld,
  daysLater,
  delivered,
  handIn,
  leaves,
  newBanker,
  newHolder,
  onDesks,
  setPayouts,
  sound,
  standing,
  stepsOf,
} from "../../support/cod-holds.ts";
import { sql } from "../../support/db.ts";
import { brought, payOut, perDelivery, setRule } from "../../support/driver-pay.ts";
import { newGround } from "../../support/deliveries.ts";
import { fundWallet } from "../../support/money.ts";
import { newTenant } from "../../support/people.ts";

test("banked, the oldest first: a row is in when the last of its cash has left", async () => {
  const ground = await newBanker();
  const { tenant } = ground;
  const rows = await delivered(ground, [7_000, 3_000]);
  const [first, second] = rows;
  await handIn(ground, rows);
  expect(await standing(tenant.customer)).toEqual([10_000, 10_000, 0]);
  expect(await onDesks(tenant, ...rows)).toEqual([9_000, 5_000]);
  await leaves(tenant.dispatcher, 8_999);
  expect(await onDesks(tenant, ...rows)).toEqual([1, 5_000]);
  expect(await standing(tenant.customer)).toEqual([10_000, 10_000, 0]);
  const { body } = await tenant.admin.get("/delivery/cod-reconciliation");
  expect(body).toMatchObject({
    reconciled: true,
    held: [{ in_hand: 0, with_carriers: 0, at_desks: 10_000, held: 10_000, waiting: 0 }],
  });
  await leaves(tenant.dispatcher, 2);
  expect(await onDesks(tenant, ...rows)).toEqual([0, 4_999]);
  expect(await standing(tenant.customer)).toEqual([10_000, 3_000, 7_000]);
  expect(await stepsOf(first!)).toEqual([7_000, -7_000]);
  expect(await stepsOf(second!)).toEqual([3_000]);
  await sound(tenant);
  await leaves(tenant.dispatcher, 4_999);
  expect(await standing(tenant.customer)).toEqual([10_000, 0, 10_000]);
  await sound(tenant);
});

test("a handover carries the place: older cash leaves the other desk first", async () => {
  const ground = await newBanker();
  const { tenant } = ground;
  const [old, fresh] = await delivered(ground, [7_000, 3_000]);
  await handIn(ground, [old!]);
  await handIn(ground, [fresh!], tenant.admin);
  // Half of it goes through two desks, and lies on two.
  await leaves(tenant.dispatcher, 6_000, { kind: "handover", to_user_id: tenant.ops.id });
  await leaves(tenant.admin, 6_000, {
    kind: "handover",
    from_user_id: tenant.ops.id,
    to_user_id: tenant.admin.id,
  });
  expect(await heldBy(tenant, tenant.admin)).toBe(11_000);
  await leaves(tenant.admin, 6_000);
  expect(await onDesks(tenant, old!, fresh!)).toEqual([3_000, 5_000]);
  expect(await areHeld(old!, fresh!)).toEqual([true, true]);
  await sound(tenant);
  await leaves(tenant.dispatcher, 3_000);
  expect(await areHeld(old!, fresh!)).toEqual([false, true]);
  await leaves(tenant.admin, 5_000);
  expect(await areHeld(fresh!)).toEqual([false]);
  await sound(tenant);
});

test("pay of drivers in cash takes it; what goes to their wallets does not", async () => {
  const ground = await newBanker();
  const { tenant } = ground;
  await setRule(tenant, perDelivery(4_000));
  const rows = await delivered(ground, [2_000]);
  await handIn(ground, rows);
  await fundWallet(tenant, "driver", tenant.driver2.id, 1);
  await brought(ground, tenant.driver2);
  expect(await payOut(tenant.admin, { driver_id: tenant.driver2.id, method: "wallet" }))
    .toSucceed(201);
  expect(await areHeld(...rows)).toEqual([true]);
  expect(await payOut(tenant.dispatcher, { driver_id: tenant.driver.id })).toSucceed(201);
  expect(await areHeld(...rows)).toEqual([false]);
  await sound(tenant);
});

test("settled from the driver's wallet it is in at once, and touches no desk", async () => {
  const ground = await newBanker();
  const { tenant } = ground;
  await fundWallet(tenant, "driver", tenant.driver.id, 50_000);
  const [row] = await delivered(ground, [7_000]);
  const settled = await tenant.driver.post(settle, selected(row!));
  expect(settled).toSucceed(200);
  expect(await standing(tenant.customer)).toEqual([7_000, 0, 7_000]);
  expect(await sql`select from money.desk_parts where tenant_id = ${tenant.id}`).toEqual([]);
  expect(
    await tenant.admin.post(
      `/delivery/cod-settlements/${settled.body.data.settlement_payment_id}/reverse`,
      { reason: "Typed twice" },
    ),
  ).toSucceed(200);
  expect(await standing(tenant.customer)).toEqual([7_000, 7_000, 0]);
  await sound(tenant);
});

test("what carriers paid waits in the till", async () => {
  const side = await newSide();
  const { tenant } = side;
  await setPayouts(tenant, { release: "on_bank" });
  await carried(side, 7_000, 4_000);
  const at = async () =>
    (await tenant.admin.get("/delivery/cod-reconciliation")).body.held.map(
      (one: Record<string, number>) => [one.in_hand, one.with_carriers, one.at_desks, one.held],
    );
  expect(await at()).toEqual([[0, 11_000, 0, 11_000]]);
  expect(await payCarried(tenant.admin, 15_000)).toSucceed(201);
  expect(await at()).toEqual([[0, 0, 11_000, 11_000]]);
  await leaves(tenant.admin, 9_000, { from_owner_type: "tenant" });
  expect(await standing(tenant.customer)).toEqual([11_000, 4_000, 7_000]);
  expect(await at()).toEqual([[0, 0, 4_000, 4_000]]);
  const to = { kind: "handover", from_owner_type: "tenant", to_user_id: tenant.dispatcher.id };
  await leaves(tenant.admin, 6_000, to);
  expect(await at()).toEqual([[0, 0, 4_000, 4_000]]);
  await leaves(tenant.dispatcher, 6_000);
  expect(await standing(tenant.customer)).toEqual([11_000, 0, 11_000]);
  await sound(tenant);
});

test("not before its day, and not before it is banked", async () => {
  const ground = await newBanker({ hold_days: 2 });
  const { tenant } = ground;
  const rows = await delivered(ground, [7_000, 3_000]);
  await handIn(ground, rows);
  await leaves(tenant.dispatcher, 9_000);
  expect(await standing(tenant.customer)).toEqual([10_000, 10_000, 0]);
  const { body } = await tenant.admin.get("/delivery/cod-reconciliation");
  expect(body.held).toMatchObject([{ at_desks: 3_000, held: 3_000, waiting: 7_000 }]);
  await daysLater(tenant, 2);
  expect(await standing(tenant.customer)).toEqual([10_000, 3_000, 7_000]);
  await sound(tenant);
});

test("the rule of the moment of collection stays with its row, whichever way the setting goes", async () => {
  const ground = await newBanker();
  const { tenant } = ground;
  const [banked] = await delivered(ground, [1_000]);
  await setPayouts(tenant, { release: "on_remit" });
  const [remitted] = await delivered(ground, [2_000]);
  await setPayouts(tenant, { release: "on_delivery" });
  const [free] = await delivered(ground, [4_000]);
  await setPayouts(tenant, { release: "on_bank" });
  expect(await areHeld(banked!, remitted!, free!)).toEqual([true, true, false]);
  await setPayouts(tenant, { release: "on_delivery" });
  await handIn(ground, [banked!, remitted!, free!]);
  expect(await areHeld(banked!, remitted!, free!)).toEqual([true, false, false]);
  expect(await onDesks(tenant, banked!, remitted!, free!)).toEqual([3_000, 4_000, 6_000]);
  await leaves(tenant.dispatcher, 3_000);
  expect(await areHeld(banked!)).toEqual([false]);
  await sound(tenant);
});

test("a desk has a queue from its first such row on, behind what lay there before", async () => {
  const ground = await newHolder({});
  const { tenant } = ground;
  const [before] = await delivered(ground, [7_000]);
  await handIn(ground, [before!]);
  expect(await sql`select from money.desk_parts where tenant_id = ${tenant.id}`).toEqual([]);
  await setPayouts(tenant, { release: "on_bank" });
  const [row] = await delivered(ground, [1_000]);
  await handIn(ground, [row!]);
  expect(await onDesks(tenant, before!, row!)).toEqual([0, 3_000]);
  await sound(tenant);
  await leaves(tenant.dispatcher, 9_000);
  expect(await onDesks(tenant, row!)).toEqual([3_000]);
  expect(await areHeld(before!, row!)).toEqual([false, true]);
  await leaves(tenant.dispatcher, 3_000);
  expect(await areHeld(row!)).toEqual([false]);
  await sound(tenant);
});

test("another company's cash and its queue stay as they are", async () => {
  const [mine, other] = [await newBanker(), await newBanker()];
  const [row] = await delivered(mine, [7_000]);
  const [theirs] = await delivered(other, [7_000]);
  await handIn(mine, [row!]);
  await handIn(other, [theirs!]);
  await leaves(mine.tenant.dispatcher, 9_000);
  expect(await areHeld(row!, theirs!)).toEqual([false, true]);
  expect(await onDesks(other.tenant, theirs!)).toEqual([9_000]);
  const stranger = await transfer(mine.tenant.admin, {
    amount: 1_000,
    from_user_id: other.tenant.dispatcher.id,
  });
  expect(stranger).toFailWith(404, "cash_desk_not_found");
  await sound(other.tenant);
});

test("an outcome is not undone while its cash lies on a desk", async () => {
  const ground = await newGround(await newTenant());
  const { tenant } = ground;
  await setPayouts(tenant, { release: "on_bank" });
  const [row] = await delivered(ground, [7_000]);
  const settlement = await handIn(ground, [row!]);
  const [{ delivery_id }] =
    await sql`select delivery_id from money.cod_collections where id = ${row!}`;
  const undo = () =>
    tenant.ops.post(`/delivery/deliveries/${delivery_id}/outcome/undo`, { reason: "Wrong door" });
  expect(await undo()).toFailWith(409, "outcome_is_settled");
  expect(
    await tenant.admin.post(`/delivery/cod-settlements/${settlement}/reverse`, {
      reason: "Typed twice",
    }),
  ).toSucceed(200);
  expect(await undo()).toSucceed(200);
  expect(await standing(tenant.customer)).toEqual([0, 0, 0]);
  expect(await onDesks(tenant, row!)).toEqual([0]);
  await sound(tenant);
});
