/** A carrier keeps some of the cash that a wallet waits for: its owner has the COD as if all of it had come, and the queue of the till holds what did. */
import { expect, test } from "vitest";
import { carried, newSide, payCarried as pay, type Side } from "../../support/carriers.ts";
import { key, transfer } from "../../support/cash-desks.ts";
import { areHeld, onDesks, setPayouts, sound, standing } from "../../support/cod-holds.ts";
import { sql } from "../../support/db.ts";

/** A company that releases COD so, and the rows of what its carrier took: the COD and a fee of 2,000 each. */
async function owing(release: string, ...cods: number[]): Promise<Side & { rows: string[] }> {
  const side = await newSide();
  await setPayouts(side.tenant, { release });
  const rows = (await carried(side, ...cods)).map(({ collection }) => collection);
  return { ...side, rows };
}
const remitted = async ({ tenant }: Side, amount: number, charges: number, rows?: string[]) => {
  const more = rows ? { carrier_collection_ids: rows } : {};
  const answer = await pay(tenant.admin, amount, { charges, ...more });
  expect(answer).toSucceed(201);
  return answer.body.remittance.id as string;
};
const reversed = async ({ tenant }: Side, id: string) => {
  const call = `/carriers/tenant/simulated/remittances/${id}/reverse`;
  expect(await tenant.admin.post(call, { reason: "Typed twice" }, key())).toSucceed(200);
};
const banked = async ({ tenant }: Side, amount: number) =>
  expect(await transfer(tenant.admin, { from_owner_type: "tenant", amount })).toSucceed(201);

test("on_remit: the whole COD is its owner's, whatever was kept, until the payment is reversed", async () => {
  for (const charges of [500, 9_000]) {
    const side = await owing("on_remit", 7_000);
    const { customer } = side.tenant;
    const id = await remitted(side, 9_000, charges);
    expect(await standing(customer)).toEqual([7_000, 0, 7_000]);
    await sound(side.tenant);
    await reversed(side, id);
    expect(await standing(customer)).toEqual([7_000, 7_000, 0]);
    await sound(side.tenant);
  }
});

test("on_bank: the charges end the oldest of the rows, and the rest waits in the till behind what is there", async () => {
  const side = await owing("on_bank", 1_000, 3_000, 7_000);
  const { tenant, rows: [before, first, second] } = side;
  await remitted(side, 3_000, 0, [before!]);
  // 5,000 and 9,000, of which 6,000 is kept.
  const id = await remitted(side, 14_000, 6_000, [first!, second!]);
  expect(await onDesks(tenant, before!, first!, second!)).toEqual([3_000, 0, 8_000]);
  expect(await areHeld(before!, first!, second!)).toEqual([true, false, true]);
  expect(await standing(tenant.customer)).toEqual([11_000, 8_000, 3_000]);
  await sound(tenant);
  await banked(side, 3_000);
  expect(await areHeld(before!, first!, second!)).toEqual([false, false, true]);
  await reversed(side, id);
  expect(await onDesks(tenant, before!, first!, second!)).toEqual([0, 0, 0]);
  expect(await areHeld(before!, first!, second!)).toEqual([false, true, true]);
  await sound(tenant);
  // Entered again with other charges, it queues with these.
  await remitted(side, 14_000, 500, [first!, second!]);
  expect(await onDesks(tenant, first!, second!)).toEqual([4_500, 9_000]);
  await banked(side, 4_500);
  expect(await areHeld(first!, second!)).toEqual([false, true]);
  await banked(side, 9_000);
  expect(await standing(tenant.customer)).toEqual([11_000, 0, 11_000]);
  await sound(tenant);
});

test("on_bank: what went to the bank meanwhile changes places with what is there when its payment is reversed", async () => {
  const side = await owing("on_bank", 3_000, 4_000);
  const { tenant, rows: [first, second] } = side;
  const id = await remitted(side, 5_000, 1_000, [first!]);
  await remitted(side, 6_000, 2_000, [second!]);
  await banked(side, 4_000);
  expect(await areHeld(first!, second!)).toEqual([false, true]);
  await reversed(side, id);
  // The cash that was banked is that of the second row.
  expect(await onDesks(tenant, first!, second!)).toEqual([0, 0]);
  expect(await areHeld(first!, second!)).toEqual([true, false]);
  await sound(tenant);
});

test("on_bank: all of it kept, no cash is waited for, and a reversal holds it again", async () => {
  const side = await owing("on_bank", 7_000, 1_000);
  const { tenant, rows } = side;
  const id = await remitted(side, 12_000, 12_000);
  expect(await areHeld(...rows)).toEqual([false, false]);
  expect(await standing(tenant.customer)).toEqual([8_000, 0, 8_000]);
  expect(await sql`select from money.desk_parts where tenant_id = ${tenant.id}`).toHaveLength(0);
  await sound(tenant);
  await reversed(side, id);
  expect(await standing(tenant.customer)).toEqual([8_000, 8_000, 0]);
  await sound(tenant);
});
