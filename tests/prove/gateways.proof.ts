/**
 * A gateway that signs nothing and cannot be relied on: away, slow, broken, or wrong about the amount, the currency, the order,
 * the terminal. Whoever asks it meanwhile, a forged notification, a customer who looks, the clock, nothing is
 * paid; once it tells the truth, what was paid is paid once.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Stack } from "../../supabase/local/stack.ts";
import { pick, randomFrom } from "../contract/hostile.ts";
import { sql } from "../support/db.ts";
import "../support/expect.ts";
import {
  checkAll,
  newShop,
  type Placed,
  placeOrder,
  type Shop,
  standing,
  walletOf,
} from "../support/orders.ts";
import { atGateway, report, takeCards } from "../support/payments.ts";
import { moveToOwnStack } from "../support/move-to-own-stack.ts";
import { allBreaches } from "./invariants.ts";
import { figure, of, say, seed } from "./proof.ts";

const random = randomFrom(seed);
const perTrouble = of({ test: 2, short: 2, full: 6 });
const notices = of({ test: 100, short: 200, full: 1_000 });

type Answer = (response: ServerResponse, orderId: string) => void;

/** An answer in good form that says: paid. */
const says = (lie: Record<string, string | undefined>): Answer => (response, orderId) => {
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({
    data: {
      terminal: "LOCAL001",
      actionCode: "0",
      responseCode: "00",
      statusMsg: "Approved",
      amount: "6000",
      currency: "368",
      rrn: `9${orderId}`.slice(0, 12),
      orderId,
      ...lie,
    },
  }));
};
const broken = (status: number, text: string, headers = {}): Answer => (response) =>
  void response.writeHead(status, headers).end(text);

const troubles: Record<string, Answer> = {
  away: (response) => void response.socket?.resetAndDestroy(),
  "slow for ever": () => {},
  dripping(response) {
    response.writeHead(200, { "content-type": "application/json" });
    const drops = setInterval(() => response.write(" "), 200);
    response.on("close", () => clearInterval(drops));
  },
  "out of order": broken(500, '{"message":"oops"}'),
  "without the payment": broken(404, '{"message":"Not found"}'),
  "talking in pages": broken(200, "<html>Approved</html>"),
  "cut in the middle": broken(200, '{"data":{"actionCode":"0","responseCode":"00"', {
    "content-length": 400,
  }),
  "without end": broken(200, `{"data":"${"x".repeat(5_000_000)}"}`),
  "sending elsewhere": (response) =>
    void response.writeHead(307, { location: `${lying.url}/elsewhere` }).end(),
  "wrong by one": says({ amount: "5999" }),
  "wrong by a mil": says({ amount: "5999.999" }),
  "telling minor units": says({ amount: "6000000" }),
  "telling nothing of an amount": says({ amount: undefined }),
  "telling an amount in words": says({ amount: "6000 IQD" }),
  "telling an amount in another script": says({ amount: "٦٠٠٠" }),
  "telling another currency": says({ currency: "840" }),
  "telling no currency": says({ currency: undefined }),
  "telling of another order": says({ orderId: "111111111111" }),
  "telling of no order": says({ orderId: undefined }),
  "telling another terminal": says({ terminal: "LOCAL002" }),
  "half approved": says({ responseCode: "51" }),
  "still thinking": says({ actionCode: "3" }),
};

/** Stands where the gateway does, and passes on what it is not asked to spoil. */
const lying = { url: "", answer: undefined as Answer | undefined, behind: "" };
const middleman = createServer(async (request, response) => {
  const spoiled = /^\/(?:transaction\/(\d+)\/checkStatus|elsewhere)$/.exec(request.url ?? "");
  // A client that follows the redirect reads that everything is paid.
  if (request.url === "/elsewhere") says({})(response, "0");
  else if (spoiled && lying.answer) lying.answer(response, spoiled[1]);
  else await passOn(request, response);
});

async function passOn(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { authorization = "", "content-type": type = "application/json" } = request.headers;
  const answer = await fetch(lying.behind + request.url, {
    method: request.method,
    headers: { authorization, "content-type": type },
    body: chunks.length ? Buffer.concat(chunks) : undefined,
  });
  response.writeHead(answer.status, { "content-type": "application/json" });
  response.end(await answer.text());
}

let stack: Stack;
let leave = () => Promise.resolve();
let shop: Shop;
beforeAll(async () => {
  await new Promise<void>((resolve) => middleman.listen(0, "127.0.0.1", resolve));
  lying.url = `http://127.0.0.1:${(middleman.address() as AddressInfo).port}`;
  ({ own: stack, leave } = await moveToOwnStack({
    workers: 2,
    env: { BARID_GATEWAYONE_URL: lying.url, BARID_LOG_LEVEL: "silent" },
  }));
  lying.behind = `${stack.url}/payments/v1/gatewayone`;
  shop = await newShop({ stock: 10_000 });
  await takeCards(shop);
}, 120_000);
afterAll(async () => {
  middleman.closeAllConnections();
  middleman.close();
  await leave();
});

const notice = ({ instructions }: Placed) =>
  report(
    {
      terminal: "LOCAL001",
      actionCode: "0",
      responseCode: "00",
      statusMsg: "Approved",
      amount: pick(random, ["6000", "1", "6000000"]),
      currency: "368",
      rrn: String(100_000_000_000 + Math.floor(random() * 8e11)),
      orderId: instructions.gateway_order_id,
    },
    null,
    "gatewayone",
  );

/** As if nobody had asked for a while, and the payments had been open for some minutes. */
const later = (placed: Placed[]) =>
  sql`update money.payments set last_checked_at = last_checked_at - interval '1 minute',
    created_at = least(created_at, now() - interval '2 minutes') where order_id = any (${
    placed.map(({ id }) => id)
  })`;

/** The customer looks, and the clock has the open payments asked for. */
async function othersAsk(placed: Placed[]): Promise<void> {
  await later(placed);
  await Promise.all(
    placed.map(({ id }) => shop.tenant.customer.get(`/storefront/orders/${id}/payment-status`)),
  );
  await later(placed);
  await sql`select money.payments_reconcile()`;
  await fetch(`${stack.apiUrl}/payment/internal/jobs`, {
    method: "POST",
    headers: { apikey: stack.secretKey },
  }).then((response) => response.body?.cancel());
}

test(`a gateway in trouble pays nothing, and then what was paid, once (seed ${seed})`, async () => {
  const names = Object.keys(troubles);
  const each = Math.ceil(notices / names.length);
  const before = await walletOf(shop.tenant, null);
  const all: { placed: Placed; paid: boolean; trouble: string }[] = [];
  const early: string[] = [];
  const statuses: Record<string, number> = {};
  let slowest = 0;
  for (const trouble of names) {
    lying.answer = undefined;
    const placed: Placed[] = [];
    for (let n = 0; n < perTrouble; n++) {
      const one = await placeOrder(shop, "gatewayone");
      // Half of them are really paid, and nobody is told.
      if (n % 2) await atGateway(one.instructions.redirect_url, "pay", "yes");
      placed.push(one);
      all.push({ placed: one, paid: n % 2 === 1, trouble });
    }
    lying.answer = troubles[trouble];
    let left = each;
    await Promise.all(Array.from({ length: 8 }, async () => {
      while (left-- > 0) {
        const began = performance.now();
        const { status } = await notice(pick(random, placed));
        slowest = Math.max(slowest, performance.now() - began);
        statuses[status] = (statuses[status] ?? 0) + 1;
      }
    }));
    await othersAsk(placed);
    for (const { id } of placed) {
      const { payment_status, paid } = await standing(id);
      if (paid !== 0 || payment_status === "paid") {
        early.push(`${trouble}: ${payment_status} ${paid}`);
      }
    }
    say(`${trouble}: ${early.length ? early.at(-1) : "nothing paid"}`);
  }
  lying.answer = undefined;
  const orders = all.map(({ placed }) => placed);
  await later(orders);
  await sql`update app.jobs set run_at = now() where kind = 'payment.reconcile' and status = 'queued'`;
  for (const { placed } of all) await Promise.all([notice(placed), notice(placed), notice(placed)]);
  await othersAsk(orders);
  const wrong: string[] = [];
  for (const { placed, paid, trouble } of all) {
    const now = await standing(placed.id);
    const should = paid ? "paid 1" : "pending 0";
    const is = `${now.payment_status} ${now.paid}`;
    if (is !== should) wrong.push(`${trouble}: ${is} instead of ${should}`);
  }
  const total = Object.values(statuses).reduce((sum, n) => sum + n, 0);
  figure({
    what:
      `orders paid while the gateway was in one of ${names.length} kinds of trouble, of ${all.length}`,
    asked: "0",
    reached: early.length,
    holds: early.length === 0,
  });
  figure({
    what: "forged notices to them meanwhile",
    asked: `at least ${notices}`,
    reached: total,
    holds: total >= notices,
  });
  figure({
    what:
      "orders that were not paid once if they were paid, and else not, when it told the truth again",
    asked: "0",
    reached: wrong.length,
    holds: wrong.length === 0,
  });
  figure({
    what: "slowest answer to a notice, ms",
    asked: "measured",
    reached: Math.round(slowest),
    holds: true,
  });
  expect(early).toEqual([]);
  expect(wrong).toEqual([]);
  expect(Object.keys(statuses).sort()).toEqual(["200", "503"]);
  const paid = all.filter((one) => one.paid).length;
  expect(await walletOf(shop.tenant, null)).toBe(before + paid * 6_000);
  await checkAll(shop.tenant);
  expect(await allBreaches(sql)).toEqual([]);
}, of({ test: 300_000, short: 300_000, full: 900_000 }));
