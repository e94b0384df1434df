/** Payments of one carrier that meet say what is owed as if one had come after the other. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { carried, newSide, payCarried, type Side } from "../../support/carriers.ts";
import { checkAll } from "../../support/deliveries.ts";
import { queuedBehind } from "../../support/overlapping.ts";

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
