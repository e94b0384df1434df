/** Refunds of an order whose key is sent again, at any later time, and several at once. */
import { beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import "../../support/expect.ts";
import {
  checkAll,
  newShop,
  placeOrder,
  type Shop,
  standing,
  walletOf,
} from "../../support/orders.ts";
import { key } from "../../support/wallets.ts";

let shop: Shop;
beforeAll(async () => {
  shop = await newShop({ stock: 1_000 });
});

type Key = ReturnType<typeof key>;
/** A day later: the request engine has forgotten the key. */
const forgotten = ({ headers }: Key) =>
  sql`delete from app.idempotency_keys where key = ${headers["idempotency-key"]}`;
const refund = (order: string, body: object, options?: Key) =>
  shop.tenant.admin.post(`/storefront/orders/${order}/refund`, body, options);
const purse = () => walletOf(shop.tenant, shop.tenant.customer.id);

test("a refund is made once under a key, at any time", async () => {
  const { id } = await placeOrder(shop, "wallet");
  const before = await purse();
  const once = key();
  const first = await refund(id, { amount: 1_000, note: "Late" }, once);
  expect(first).toSucceed(200);
  await forgotten(once);
  const late = await refund(id, { amount: 1_000, note: "Late" }, once);
  expect(late).toSucceed(200);
  expect(late.body).toEqual(first.body);
  await forgotten(once);
  for (const body of [{ amount: 1_001, note: "Late" }, { amount: 1_000 }, {}]) {
    expect(await refund(id, body, once)).toFailWith(409, "idempotency_conflict");
  }
  const other = await placeOrder(shop, "wallet");
  expect(await refund(other.id, { amount: 1_000, note: "Late" }, once))
    .toFailWith(409, "idempotency_conflict");
  expect(await purse()).toBe(before + 1_000);
  await checkAll(shop.tenant);
});

test("all that is left is given back once, also when nothing is left any more", async () => {
  const { id } = await placeOrder(shop, "wallet");
  const before = await purse();
  const once = key();
  const first = await refund(id, {}, once);
  await forgotten(once);
  const late = await refund(id, { amount: null, note: null }, once);
  expect(late.body).toEqual(first.body);
  expect(await refund(id, {}, key())).toFailWith(409, "nothing_to_refund");
  expect(await purse()).toBe(before + 6_000);
  await checkAll(shop.tenant);
});

test("twenty at once, after the engine has forgotten the key, give nothing back again", async () => {
  const { id } = await placeOrder(shop, "wallet");
  const before = await purse();
  const once = key();
  const first = await refund(id, { amount: 500 }, once);
  await forgotten(once);
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => refund(id, { amount: 500 }, once)),
  );
  for (const answer of answers) expect(answer.body).toEqual(first.body);
  expect(await standing(id)).toMatchObject({ refunds: 1 });
  expect(await purse()).toBe(before + 500);
  await checkAll(shop.tenant);
});

test("without a key each is a refund of its own; a cancellation keeps no key", async () => {
  const { id } = await placeOrder(shop, "wallet");
  expect(await refund(id, { amount: 500 })).toSucceed(200);
  expect(await refund(id, { amount: 500 })).toSucceed(200);
  const once = key();
  const cancelled = await shop.tenant.admin.put(
    `/storefront/orders/${id}/cancel`,
    { reason: "other" },
    once,
  );
  expect(cancelled).toSucceed(200);
  expect(
    await sql`select idempotency_key from money.payments where order_id = ${id} and type = 'REFUND'`,
  )
    .toEqual(Array.from({ length: 3 }, () => ({ idempotency_key: null })));
  await checkAll(shop.tenant);
});

test("a refund that was made when unknown fields were ignored is answered again, and made by none that sends them", async () => {
  const { id } = await placeOrder(shop, "wallet");
  const before = await purse();
  const once = key();
  const first = await refund(id, { amount: 1_000, note: "ticket 12" }, once);
  expect(first).toSucceed(200);
  const sent = { amount: 1_000, reason: "late", note: "ticket 12" };
  const again = await refund(id, sent, once);
  expect(again).toSucceed(200);
  expect(again.headers.get("idempotency-replayed")).toBe("true");
  expect(again.body).toEqual({ ...first.body, ignored: ["reason"] });
  for (
    const [body, used] of [
      [{ ...sent, amount: 999 }, once],
      [{ ...sent, value: "x" }, key()],
      [sent, undefined],
      [{ amount: "much", reason: "late" }, once],
    ] as const
  ) {
    expect(await refund(id, body, used)).toFailWith(400, "validation_failed");
  }
  const stranger = await shop.tenant.driver.post(`/storefront/orders/${id}/refund`, sent, once);
  expect(stranger.status).toBe(403);
  expect(await purse()).toBe(before + 1_000);
  await checkAll(shop.tenant);
});
