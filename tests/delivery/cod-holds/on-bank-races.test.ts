/** Cash leaves desks at the same moment, in several ways: no part leaves twice, and a row is released when its last part has left. */
import { expect, test } from "vitest";
import { heldBy, key, reverse, transfer } from "../../support/cash-desks.ts";
import { newCash, remit, selected } from "../../support/cod.ts";
import {
  areHeld,
  delivered,
  handIn,
  leaves,
  newBanker,
  onDesks,
  sound,
  standing,
  stepsOf,
} from "../../support/cod-holds.ts";
import { sql } from "../../support/db.ts";
import { newTenant } from "../../support/people.ts";
import { tries } from "../../prove/proof.ts";

const rounds = Array.from({ length: tries(5, 2) }, (_, round) => round);

test.each(rounds)("two trips to the bank at once take two parts (%i)", async () => {
  const ground = await newBanker();
  const { tenant } = ground;
  const rows = await delivered(ground, [7_000, 7_000]);
  await handIn(ground, rows);
  const answers = await Promise.all(
    [1, 2, 3].map(() => transfer(tenant.dispatcher, { amount: 9_000 })),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 409]);
  expect(await areHeld(...rows)).toEqual([false, false]);
  for (const row of rows) expect(await stepsOf(row)).toEqual([7_000, -7_000]);
  await sound(tenant);
});

test.each(rounds)("two desks bank the halves of a row at once: it is released (%i)", async () => {
  const ground = await newBanker();
  const { tenant } = ground;
  const [row] = await delivered(ground, [7_000]);
  await handIn(ground, [row!]);
  await leaves(tenant.dispatcher, 4_500, { kind: "handover", to_user_id: tenant.admin.id });
  const answers = await Promise.all([
    transfer(tenant.dispatcher, { amount: 4_500 }),
    transfer(tenant.admin, { amount: 4_500 }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([201, 201]);
  expect(await stepsOf(row!)).toEqual([7_000, -7_000]);
  await sound(tenant);
});

test.each(rounds)(
  "handovers both ways, a trip to the bank and a remittance at once (%i)",
  async () => {
    const ground = await newBanker();
    const { tenant } = ground;
    const rows = await delivered(ground, [7_000, 7_000, 7_000]);
    await handIn(ground, [rows[0]!]);
    await handIn(ground, [rows[1]!], tenant.admin);
    const answers = await Promise.all([
      transfer(tenant.dispatcher, {
        amount: 4_000,
        kind: "handover",
        to_user_id: tenant.admin.id,
      }),
      transfer(tenant.admin, {
        amount: 5_000,
        kind: "handover",
        to_user_id: tenant.dispatcher.id,
      }),
      transfer(tenant.dispatcher, { amount: 9_000 }),
      transfer(tenant.admin, { amount: 9_000 }),
      tenant.dispatcher.post(remit, selected(rows[2]!)),
    ]);
    for (const { status } of answers) expect([200, 201, 409]).toContain(status);
    const there = await onDesks(tenant, ...rows);
    expect(await areHeld(...rows)).toEqual(there.map((amount) => amount > 0));
    const sum = await heldBy(tenant, tenant.dispatcher) + await heldBy(tenant, tenant.admin);
    expect(there.reduce((all, one) => all + one)).toBe(sum);
    await sound(tenant);
  },
);

test.each(rounds)(
  "a trip is reversed while others are made and its settlement is reversed (%i)",
  async () => {
    const ground = await newBanker();
    const { tenant } = ground;
    const rows = await delivered(ground, [7_000, 7_000, 7_000]);
    const settlement = await handIn(ground, [rows[0]!]);
    await handIn(ground, rows.slice(1));
    const trip = await leaves(tenant.dispatcher, 9_000);
    const answers = await Promise.all([
      reverse(tenant.dispatcher, trip),
      transfer(tenant.dispatcher, { amount: 9_000 }),
      transfer(tenant.dispatcher, {
        amount: 3_000,
        kind: "handover",
        to_user_id: tenant.admin.id,
      }),
      tenant.admin.post(
        `/delivery/cod-settlements/${settlement}/reverse`,
        { reason: "Typed twice" },
        key(),
      ),
    ]);
    for (const { status, body } of answers) {
      expect([200, 201, 409], JSON.stringify(body)).toContain(status);
    }
    const [{ status }] = await sql`select status from money.cod_collections where id = ${rows[0]!}`;
    const there = await onDesks(tenant, ...rows);
    expect(await areHeld(...rows)).toEqual(
      there.map((amount, row) => amount > 0 || row === 0 && status === "collected"),
    );
    await sound(tenant);
  },
);

test("all ways in and out of three desks at once: none waits in a circle, and the queues agree", async () => {
  const tenant = await newTenant();
  const people = [tenant.dispatcher, tenant.admin, tenant.ops];
  for (const round of rounds) {
    const taken = Array.from({ length: 12 }, () => newCash(tenant, { release: "on_bank" }));
    const rows = (await Promise.all(taken)).map(({ id }) => id);
    const settled = await Promise.all(
      rows.slice(0, 8).map((row, n) => people[n % 2]!.post(remit, selected(row))),
    );
    const trips = await Promise.all([
      transfer(tenant.dispatcher, { amount: 1_000 }),
      transfer(tenant.admin, { amount: 1_000 }),
      transfer(tenant.dispatcher, {
        amount: 1_500,
        kind: "handover",
        to_user_id: tenant.ops.id,
      }),
    ]);
    const answers = await Promise.all([
      ...rows.slice(8).map((row, n) => people[n % 2]!.post(remit, selected(row))),
      ...settled.slice(0, 6).map(({ body }) =>
        tenant.admin.post(
          `/delivery/cod-settlements/${body.data.settlement_payment_id}/reverse`,
          { reason: "Typed twice" },
          key(),
        )
      ),
      ...trips.map(({ body }) => reverse(tenant.admin, body.data.id)),
      ...people.flatMap((from, n) =>
        people.filter((to) => to !== from).map((to) =>
          transfer(tenant.admin, {
            from_user_id: from.id,
            amount: 300 + 250 * n,
            kind: "handover",
            to_user_id: to.id,
          })
        )
      ),
      ...people.map(({ id }) => transfer(tenant.admin, { from_user_id: id, amount: 700 })),
    ]);
    for (const { status, body } of answers) {
      const shown = `${round} ${JSON.stringify(body)}`;
      if (status > 201) expect(body.code, shown).toBe("insufficient_desk_cash");
    }
    await sound(tenant);
  }
});

test("twenty with one key bank once; a repeated request moves no part", async () => {
  const ground = await newBanker();
  const { tenant } = ground;
  const [row, other] = await delivered(ground, [7_000, 7_000]);
  await handIn(ground, [row!, other!]);
  const once = key();
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => transfer(tenant.dispatcher, { amount: 9_000 }, once)),
  );
  expect(new Set(answers.map(({ body }) => body.data.id)).size).toBe(1);
  expect(await transfer(tenant.dispatcher, { amount: 9_000 }, once)).toSucceed(201);
  expect(await onDesks(tenant, row!, other!)).toEqual([0, 9_000]);
  expect(await standing(tenant.customer)).toEqual([14_000, 7_000, 7_000]);
  await sound(tenant);
});
