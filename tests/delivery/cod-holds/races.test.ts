/** Holds, releases and debits at the same moment: never more is spent than was available. */
import { expect, test } from "vitest";
import { remit, selected } from "../../support/cod.ts";
import {
  delivered,
  newHolder,
  sound,
  standing,
  stepsOf,
  walletOf,
} from "../../support/cod-holds.ts";
import { assign, moves, newDelivery } from "../../support/deliveries.ts";
import { adjust, key } from "../../support/wallets.ts";

test("forty debits while the cash comes in: what was released is spent, never what is held", async () => {
  const ground = await newHolder();
  const { tenant } = ground;
  const rows = await delivered(ground, [1_000, 1_000, 1_000, 1_000]);
  const { id } = await walletOf(tenant.customer);
  const [taken] = await Promise.all([
    Promise.all(Array.from({ length: 40 }, () => adjust(tenant.admin, id, 500, "debit"))),
    Promise.all(rows.slice(0, 2).map((row) => tenant.dispatcher.post(remit, selected(row)))),
  ]);
  const spent = 500 * taken.filter(({ status }) => status === 200).length;
  for (const answer of taken.filter(({ status }) => status !== 200)) {
    expect(answer).toFailWith(400, "insufficient_wallet_balance");
  }
  expect(spent).toBeLessThanOrEqual(2_000);
  expect(await standing(tenant.customer)).toEqual([4_000 - spent, 2_000, 2_000 - spent]);
  await sound(tenant);
});

test("twenty who remit one row at once release it once; under one key all hear the same", async () => {
  const ground = await newHolder();
  const { tenant } = ground;
  const [row, other] = await delivered(ground, [1_000, 2_000]);
  await Promise.all(
    Array.from({ length: 20 }, () => tenant.dispatcher.post(remit, selected(row!))),
  );
  expect(await stepsOf(row!)).toEqual([1_000, -1_000]);
  const once = key();
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => tenant.dispatcher.post(remit, selected(other!), once)),
  );
  expect(new Set(answers.map(({ body }) => body.data.settlement_payment_id)).size).toBe(1);
  expect(await stepsOf(other!)).toEqual([2_000, -2_000]);
  await sound(tenant);
});

test("remitting, reversing, delivering and spending at once: no deadlock, and the books agree", async () => {
  const ground = await newHolder();
  const { tenant } = ground;
  const rows = await delivered(ground, [1_000, 1_000, 1_000]);
  const { id } = await walletOf(tenant.customer);
  const first = await tenant.dispatcher.post(remit, selected(rows[0]!));
  const parcels = await Promise.all(
    [1, 2, 3].map(() => newDelivery(ground, { cod_amount: 1_000 })),
  );
  for (const { id: parcel } of parcels) {
    await assign(tenant, parcel);
    await moves(tenant.driver, parcel, "pickup");
  }
  const answers = await Promise.all([
    tenant.admin.post(
      `/delivery/cod-settlements/${first.body.data.settlement_payment_id}/reverse`,
      { reason: "Typed twice" },
      key(),
    ),
    ...parcels.map((one) => tenant.driver.post(`/delivery/deliveries/${one.id}/complete`, {})),
    tenant.dispatcher.post(remit, selected(rows[1]!)),
    tenant.dispatcher.post(remit, selected(rows[2]!)),
    ...Array.from({ length: 8 }, () => adjust(tenant.admin, id, 400, "debit")),
  ]);
  for (const { status, body } of answers) {
    expect([200, 400], JSON.stringify(body)).toContain(status);
    if (status === 400) expect(body.code).toBe("insufficient_wallet_balance");
  }
  const spent = 400 * answers.slice(-8).filter(({ status }) => status === 200).length;
  expect(await standing(tenant.customer)).toEqual([6_000 - spent, 4_000, 2_000 - spent]);
  await sound(tenant);
});
