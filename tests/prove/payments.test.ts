/**
 * Notifications of gateways in any order, repeated, tampered with, of wrong amounts, currencies, orders and tenants,
 * against a model of what each order comes to; and a gateway that signs nothing, whose word is asked for while it is
 * away, slow or wrong.
 */
import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { pick, randomFrom } from "../contract/hostile.ts";
import { sql } from "../support/db.ts";
import "../support/expect.ts";
import {
  checkAll,
  type Placed,
  placeOrder,
  type Shop,
  standing,
  walletOf,
} from "../support/orders.ts";
import {
  atGateway,
  due,
  eventFor,
  newCardShop,
  numberOf,
  report,
  sign,
} from "../support/payments.ts";
import { figure, of, say, seed } from "./proof.ts";

const random = randomFrom(seed);
const chance = (share: number) => random() < share;
const orders = of({ brief: 10, test: 20, short: 80, full: 1_600 });

let shop: Shop;
let other: Shop;
beforeAll(async () => {
  [shop, other] = await Promise.all([newCardShop(100_000), newCardShop()]);
});

interface Message {
  body: string;
  signature: string;
  /** The expected response. */
  status: number;
}

/** The events of one order, and their result. */
function story(placed: Placed): { messages: Message[]; ends: "paid" | "failed" | "pending" } {
  const number = numberOf(placed);
  const genuine = (event: object): Message => {
    const body = JSON.stringify(event);
    return { body, signature: sign(body), status: 200 };
  };
  const captured = eventFor(shop, number, due);
  const messages: Message[] = [];
  const paid = chance(0.6);
  const failed = chance(0.3);
  if (paid) messages.push(genuine(captured));
  if (failed) {
    const event = { event: "payment.failed", status: "failed", id: `pay_failed_${number}` };
    messages.push(genuine(eventFor(shop, number, due, event)));
  }
  if (chance(0.5)) {
    const event = { event: "payment.authorized", status: "authorized" };
    messages.push(genuine(eventFor(shop, number, due, event)));
  }
  // Signed, and wrong all the same.
  if (chance(0.4)) {
    messages.push(genuine(pick(random, [
      eventFor(shop, number, due - 1, { id: `pay_less_${number}` }),
      eventFor(shop, number, due * 1_000, { id: `pay_fils_${number}` }),
      eventFor(shop, number, due, { id: `pay_usd_${number}`, entity: { currency: "USD" } }),
      eventFor(shop, number, due, {
        id: `pay_order_${number}`,
        entity: { notes: { order_id: randomUUID() } },
      }),
      eventFor(other, number, due, { id: `pay_tenant_${number}` }),
    ])));
  }
  // Not signed by whom it says.
  if (chance(0.4)) {
    const body = JSON.stringify(eventFor(shop, number, due, { id: `pay_forged_${number}` }));
    messages.push(pick(random, [
      { body: body + " ", signature: sign(body), status: 401 },
      { body, signature: sign(body, "guessed"), status: 401 },
      { body, signature: "", status: 401 },
      { body: body.replace(String(due), String(due + 1)), signature: sign(body), status: 401 },
    ]));
  }
  const repeated = messages.flatMap((message) =>
    Array.from({ length: 1 + Math.floor(random() * 5) }, () => message)
  );
  return { messages: repeated, ends: paid ? "paid" : failed ? "failed" : "pending" };
}

test(`whatever comes in whatever order, orders end as they must (seed ${seed})`, async () => {
  const placed: Placed[] = [];
  while (placed.length < orders) placed.push(await placeOrder(shop, "razorpay"));
  say(`${orders} orders placed`);
  const stories = placed.map((one) => ({ one, ...story(one) }));
  const queue = stories.flatMap(({ messages }) => messages)
    .map((message) => ({ message, place: random() })).sort((a, b) => a.place - b.place);
  const total = queue.length;
  const before = await walletOf(shop.tenant, null);
  const wrong: string[] = [];
  const times: number[] = [];
  await Promise.all(Array.from({ length: 8 }, async () => {
    for (let next = queue.pop(); next; next = queue.pop()) {
      const { body, signature, status } = next.message;
      const began = performance.now();
      const answer = await report(body, signature === "" ? null : signature);
      times.push(performance.now() - began);
      if (answer.status !== status) wrong.push(`${answer.status} instead of ${status}: ${body}`);
    }
  }));
  const ends = await sql<{ id: string; payment_status: string }[]>`
    select id, payment_status from storefront.storefront_orders where id = any (${
    placed.map(({ id }) => id)
  })`;
  const found = new Map(ends.map(({ id, payment_status }) => [id, payment_status]));
  const different = stories.filter(({ one, ends }) => found.get(one.id) !== ends)
    .map(({ one, ends }) => `${one.id}: ${found.get(one.id)} instead of ${ends}`);
  const paid = stories.filter(({ ends }) => ends === "paid").length;
  const p99 = times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)];
  figure({
    what: `orders that end as the model says, after notifications in any order`,
    asked: `${orders} of ${orders}`,
    reached: `${orders - different.length} of ${orders}`,
    holds: different.length === 0,
  });
  figure({
    what: "notifications",
    asked: `at least ${of({ test: 50, short: 300, full: 10_000 })}`,
    reached: total,
    holds: total >= of({ test: 50, short: 300, full: 10_000 }),
  });
  figure({
    what: "99th percentile of their answers, 8 at a time",
    asked: "at most 500 ms",
    reached: `${Math.round(p99)} ms`,
    holds: p99 <= 500,
  });
  expect(wrong).toEqual([]);
  expect(different).toEqual([]);
  expect(await walletOf(shop.tenant, null)).toBe(before + paid * 6_000);
  await settleAll();
  await checkAll(shop.tenant);
}, of({ test: 60_000, short: 120_000, full: 360_000 }));

/** Credits all money that fitted no payment, by two administrators' hands at once: each transaction once. */
async function settleAll(): Promise<void> {
  const { admin, customer } = shop.tenant;
  const open = await sql<{ id: string; transaction: string; amount: number; usd: boolean }[]>`
    select id, facts ->> 'transaction_id' as transaction, (facts ->> 'amount')::float8 as amount,
      facts ->> 'currency' = 'USD' as usd
    from money.payment_webhook_events
    where tenant_id = ${shop.tenant.id} and outcome = 'unmatched' and resolution is null
      and payment_id is not null`;
  const due = new Map(open.filter(({ usd }) => !usd).map((one) => [one.transaction, one.amount]));
  const before = await walletOf(shop.tenant, customer.id);
  const answers: number[] = [];
  for (const { id } of open) {
    const settle = () =>
      admin.post(`/payment/webhook-events/${id}/resolve`, {
        resolution: "credited_by_adjustment",
        action: "credit_wallet",
      });
    answers.push(...(await Promise.all([settle(), settle()])).map(({ status }) => status));
  }
  const credited = await walletOf(shop.tenant, customer.id) - before;
  const owed = [...due.values()].reduce((sum, amount) => sum + amount, 0);
  figure({
    what: "transactions that fitted no payment, each settled by two at once: credited once",
    asked: `${due.size} of ${due.size}`,
    reached: `${answers.filter((status) => status === 200).length} of ${due.size}`,
    holds: credited === owed,
  });
  expect(credited).toBe(owed);
  expect(answers.filter((status) => status === 200)).toHaveLength(due.size);
  expect(answers.every((status) => status === 200 || status === 409)).toBe(true);
}

test("a notification that nobody signed pays nothing, whatever the gateway is like", async () => {
  const count = of({ brief: 4, test: 8, short: 25, full: 100 });
  const notices = of({ brief: 20, test: 40, short: 200, full: 1_000 });
  const placed: Placed[] = [];
  while (placed.length < count) placed.push(await placeOrder(shop, "gatewayone"));
  // A part of them is really paid, and nobody is told; a part by another amount than is due; a part the gateway
  // has never heard of.
  const kinds = ["open", "paid", "lies", "away"] as const;
  const kindOf = (index: number) => kinds[index % kinds.length];
  const numbers = new Map<string, string>();
  for (const [index, one] of placed.entries()) {
    let number = numberOf(one);
    if (kindOf(index) === "paid" || kindOf(index) === "lies") {
      await atGateway(one.instructions.redirect_url, "pay", "yes");
    }
    if (kindOf(index) === "lies") {
      await sql`update money.payments set amount = amount + 1 where order_id = ${one.id}`;
    }
    if (kindOf(index) === "away") {
      number = String(700_000_000_000 + Math.floor(Math.random() * 1e11));
      await sql`update money.payments set gateway_order_id = ${number} where order_id = ${one.id}`;
    }
    numbers.set(one.id, number);
  }
  const queue = Array.from({ length: notices }, () => pick(random, placed));
  const statuses: Record<string, number> = {};
  await Promise.all(Array.from({ length: 8 }, async () => {
    for (let one = queue.pop(); one; one = queue.pop()) {
      const { status } = await report(
        {
          terminal: pick(random, ["LOCAL001", "OTHER"]),
          actionCode: "0",
          responseCode: "00",
          statusMsg: "Approved",
          amount: pick(random, ["6000", "1", "6000000"]),
          currency: "368",
          rrn: String(100_000_000_000 + Math.floor(random() * 8e11)),
          orderId: numbers.get(one.id),
        },
        null,
        "gatewayone",
      );
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  }));
  // Asked at most every two seconds: once more, so that each was asked.
  await sql`update money.payments set last_checked_at = last_checked_at - interval '1 minute'
    where order_id = any (${placed.map(({ id }) => id)})`;
  for (const one of placed) {
    await report(
      {
        terminal: "LOCAL001",
        actionCode: "0",
        responseCode: "00",
        statusMsg: "Approved",
        amount: "6000",
        currency: "368",
        rrn: "1",
        orderId: numbers.get(one.id),
      },
      null,
      "gatewayone",
    );
  }
  const wrong: string[] = [];
  for (const [index, one] of placed.entries()) {
    const { payment_status, paid } = await standing(one.id);
    const should = kindOf(index) === "paid" ? "paid 1" : "pending 0";
    if (`${payment_status} ${paid}` !== should) {
      wrong.push(`${kindOf(index)}: ${payment_status} ${paid}`);
    }
  }
  figure({
    what:
      `forged notices of ${count} orders (open, paid, wrong amount, unknown there): wrongly paid or not`,
    asked: "0",
    reached: wrong.length,
    holds: wrong.length === 0,
  });
  figure({
    what: "forged notices",
    asked: `at least ${notices}`,
    reached: Object.values(statuses).reduce((sum, n) => sum + n, 0),
    holds: true,
  });
  expect(wrong).toEqual([]);
  expect(Object.keys(statuses).every((status) => status === "200" || status === "503")).toBe(true);
}, of({ test: 60_000, short: 120_000, full: 240_000 }));
