/** Adjustments that were wrong are taken back by their mirror. */
import { beforeAll, expect, test } from "vitest";
import { type CallOptions, nobody, type Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { adjust, balanceOf, entriesOf, freshWallet, key } from "../../support/wallets.ts";

let a: Tenant;
let b: Tenant;
beforeAll(async () => {
  [a, b] = await Promise.all([newTenant(), newTenant()]);
});

const reverse = (
  person: Person,
  wallet: string,
  payment: string,
  options: CallOptions = key(),
  reason: unknown = "Typed twice",
) => person.post(`/delivery/wallets/${wallet}/adjustments/${payment}/reverse`, { reason }, options);

test("an adjustment is reversed once, by its mirror, and both stay in the books", async () => {
  const id = await freshWallet(a);
  const { payment_id } = (await adjust(a.admin, id, 5000)).body;
  const { payment_id: taken } = (await adjust(a.admin, id, 1500, "debit")).body;
  const answer = await reverse(a.admin, id, taken);
  expect(answer).toSucceed(200);
  expect(answer.body).toMatchObject({
    wallet: { id, balance: 5000 },
    transaction: {
      kind: "WALLET_ADJUSTMENT_REVERSAL",
      description: "Typed twice",
      direction: "credit",
      amount: 1500,
      balance_after: 5000,
      reference_type: "payment",
      reference_id: taken,
      actor_id: a.admin.id,
    },
  });
  const again = await reverse(a.admin.in("ar"), id, taken);
  expect(again).toFailWith(409, "adjustment_already_reversed");
  expect(again.body.message).toBe("تم التراجع عن هذا التعديل من قبل.");
  // A reversal is no adjustment that could be taken back.
  expect(await reverse(a.admin, id, answer.body.payment_id)).toFailWith(
    404,
    "adjustment_not_found",
  );
  expect(await reverse(a.admin, id, payment_id)).toSucceed(200);
  expect(await balanceOf(id)).toBe(0);
  expect((await entriesOf(id)).map(({ amount }) => amount)).toEqual([5000, -1500, 1500, -5000]);
  expect(
    await sql`select type, status, amount, snapshot from money.payments where id = ${answer.body.payment_id}`,
  ).toEqual([{
    type: "WALLET_ADJUSTMENT_REVERSAL",
    status: "SUCCESS",
    amount: 1500,
    snapshot: { reverses: taken, reason: "Typed twice", direction: "credit" },
  }]);
});

test("an adjustment whose money was spent is not reversed, and nothing is written", async () => {
  const id = await freshWallet(a);
  const { payment_id } = (await adjust(a.admin, id, 100)).body;
  await adjust(a.admin, id, 1, "debit");
  expect(await reverse(a.admin, id, payment_id)).toFailWith(400, "insufficient_wallet_balance");
  expect(await balanceOf(id)).toBe(99);
  expect(await sql`select from money.payments where account_id = ${id}`).toHaveLength(2);
});

test("twenty who take back one adjustment at once: one does; under one key all hear the same", async () => {
  const id = await freshWallet(a);
  const [first, second] = [await adjust(a.admin, id, 70), await adjust(a.admin, id, 30)];
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => reverse(a.admin, id, first.body.payment_id)),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  for (const answer of answers.filter(({ status }) => status !== 200)) {
    expect(answer).toFailWith(409, "adjustment_already_reversed");
  }
  const once = key();
  const replays = await Promise.all(
    Array.from({ length: 12 }, () => reverse(a.admin, id, second.body.payment_id, once)),
  );
  for (const replay of replays) expect(replay.body).toEqual(replays[0].body);
  expect(replays[0]).toSucceed(200);
  expect(await balanceOf(id)).toBe(0);
  expect(await entriesOf(id)).toHaveLength(4);
});

test("only administrators take back adjustments, only of the wallet and the tenant that are named", async () => {
  const [id, other] = [await freshWallet(a), await freshWallet(a)];
  const { payment_id } = (await adjust(a.admin, id, 5)).body;
  for (const person of [a.ops, a.dispatcher, a.warehouse, a.staff, a.driver, a.customer]) {
    expect(await reverse(person, id, payment_id)).toFailWith(403, "forbidden");
  }
  expect(await reverse(nobody, id, payment_id)).toFailWith(401, "unauthorized");
  expect(await reverse(b.admin, id, payment_id)).toFailWith(404, "wallet_not_found");
  expect(await reverse(a.admin, other, payment_id)).toFailWith(404, "adjustment_not_found");
  expect(await reverse(a.admin, id, crypto.randomUUID())).toFailWith(404, "adjustment_not_found");
  expect(await reverse(a.admin, id, "first")).toFailWith(400, "invalid_uuid");
  expect(await reverse(a.admin, id, payment_id, key(), " ")).toFailWith(400, "validation_failed");
  expect(await reverse(a.admin, id, payment_id, {} as never)).toFailWith(
    400,
    "idempotency_key_required",
  );
  expect(await balanceOf(id)).toBe(5);
});
