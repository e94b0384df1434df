/** A shop that changes its account at a gateway is paid for what was opened at the one before. */
import { beforeEach, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import "../../support/expect.ts";
import { checkAll, placeOrder, type Shop, standing } from "../../support/orders.ts";
import {
  askGateways,
  atGateway,
  due,
  eventFor,
  newCardShop,
  numberOf,
  openReports,
  received,
  refundOf,
  report,
  sign,
  webhookSecret,
} from "../../support/payments.ts";

let shop: Shop;
beforeEach(async () => {
  shop = await newCardShop();
});

const put = async (code: string, body: object) => {
  const answer = await shop.tenant.admin.put(`/payment/gateways/${code}`, body);
  expect(answer).toSucceed(200);
  return answer.body.data;
};
const paid = { payment_status: "paid", paid: 1 };
const pending = { payment_status: "pending", paid: 0 };

/** Asks the gateway about all that may have been paid, as cron does. */
async function ask(): Promise<void> {
  await sql`update money.payments set created_at = created_at - interval '2 minutes', last_checked_at = null
    where tenant_id = ${shop.tenant.id} and status = 'pending'`;
  await askGateways(shop);
}

/** An event of an account, signed with its secret. */
async function hear(placed: Parameters<typeof numberOf>[0], account: string, secret: string) {
  const body = JSON.stringify(eventFor(shop, numberOf(placed), due, { account }));
  return await report(body, sign(body, secret));
}

test("a payment that was opened at the terminal before is asked about there", async () => {
  const before = await placeOrder(shop, "gatewayone");
  await atGateway(before.instructions.redirect_url, "pay", "yes");
  const { previous_accounts } = await put("gatewayone", {
    settings: { terminal: "LOCAL002" },
    secrets: { username: "shop", password: "another" },
  });
  expect(previous_accounts).toEqual(["LOCAL001"]);
  await ask();
  expect(await standing(before.id)).toMatchObject(paid);
  await checkAll(shop.tenant);
});

test("an event of the account before is taken for what was opened there, by its own secret", async () => {
  const first = await placeOrder(shop, "razorpay");
  const second = await placeOrder(shop, "razorpay");
  const account = `acc_${crypto.randomUUID().slice(0, 8)}`;
  await put("razorpay", { secrets: { webhook_secret: "rotated" } });
  await put("razorpay", { settings: { account_id: account }, secrets: { webhook_secret: "new" } });
  const third = await placeOrder(shop, "razorpay");

  expect((await hear(first, shop.account, "new")).status).toBe(401);
  expect((await hear(third, account, "rotated")).status).toBe(401);
  expect(await hear(first, shop.account, "rotated")).toEqual(received);
  expect(await hear(second, shop.account, "local-webhook-secret")).toEqual(received);
  expect(await hear(third, account, "new")).toEqual(received);
  for (const { id } of [first, second, third]) expect(await standing(id)).toMatchObject(paid);
  await checkAll(shop.tenant);
});

test("an account that is used again has the secrets it got last", async () => {
  const placed = await placeOrder(shop, "razorpay");
  await put("razorpay", { settings: { account_id: "acc_other" } });
  const again = await put("razorpay", {
    settings: { account_id: shop.account },
    secrets: { webhook_secret: "renewed" },
  });
  expect(again.previous_accounts).toEqual(["acc_other"]);
  expect(await hear(placed, shop.account, "renewed")).toEqual(received);
  expect(await standing(placed.id)).toMatchObject(paid);
});

test("accounts of before are forgotten with the secret of before, and are ten at most", async () => {
  const placed = await placeOrder(shop, "razorpay");
  const names = Array.from({ length: 12 }, (_, index) => `acc_${index}`);
  let data = await put("razorpay", {});
  for (const account_id of names) data = await put("razorpay", { settings: { account_id } });
  expect(data.previous_accounts).toEqual(names.slice(1, 11).reverse());
  expect((await hear(placed, shop.account, "local-webhook-secret")).status).toBe(401);
  data = await put("razorpay", { forget_previous_secret: true });
  expect(data).toMatchObject({ previous_accounts: [], has_previous_webhook_secret: false });
  expect(await standing(placed.id)).toMatchObject(pending);
  const log = await sql`select a::text as text from app.audit_log a
    where tenant_id = ${shop.tenant.id} and entity = 'money.payment_gateways'`;
  expect(log.map(({ text }) => text).join()).not.toContain("s1.");
});

/** The name of an account that no other shop has. */
const unused = () => `acc_${crypto.randomUUID().slice(0, 8)}`;

test("an event of the account before pays nothing that was opened at the new one", async () => {
  const account = unused();
  await put("razorpay", {
    settings: { account_id: account },
    secrets: { webhook_secret: "new" },
  });
  const placed = await placeOrder(shop, "razorpay");
  expect(await hear(placed, shop.account, "local-webhook-secret")).toEqual(received);
  expect(await standing(placed.id)).toMatchObject(pending);
  expect(await hear(placed, account, "new")).toEqual(received);
  expect(await standing(placed.id)).toMatchObject(paid);
});

test.each([
  ["with a new secret", { secrets: { webhook_secret: "third" } }],
  ["with another account", {
    settings: { account_id: unused() },
    secrets: { webhook_secret: "third" },
  }],
])("what was before is forgotten %s as well", async (_, change) => {
  const account = unused();
  await put("razorpay", {
    settings: { account_id: account },
    secrets: { webhook_secret: "new" },
  });
  const placed = await placeOrder(shop, "razorpay");
  const data = await put("razorpay", { ...change, forget_previous_secret: true });
  expect(data).toMatchObject({ has_previous_webhook_secret: false, previous_accounts: [] });
  expect((await hear(placed, account, "new")).status).toBe(401);
  expect((await hear(placed, shop.account, "local-webhook-secret")).status).toBe(401);
});

describe("what was opened under a name of the account that was mistyped", () => {
  test("is paid by the account's own name, and what the gateway gives back of it is booked", async () => {
    const placed = await placeOrder(shop, "razorpay");
    const account = unused();
    await put("razorpay", { settings: { account_id: account } });
    expect(await hear(placed, account, webhookSecret)).toEqual(received);
    expect(await standing(placed.id)).toMatchObject(paid);
    await report({ ...refundOf(shop, placed), account_id: account });
    expect(await standing(placed.id)).toMatchObject({ refunds: 1 });
    expect(await openReports(shop, placed)).toEqual([]);
    await checkAll(shop.tenant);
  });

  test("is the account's also after it was changed for another one, and is not another company's", async () => {
    const placed = await placeOrder(shop, "razorpay");
    const account = unused();
    await put("razorpay", {
      settings: { account_id: account },
      secrets: { webhook_secret: "own" },
    });
    const other = await newCardShop();
    expect(
      await other.tenant.admin.put("/payment/gateways/razorpay", {
        settings: { account_id: account },
      }),
    ).toSucceed(200);
    const theirs = { ...eventFor(shop, numberOf(placed), due, { account }), created_at: 7 };
    expect(await report(theirs)).toEqual(received);
    expect(await standing(placed.id)).toMatchObject(pending);
    await put("razorpay", {
      settings: { account_id: unused() },
      secrets: { webhook_secret: "new" },
    });
    const since = await placeOrder(shop, "razorpay");
    expect(await hear(placed, account, "own")).toEqual(received);
    expect(await hear(since, account, "own")).toEqual(received);
    expect(await standing(placed.id)).toMatchObject(paid);
    expect(await standing(since.id)).toMatchObject(pending);
    await checkAll(shop.tenant);
  });
});
