/** Cursors of changes in a database that was set back to an earlier moment: on a stack of its own, since the mark is the whole database's. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Stack } from "../../supabase/local/stack.ts";
import { startOwnSystem, type SystemCalls } from "../support/system-calls.ts";

let stack: Stack;
let system: SystemCalls;

beforeAll(async () => {
  ({ stack, system } = await startOwnSystem());
}, 120_000);

afterAll(async () => {
  await stack?.stop();
});

const format = (number: bigint) =>
  btoa(`${number}.ffffffff-ffff-4fff-8fff-ffffffffffff`).replaceAll("=", "");
const numberOf = (cursor: string) => BigInt(atob(cursor).split(".")[0]!);

test("a cursor of before continues, and one from beyond the moment is refused when its number has come again", async () => {
  const token = await system.signIn("dispatcher@demo.test", "Barid-demo-1");
  const poll = async (query: Record<string, string>) => {
    const path = `/delivery/deliveries?${new URLSearchParams({ limit: "100", ...query })}`;
    return await system.call("GET", path, undefined, { authorization: `Bearer ${token}` });
  };
  /** The last row of the list, and the cursor after it. */
  const end = async (query: Record<string, string>) => {
    let { body } = await poll(query);
    while (body.has_more) ({ body } = await poll({ cursor: body.next_cursor }));
    return { id: body.data.at(-1).id as string, cursor: body.next_cursor as string };
  };
  /** The number of the transaction to come, when all others have ended. */
  const next = async () => {
    const [{ number }] = await stack.sql`select pg_current_xact_id()::text as number`;
    return BigInt(number) + 1n;
  };
  const { id, cursor } = await end({ updated_since: "2000-01-01" });
  const change = () =>
    stack.sql`update delivery.deliveries set updated_at = now() where id = ${id}`;

  const lost = await next();
  await stack.sql`select private.timeline_begin()`;
  for (let turn = 0; turn < 5; turn++) await change();
  expect(await next()).toBeGreaterThan(lost + 4n);
  expect(await poll({ cursor: format(lost + 3n) }))
    .toMatchObject({ status: 400, body: { code: "invalid_cursor", field: "cursor" } });

  const { body } = await poll({ cursor });
  expect(body).toMatchObject({ data: [{ id }], has_more: false });
  expect(numberOf(body.next_cursor)).toBeGreaterThan(lost);
  expect(await poll({ cursor: body.next_cursor }))
    .toMatchObject({ status: 200, body: { data: [], next_cursor: body.next_cursor } });

  // Set back once more, the numbers of before are refused from beyond either moment, and those of a time to come are too.
  await stack.sql`select private.timeline_begin()`;
  for (let turn = 0; turn < 5; turn++) await change();
  const base = 1_000_000_000_000_000n;
  const again = await next() - 2n;
  for (const number of [again, base + again, 3n * base + 1n]) {
    expect(await poll({ cursor: format(number) })).toMatchObject({ status: 400 });
  }
  for (const number of [numberOf(cursor), 2n * base + again]) {
    expect(await poll({ cursor: format(number) })).toMatchObject({ status: 200 });
  }
});
