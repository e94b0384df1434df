/** Adjustments of wallets whose key is sent again, at any later time, and several at once. */
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import "../../support/expect.ts";
import { newPerson, newTenant, type Tenant } from "../../support/people.ts";
import { booksOf } from "../../support/reconciled.ts";
import { adjust, balanceOf, entriesOf, freshWallet, key } from "../../support/wallets.ts";

let tenant: Tenant;
beforeAll(async () => {
  tenant = await newTenant();
});

type Key = ReturnType<typeof key>;
/** A day later: the request engine has forgotten the key. */
const forgotten = ({ headers }: Key) =>
  sql`delete from app.idempotency_keys where key = ${headers["idempotency-key"]}`;
const sound = async () => expect(await booksOf(tenant)).toEqual([]);

describe("an adjustment under a key that the engine has forgotten", () => {
  test("is answered as the first was, and moves nothing", async () => {
    const wallet = await freshWallet(tenant);
    const once = key();
    const first = await adjust(tenant.admin, wallet, 500, "credit", once);
    expect(first).toSucceed(200);
    await forgotten(once);
    const late = await adjust(tenant.admin, wallet, 500, "credit", once);
    expect(late).toSucceed(200);
    expect(late.body).toEqual(first.body);
    await forgotten(once);
    // The wallet has what moved since; the adjustment is the one that was made.
    await adjust(tenant.admin, wallet, 200, "debit");
    const later = await adjust(tenant.admin, wallet, 500, "credit", once);
    expect(later.body).toMatchObject({
      payment_id: first.body.payment_id,
      transaction: first.body.transaction,
      wallet: { balance: 300 },
    });
    expect(await balanceOf(wallet)).toBe(300);
    expect(await entriesOf(wallet)).toHaveLength(2);
    await sound();
  });

  test("with another amount, direction, reason or wallet is a conflict", async () => {
    const wallet = await freshWallet(tenant);
    const other = await freshWallet(tenant);
    const once = key();
    await adjust(tenant.admin, wallet, 500, "credit", once);
    await forgotten(once);
    for (
      const [into, amount, direction, reason] of [
        [wallet, 501, "credit", "Cash desk"],
        [wallet, 500, "debit", "Cash desk"],
        [wallet, 500, "credit", "Bank"],
        [other, 500, "credit", "Cash desk"],
      ] as const
    ) {
      expect(await adjust(tenant.admin, into, amount, direction, once, reason))
        .toFailWith(409, "idempotency_conflict");
    }
    expect(await balanceOf(wallet)).toBe(500);
    expect(await balanceOf(other)).toBe(0);
  });

  test("is another one of another person, and of a person who was refused", async () => {
    const wallet = await freshWallet(tenant);
    const second = await newPerson(tenant.id, "staff", "tenant_admin");
    const once = key();
    expect(await adjust(tenant.admin, wallet, 5, "debit", once))
      .toFailWith(400, "insufficient_wallet_balance");
    await forgotten(once);
    expect(await adjust(tenant.admin, wallet, 5, "credit", once)).toSucceed(200);
    expect(await adjust(second, wallet, 5, "credit", once)).toSucceed(200);
    expect(await balanceOf(wallet)).toBe(10);
    expect(await adjust(tenant.ops, wallet, 5, "credit", once)).toFailWith(403, "forbidden");
    await sound();
  });

  test("of twenty at once none moves anything", async () => {
    const wallet = await freshWallet(tenant);
    const once = key();
    const first = await adjust(tenant.admin, wallet, 500, "credit", once);
    await forgotten(once);
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => adjust(tenant.admin, wallet, 500, "credit", once)),
    );
    for (const answer of answers) expect(answer.body).toEqual(first.body);
    expect(await balanceOf(wallet)).toBe(500);
    expect(await entriesOf(wallet)).toHaveLength(1);
    await sound();
  });
});

test("a reversal is found by its adjustment, whatever its key", async () => {
  const wallet = await freshWallet(tenant);
  const { body } = await adjust(tenant.admin, wallet, 500);
  const path = `/delivery/wallets/${wallet}/adjustments/${body.payment_id}/reverse`;
  const once = key();
  expect(await tenant.admin.post(path, { reason: "Wrong wallet" }, once)).toSucceed(200);
  await forgotten(once);
  expect(await tenant.admin.post(path, { reason: "Wrong wallet" }, once))
    .toFailWith(409, "adjustment_already_reversed");
  expect(await balanceOf(wallet)).toBe(0);
});

test("the database refuses a second payment under a key, from every writer", async () => {
  const wallet = await freshWallet(tenant);
  const once = key();
  const { body } = await adjust(tenant.admin, wallet, 500, "credit", once);
  await expect(
    sql`insert into money.payments (tenant_id, category, type, status, payment_method, amount, currency, account_id,
      actor_id, idempotency_key)
    select tenant_id, category, type, status, payment_method, amount, currency, account_id, actor_id, idempotency_key
    from money.payments where id = ${body.payment_id}`,
  )
    .rejects.toMatchObject({ constraint_name: "payment_key_used" });
});
