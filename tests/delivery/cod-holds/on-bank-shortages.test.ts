/** Shortages and refunds end cash that waits for the bank: the oldest of their settlement, or of the desk. Rows are their COD and a fee of 2,000. */
import { expect, test } from "vitest";
import { desks, heldBy, key } from "../../support/cash-desks.ts";
import { bookedEarly } from "../../support/cod.ts";
import {
  areHeld,
  delivered,
  handIn,
  leaves,
  newBanker,
  onDesks,
  sound,
  standing,
} from "../../support/cod-holds.ts";
import { sql } from "../../support/db.ts";
import type { Ground } from "../../support/deliveries.ts";
import { fundWallet } from "../../support/money.ts";

/** Declared by the driver and counted by the dispatcher: the handover's id. */
async function counted({ tenant }: Ground, amount: number, counted_amount: number) {
  const answer = await tenant.dispatcher.post("/delivery/cod-collections/handover", {
    driver_id: tenant.driver.id,
    amount,
    counted_amount,
  });
  expect(answer).toSucceed(201);
  return answer.body.data.id as string;
}

const resolve = ({ tenant }: Ground, id: string, resolution: string, more = {}) =>
  tenant.dispatcher.post(`/delivery/cod-collections/handovers/${id}/resolve`, {
    resolution,
    ...more,
  });

test("short at the settlement: the oldest of its rows ends, and none of what lay there before", async () => {
  const ground = await newBanker();
  const { tenant } = ground;
  const [before, first, second] = await delivered(ground, [1_000, 3_000, 7_000]);
  await handIn(ground, [before!]);
  await counted(ground, 14_000, 8_000);
  const settlement = await handIn(ground, [first!, second!]);
  expect(await onDesks(tenant, before!, first!, second!)).toEqual([3_000, 0, 8_000]);
  expect(await areHeld(before!, first!, second!)).toEqual([true, false, true]);
  await sound(tenant);
  // Reversed with its shortage, both are the driver's again; entered once more, both lie there.
  expect(
    await tenant.dispatcher.post(`/delivery/cod-settlements/${settlement}/reverse`, {
      reason: "Counted wrongly",
    }, key()),
  ).toSucceed(200);
  expect(await onDesks(tenant, before!, first!, second!)).toEqual([3_000, 0, 0]);
  expect(await areHeld(before!, first!, second!)).toEqual([true, true, true]);
  await sound(tenant);
});

test("nothing of a settlement is there: its rows have no cash to wait for", async () => {
  const ground = await newBanker();
  const { tenant } = ground;
  const [row] = await delivered(ground, [7_000]);
  const handover = await counted(ground, 9_000, 0);
  const settlement = await handIn(ground, [row!]);
  expect(await standing(tenant.customer)).toEqual([7_000, 0, 7_000]);
  await sound(tenant);
  expect(
    await tenant.dispatcher.post(`/delivery/cod-settlements/${settlement}/reverse`, {
      reason: "Counted wrongly",
    }, key()),
  ).toSucceed(200);
  expect(await standing(tenant.customer)).toEqual([7_000, 7_000, 0]);
  await handIn(ground, [row!]);
  expect(await standing(tenant.customer)).toEqual([7_000, 0, 7_000]);
  expect(await resolve(ground, handover, "written_off")).toSucceed(200);
  await sound(tenant);
});

test("found after all, it comes to the desk as cash of no row", async () => {
  const ground = await newBanker();
  const { tenant } = ground;
  const [first, second] = await delivered(ground, [3_000, 7_000]);
  const handover = await counted(ground, 14_000, 9_000);
  await handIn(ground, [first!, second!]);
  expect(await areHeld(first!, second!)).toEqual([false, true]);
  expect(await resolve(ground, handover, "recounted", { counted_amount: 14_000 })).toSucceed(200);
  expect(await heldBy(tenant, tenant.dispatcher)).toBe(14_000);
  expect(await areHeld(first!, second!)).toEqual([false, true]);
  expect(await onDesks(tenant, first!, second!)).toEqual([0, 9_000]);
  await sound(tenant);
  await leaves(tenant.dispatcher, 9_000);
  expect(await areHeld(second!)).toEqual([false]);
  await sound(tenant);
});

test.each(["written_off", "driver_owes"])(
  "resolved (%s) before its remittance, it ends the oldest of its rows, and none of what lay there before",
  async (way) => {
    const ground = await newBanker();
    const { tenant } = ground;
    await fundWallet(tenant, "driver", tenant.driver.id, 50_000);
    const [old, fresh] = await delivered(ground, [1_000, 7_000]);
    await handIn(ground, [old!]);
    const handover = await counted(ground, 9_000, 5_000);
    expect(await resolve(ground, handover, way)).toSucceed(200);
    expect(await heldBy(tenant, tenant.dispatcher)).toBe(3_000);
    expect(await areHeld(old!, fresh!)).toEqual([true, true]);
    await sound(tenant);
    const settlement = await handIn(ground, [fresh!]);
    expect(await onDesks(tenant, old!, fresh!)).toEqual([3_000, 5_000]);
    await sound(tenant);
    const back = await tenant.dispatcher.post(`/delivery/cod-settlements/${settlement}/reverse`, {
      reason: "Typed twice",
    }, key());
    expect(back).toSucceed(200);
    expect(await heldBy(tenant, tenant.dispatcher)).toBe(3_000);
    expect(await onDesks(tenant, old!, fresh!)).toEqual([3_000, 0]);
    expect(await areHeld(fresh!)).toEqual([true]);
    await sound(tenant);
    await handIn(ground, [fresh!]);
    await leaves(tenant.dispatcher, 8_000);
    expect(await areHeld(old!, fresh!)).toEqual([false, false]);
    await sound(tenant);
  },
);

test("booked before its remittance, as 1.6.0 did, it takes the oldest of the desk, then of what comes next", async () => {
  const ground = await newBanker();
  const { tenant } = ground;
  const [old, fresh] = await delivered(ground, [1_000, 7_000]);
  await handIn(ground, [old!]);
  const handover = await counted(ground, 9_000, 5_000);
  expect(await resolve(ground, handover, "written_off")).toSucceed(200);
  await bookedEarly(tenant, handover, tenant.dispatcher, 4_000);
  expect(await heldBy(tenant, tenant.dispatcher)).toBe(-1_000);
  expect(await areHeld(old!, fresh!)).toEqual([false, true]);
  await sound(tenant);
  const settlement = await handIn(ground, [fresh!]);
  expect(await onDesks(tenant, fresh!)).toEqual([8_000]);
  await sound(tenant);
  const back = await tenant.dispatcher.post(`/delivery/cod-settlements/${settlement}/reverse`, {
    reason: "Typed twice",
  }, key());
  expect(back).toSucceed(200);
  expect(await heldBy(tenant, tenant.dispatcher)).toBe(-1_000);
  expect(await onDesks(tenant, fresh!)).toEqual([0]);
  expect(await areHeld(fresh!)).toEqual([true]);
  await sound(tenant);
  await handIn(ground, [fresh!]);
  await leaves(tenant.dispatcher, 8_000);
  expect(await areHeld(fresh!)).toEqual([false]);
  await sound(tenant);
});

test("a fee that is paid back in cash takes the oldest, and its reversal brings it back", async () => {
  const ground = await newBanker();
  const { tenant } = ground;
  const rows = await delivered(ground, [7_000, 3_000]);
  await handIn(ground, rows);
  const [{ delivery_id }] =
    await sql`select delivery_id from money.cod_collections where id = ${rows[1]!}`;
  const [{ id }] = await sql`insert into money.payments
    (tenant_id, category, type, payment_method, amount, currency, delivery_id)
    values (${tenant.id}, 'DELIVERY', 'REFUND', 'cash', 9000, 'IQD', ${delivery_id}) returning id`;
  const paid = await tenant.dispatcher.post(
    `${desks}/refunds/${id}/pay`,
    { reference: "R-1" },
    key(),
  );
  expect(paid).toSucceed(201);
  expect(await areHeld(...rows)).toEqual([false, true]);
  const transfer = paid.body.data.id;
  expect(
    await tenant.dispatcher.post(
      `${desks}/transfers/${transfer}/reverse`,
      { reason: "No" },
      key(),
    ),
  ).toSucceed(200);
  expect(await areHeld(...rows)).toEqual([true, true]);
  expect(await onDesks(tenant, ...rows)).toEqual([9_000, 5_000]);
  await sound(tenant);
});
