/** Payments of one carrier that meet say what is owed as if one had come after the other. */
import { randomUUID } from "node:crypto";
import type { TransactionSql } from "postgres";
import { expect, test } from "vitest";
import {
  bookedCash,
  carried,
  newSide,
  payCarried,
  type Side,
  tell,
} from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import { checkAll } from "../../support/deliveries.ts";
import { locksBefore, queuedBehind } from "../../support/overlapping.ts";

/** Holds a payment under this reference once its rows are chosen. */
const entering = ({ tenant }: Side, reference: string) =>
  queuedBehind.bind(null, (session) =>
    session`insert into money.carrier_remittances
      (tenant_id, carrier_code, currency, amount, cod_amount, delivery_fee_amount, collections, reference)
      values (${tenant.id}, 'simulated', 'IQD', 1, 1, 0, 1, ${reference})`);

test("a payment for the oldest and the reversal of another one", async () => {
  const side = await newSide();
  const { admin } = side.tenant;
  const [first, second] = await carried(side, 1_000, 1_000);
  const paid = await payCarried(admin, 3_000, { delivery_ids: [first!.id] });
  expect(paid).toSucceed(201);
  const reference = randomUUID();
  const [oldest, reversed] = await entering(side, reference)([
    () => payCarried(admin, 3_000, { reference }),
    () =>
      admin.post(`/carriers/tenant/simulated/remittances/${paid.body.remittance.id}/reverse`, {
        reason: "Entered twice",
      }),
  ]);
  expect(oldest).toSucceed(201);
  expect(reversed).toSucceed(200);
  expect(oldest!.body.remittance.remitted_collections).toMatchObject([{ delivery_id: second!.id }]);
  expect([oldest, reversed].map((answer) => answer!.body.remittance.still_owed))
    .toEqual([0, 3_000]);
  await checkAll(side.tenant);
});

test("two payments for the oldest pay different rows, the oldest first", async () => {
  const side = await newSide();
  const { admin } = side.tenant;
  const [first, second] = await carried(side, 1_000, 1_000);
  const reference = randomUUID();
  const answers = await entering(side, reference)([
    () => payCarried(admin, 3_000, { reference }),
    () => payCarried(admin, 3_000),
  ]);
  expect(answers.map(({ body }) => [
    body.remittance?.remitted_collections[0].delivery_id,
    body.remittance?.still_owed,
  ])).toEqual([[first!.id, 3_000], [second!.id, 0]]);
  await checkAll(side.tenant);
});

type Kind = "external" | "cash_on_hand" | "carrier_cash";

/** Opens an account of a tenant that is the first in the order of the ids. */
const openedFirst = ({ tenant }: Side, kind: Kind) =>
  sql`insert into money.accounts (id, tenant_id, kind, owner_type, currency)
    values (overlay(gen_random_uuid()::text placing '00000000' from 1)::uuid, ${tenant.id}, ${kind}, 'tenant', 'IQD')`;
/** Locks an account of a tenant, or fails at once. */
const locked = ({ tenant }: Side, kind: Kind) => (tx: TransactionSql) =>
  tx`select from money.accounts where tenant_id = ${tenant.id} and kind = ${kind} and owner_type in ('tenant', 'carrier')
    for no key update nowait`;

test("a report takes the carrier's account before what is outside, as payments with charges do", async () => {
  const side = await newSide();
  await openedFirst(side, "external");
  await carried(side, 1_000);
  const coming = await bookedCash(side.ground);
  const answer = await locksBefore(
    locked(side, "carrier_cash"),
    () => tell(side, coming, "delivered"),
    locked(side, "external"),
  );
  expect(answer.body.outcome).toBe("applied");
  await checkAll(side.tenant);
});

test("what operations complete for a carrier takes the carrier's account before its owner's wallet, as a report and an undo do", async () => {
  const side = await newSide();
  const { tenant } = side;
  await carried(side, 1_000);
  const coming = await bookedCash(side.ground);
  expect(await tell(side, coming, "picked_up")).toSucceed(200);
  const answer = await locksBefore(
    locked(side, "carrier_cash"),
    () => tenant.ops.post(`/delivery/deliveries/${coming.id}/complete`),
    (tx) =>
      tx`select from money.accounts where tenant_id = ${tenant.id} and kind = 'wallet'
        and owner_user_id = ${tenant.customer.id} for no key update nowait`,
  );
  expect(answer).toSucceed(200);
  await checkAll(tenant);
});

test.each<[Kind, Kind]>([["cash_on_hand", "external"], ["external", "cash_on_hand"]])(
  "a payment with charges and its reversal take %s before %s where it comes first, as transfers do",
  async (first, second) => {
    const side = await newSide();
    const { admin } = side.tenant;
    await openedFirst(side, first);
    await carried(side, 1_000, 1_000);
    expect(await payCarried(admin, 3_000)).toSucceed(201);
    const paid = await locksBefore(
      locked(side, first),
      () => payCarried(admin, 3_000, { charges: 500 }),
      locked(side, second),
    );
    expect(paid).toSucceed(201);
    const { id } = paid.body.remittance;
    const reversed = await locksBefore(
      locked(side, first),
      () => admin.post(`/carriers/tenant/simulated/remittances/${id}/reverse`, { reason: "Twice" }),
      locked(side, second),
    );
    expect(reversed).toSucceed(200);
    await checkAll(side.tenant);
  },
);
