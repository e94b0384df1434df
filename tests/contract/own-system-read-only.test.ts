/**
 * A database that takes no changes, as a hosted one whose disk is nearly full: whatever only reads is answered as ever,
 * every change is refused as one that can be repeated, and nothing of it is kept.
 */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { newKey } from "../support/api-keys.ts";
import type { Stack } from "../../supabase/local/stack.ts";
import { type Everything, fingerprintOf, newEverything } from "../support/everything.ts";
import "../support/expect.ts";
import { moveToOwnStack } from "../support/move-to-own-stack.ts";
import { type Operation, operations } from "./functions.ts";
import { bodyOf, headersOf, sampleOf, urlOf } from "./requests.ts";

let own: Stack;
let leave = () => Promise.resolve();
let ours: Everything;
const lines: string[] = [];
const logged = (event: string) => lines.filter((line) => line.includes(`"event":"${event}"`));

beforeAll(async () => {
  ({ own, leave } = await moveToOwnStack({
    workers: 1,
    log: (line) => lines.push(line),
    // Far more than are asked, and counted all the same.
    env: { BARID_READS_PER_MINUTE: "100000", BARID_WRITES_PER_MINUTE: "100000" },
  }));
  ours = await newEverything("received");
}, 120_000);
afterAll(() => leave());

/** New sessions are read-only from now on, or no longer. */
async function readOnly(on: boolean): Promise<void> {
  await own.sql.unsafe(`alter role barid_api set default_transaction_read_only = ${on}`);
  if (on) {
    await own
      .sql`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'barid_api'`;
  }
}

const change = () => ours.tenant.admin.post("/delivery/zone-tags", { name: `Tag ${randomUUID()}` });

/** How each call is answered, asked once. */
async function answersTo(asked: Operation[]) {
  const answers = new Map<string, { status: number; code: string }>();
  for (const operation of asked) {
    const input = sampleOf(operation, ours.things);
    const method = operation.endpoint.method.toUpperCase();
    const { status, body } = await ours.tenant.admin.send(
      method,
      urlOf(operation, input),
      method === "GET" ? undefined : bodyOf(operation, input),
      { headers: headersOf(operation) },
    );
    answers.set(operation.name, { status, code: body?.code });
  }
  return answers;
}

const open = operations.filter(({ endpoint }) => !endpoint.internal);
const reads = open.filter(({ endpoint }) => endpoint.method === "get");
const changes = open.filter(({ endpoint }) => endpoint.method !== "get");

test(
  "reads are answered as ever, changes can be repeated, and nothing is kept of them",
  async () => {
    const { key } = await newKey(ours.tenant);
    const withKey = () =>
      fetch(`${own.url}/functions/v1/delivery/deliveries`, {
        headers: { authorization: `ApiKey ${key}` },
      });
    const read = await answersTo(reads);
    const before = await fingerprintOf(ours.tenant.id);

    onTestFinished(() => readOnly(false));
    await readOnly(true);
    lines.length = 0;
    expect(await answersTo(reads)).toEqual(read);
    expect((await withKey()).status).toBe(200);
    // The system's own jobs, which come by the clock meanwhile, write.
    expect(logged("database_full").filter((line) => line.includes('"operation":"GET '))).toEqual(
      [],
    );

    const refused = await answersTo(changes);
    const failed = [...refused].filter(([, { status }]) => status >= 500 && status !== 503);
    expect(failed).toEqual([]);
    const unavailable = [...refused.values()].filter(({ status }) => status === 503);
    expect(unavailable.length).toBeGreaterThan(100);
    expect(await fingerprintOf(ours.tenant.id)).toEqual(before);
    expect(logged("request_failed")).toEqual([]);
    // Once in ten seconds, however many are refused.
    const found = logged("database_full");
    const [, first] = /^## Database takes no changes\n+(.+)$/m
      .exec(readFileSync("docs/runbooks.md", "utf8"))!;
    expect(found[0]).toContain(`"to_do":"${first}"`);
    expect(found.length).toBeLessThan(unavailable.length / 10);

    await readOnly(false);
    await expect.poll(async () => (await change()).status, { timeout: 15_000 }).toBe(201);
  },
  300_000,
);

test("a disk that is full refuses changes as ones that can be repeated", async () => {
  await own.sql.unsafe(`create function public.no_room() returns trigger language plpgsql as $$
    begin raise exception 'could not extend file: No space left on device' using errcode = 'disk_full'; end $$;
    create trigger no_room before insert on delivery.zone_tags for each row execute function public.no_room()`);
  lines.length = 0;
  expect(await change()).toFailWith(503, "service_unavailable");
  expect(logged("request_failed")).toEqual([]);
  await own.sql`drop trigger no_room on delivery.zone_tags`;
  expect(await change()).toSucceed(201);
});
