/** Clients who do not wait: what was not begun when they left is not begun any more. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Stack } from "../../supabase/local/stack.ts";
import { startOwnStack } from "../support/own-stack.ts";
import { until } from "../support/receiver.ts";

let stack: Stack;
let token: string;
let wallets: string[];

beforeAll(async () => {
  stack = await startOwnStack({ seed: true, workers: 1, env: { BARID_DB_POOL: "1" } });
  const [admin] = await stack.sql`select u.id, t.tenant_id from auth.users u
    join tenancy.tenant_users t on t.user_id = u.id where u.email = 'admin@demo.test'`;
  token = await stack.jwtSign({ sub: admin.id, app_metadata: { tenant_id: admin.tenant_id } });
  wallets = (await stack.sql`select id from money.accounts
    where tenant_id = ${admin.tenant_id} and kind = 'wallet' and owner_type = 'driver' limit 2`)
    .map(({ id }) => id);
});
afterAll(() => stack?.stop());

const adjust = (wallet: string, reason: string, signal?: AbortSignal) =>
  fetch(`${stack.apiUrl}/delivery/wallets/${wallet}/adjust`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      "idempotency-key": reason,
    },
    body: JSON.stringify({ amount: 5, direction: "credit", reason }),
    signal,
  });
const done = async (reason: string) =>
  (await stack.sql`select from money.payments where snapshot ->> 'reason' = ${reason}`).length;
const waiting = async () =>
  (await stack
    .sql`select from pg_stat_activity where usename = 'barid_api' and wait_event_type = 'Lock'`)
    .length;

test("a call whose client left while it waited for its turn is not made; its repetition is, once", async () => {
  const [patient, impatient] = [randomUUID(), randomUUID()];
  const leaving = new AbortController();
  let held: Promise<Response> | undefined;
  await stack.sql.begin(async (tx) => {
    await tx`select from money.accounts where id = ${wallets[0]} for update`;
    held = adjust(wallets[0], patient);
    await until(async () => await waiting() === 1);
    const left = adjust(wallets[1], impatient, leaving.signal).catch((error) => error.name);
    // It has reached the function and waits for the only connection.
    await new Promise((resolve) => setTimeout(resolve, 500));
    leaving.abort();
    expect(await left).toBe("AbortError");
    await new Promise((resolve) => setTimeout(resolve, 500));
  });
  expect((await held!).status).toBe(200);
  // Behind everything that waited.
  expect((await adjust(wallets[0], randomUUID())).status).toBe(200);
  expect([await done(patient), await done(impatient)]).toEqual([1, 0]);
  const repeated = await Promise.all([
    adjust(wallets[1], impatient),
    adjust(wallets[1], impatient),
  ]);
  expect(repeated.map(({ status }) => status)).toEqual([200, 200]);
  expect(await done(impatient)).toBe(1);
});

test("a call that was begun is ended, though its client left", async () => {
  const reason = randomUUID();
  const leaving = new AbortController();
  await stack.sql.begin(async (tx) => {
    await tx`select from money.accounts where id = ${wallets[0]} for update`;
    const left = adjust(wallets[0], reason, leaving.signal).catch((error) => error.name);
    await until(async () => await waiting() === 1);
    leaving.abort();
    expect(await left).toBe("AbortError");
  });
  await until(async () => await done(reason) === 1);
});
