/** How often one caller may ask, counted over all processes. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Stack } from "../../supabase/local/stack.ts";
import { startOwnStack } from "../support/own-stack.ts";

let stack: Stack;

beforeAll(async () => {
  stack = await startOwnStack({
    workers: 2,
    env: {
      BARID_READS_PER_MINUTE: "5",
      BARID_WRITES_PER_MINUTE: "3",
      BARID_PUBLIC_WRITES_PER_MINUTE: "4",
    },
  });
});
afterAll(() => stack?.stop());

async function bearer(sub = randomUUID()) {
  const { sql } = stack;
  await sql`insert into auth.users (id, email) values (${sub}, ${`${sub}@barid.test`})`;
  await sql`insert into tenancy.profiles (id, full_name) values (${sub}, 'Somebody')
    on conflict (id) do nothing`;
  return { authorization: `Bearer ${await stack.jwtSign({ sub })}` };
}

async function statuses(count: number, send: () => Promise<Response>): Promise<number[]> {
  const answers = await Promise.all(Array.from({ length: count }, send));
  await Promise.all(answers.map((answer) => answer.arrayBuffer()));
  return answers.map(({ status }) => status).sort();
}

const read = (headers: Record<string, string>) => () =>
  fetch(`${stack.apiUrl}/tenants/me`, { headers });
const write = (headers: Record<string, string>) => () =>
  fetch(`${stack.apiUrl}/tenants/${randomUUID()}/switch`, { method: "POST", headers });

describe("a user", () => {
  test("is let through as often as is allowed, whichever process is asked, refused requests included", async () => {
    const headers = await bearer();
    expect(await statuses(20, read(headers))).toEqual([
      ...Array(5).fill(200),
      ...Array(15).fill(429),
    ]);
    // Writes have a limit of their own; a non-member is refused, and that counts too.
    expect(await statuses(10, write(headers))).toEqual([
      ...Array(3).fill(403),
      ...Array(7).fill(429),
    ]);
  });

  test("takes nothing from others", async () => {
    await statuses(10, read(await bearer()));
    expect(await statuses(5, read(await bearer()))).toEqual(Array(5).fill(200));
  });

  test("gets the time to retry in the caller's language, and may retry then", async () => {
    const sub = randomUUID();
    const headers = { ...await bearer(sub), "accept-language": "ku" };
    await statuses(5, read(headers));
    const answer = await read(headers)();
    expect(answer.status).toBe(429);
    const wait = Number(answer.headers.get("retry-after"));
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(12);
    expect(await answer.json()).toEqual({
      success: false,
      code: "rate_limited",
      message: "داواکاری زۆرە. تکایە کەمێک چاوەڕێ بکە.",
    });
    await stack.sql`update app.rate_buckets set taken_at = taken_at - make_interval(secs => ${wait})
      where bucket = ${`reads/${sub}`}`;
    expect(await statuses(3, read(headers))).toEqual([200, 429, 429]);
  });
});

test("calls without a token are counted by address; reads are not", async () => {
  const send = (address: string) => () =>
    fetch(`${stack.apiUrl}/payment/webhooks/none`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-forwarded-for": `${address}, 10.0.0.1` },
      body: "{}",
    });
  expect(await statuses(10, send("192.0.2.7"))).toEqual([
    ...Array(4).fill(404),
    ...Array(6).fill(429),
  ]);
  expect(await statuses(2, send("192.0.2.8"))).toEqual([404, 404]);
  const shop = () => fetch(`${stack.apiUrl}/storefront/shop/nobody`);
  expect(new Set(await statuses(10, shop))).toEqual(new Set([404]));
});

test("API keys that nobody knows are counted by address, however many are made up", async () => {
  const guess = (address: string) => () =>
    fetch(`${stack.apiUrl}/delivery/wallets`, {
      headers: { "x-api-key": randomUUID(), "x-forwarded-for": address },
    });
  expect(await statuses(10, guess("192.0.2.17"))).toEqual([
    ...Array(4).fill(401),
    ...Array(6).fill(429),
  ]);
  expect(await statuses(2, guess("192.0.2.18"))).toEqual([401, 401]);
});

test("the address is the one that the platform's own header tells", async () => {
  const send = (written: string) => () =>
    fetch(`${stack.apiUrl}/payment/webhooks/none`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-forwarded-for": written,
        "cf-connecting-ip": "192.0.2.27",
      },
      body: "{}",
    });
  expect(await statuses(4, send("198.51.100.1"))).toEqual(Array(4).fill(404));
  expect(await statuses(2, send("198.51.100.2"))).toEqual([429, 429]);
});

test("the system itself never waits, and full buckets are forgotten", async () => {
  const jobs = () =>
    fetch(`${stack.apiUrl}/delivery/internal/jobs`, {
      method: "POST",
      headers: { apikey: stack.secretKey },
    });
  expect(await statuses(8, jobs)).toEqual(Array(8).fill(200));
  await stack.sql`update app.rate_buckets set taken_at = now() - interval '3 minutes'`;
  await statuses(1, read(await bearer()));
  expect((await stack.sql`select private.rates_purge()::int as n`)[0].n).toBeGreaterThan(0);
  expect(await stack.sql`select from app.rate_buckets`).toHaveLength(1);
});
