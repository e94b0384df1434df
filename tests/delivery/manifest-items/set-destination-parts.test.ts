/** Large requests are made in parts: twenty at a time, in order, two at once, and tried again where the platform failed. */
import { randomUUID } from "node:crypto";
import { setupServer } from "msw/node";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { setDestination } from "../../../functions/delivery/manifest-items/set-destination.ts";
import type { Database } from "../../../shared/db/db.ts";
import { destinationParts } from "../../support/outside/functions.ts";

const server = setupServer();
beforeAll(() => server.listen({ onUnhandledRequest: "error" }));
afterEach(() => server.resetHandlers());
afterAll(() => server.close());

const pending = Array.from({ length: 105 }, () => randomUUID());

/** Runs a request whose parts are answered by `part`; what was sent, how many at once, and what the outcome was told. */
async function run(part: (itemIds: string[], attempt: number) => Response) {
  const sent: string[][] = [];
  const attempts = new Map<string, number>();
  const asked = { now: 0, atOnce: 0 };
  server.use(destinationParts(async (item_ids) => {
    const attempt = (attempts.get(item_ids[0]) ?? 0) + 1;
    attempts.set(item_ids[0], attempt);
    if (attempt === 1) sent.push(item_ids);
    asked.atOnce = Math.max(asked.atOnce, ++asked.now);
    await new Promise((resolve) => setTimeout(resolve, 5));
    asked.now--;
    return part(item_ids, attempt);
  }));
  const told: unknown[] = [];
  const call = (core: string, input: { failures?: unknown[] }) => {
    const asker = { userId: randomUUID(), tenantId: randomUUID() };
    if (core.endsWith("receive_and_order")) {
      return Promise.resolve({ pending, destination: {}, asker });
    }
    told.push(...input.failures!);
    return Promise.resolve({ answer: "the outcome" });
  };
  const answer = await setDestination(
    { call } as unknown as Database,
    { item_ids: pending },
    undefined,
  );
  expect(answer).toBe("the outcome");
  return { sent, told, attempts: [...attempts.values()], atOnce: asked.atOnce };
}

const done = (failures: unknown[] = []) => Response.json({ success: true, failures });

test("in order, at most twenty in a part and two parts at once", async () => {
  const failure = { item_id: pending[50], code: "insufficient_wallet_balance" };
  const { sent, told, atOnce } = await run((ids) =>
    done(ids.includes(pending[50]) ? [failure] : [])
  );
  expect(sent.map((ids) => ids.length)).toEqual([20, 20, 20, 20, 20, 5]);
  expect(sent.flat()).toEqual(pending);
  expect(atOnce).toBe(2);
  expect(told).toEqual([failure]);
});

const failed = (status: number) => new Response(null, { status });

test.each([502, 503, 504, 546])("%i is tried again", async (status) => {
  const { attempts } = await run((ids, attempt) =>
    ids.length < 20 && attempt < 2 ? failed(status) : done()
  );
  expect(attempts).toEqual([1, 1, 1, 1, 1, 2]);
});

test("three times; what the part did is then for the outcome to find", async () => {
  const lost = await run((ids) => ids.length < 20 ? failed(546) : done());
  expect(lost).toMatchObject({ attempts: [1, 1, 1, 1, 1, 4], told: [] });
});

test.each([400, 500])("%i is not", async (status) => {
  const { attempts } = await run((ids) => ids.length < 20 ? failed(status) : done());
  expect(attempts).toEqual(Array(6).fill(1));
});
