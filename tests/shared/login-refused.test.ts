/** The database lets the functions' role in no more, as while its password is changed; once it does, every process works again. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { sql } from "../support/db.ts";
import "../support/expect.ts";
import { moveToOwnStack } from "../support/move-to-own-stack.ts";
import { newTenant, type Tenant } from "../support/people.ts";

let tenant: Tenant;
let leave = () => Promise.resolve();
const lines: string[] = [];
beforeAll(async () => {
  ({ leave } = await moveToOwnStack({ workers: 1, log: (line) => lines.push(line) }));
  tenant = await newTenant();
}, 120_000);
afterAll(() => leave());

const read = () => tenant.admin.get("/tenants/me");
const logged = (event: string) => lines.filter((line) => line.includes(`"event":"${event}"`));

test.each([
  ["its login is taken away", "nologin", "login"],
  ["all its connections are taken", "connection limit 0", "connection limit -1"],
])("%s: calls can be repeated, and succeed afterwards", async (_, refuse, admit) => {
  expect(await read()).toSucceed(200);
  await sql.unsafe(`alter role barid_api ${refuse}`);
  await sql`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'barid_api'`;
  for (let round = 0; round < 3; round++) {
    const answer = await read();
    expect(answer).toFailWith(503, "service_unavailable");
    expect(answer.headers.get("retry-after")).toBeTruthy();
  }
  expect(logged("request_failed")).toEqual([]);
  // Once in ten seconds.
  expect(logged("database_unreachable").length).toBeGreaterThan(0);
  await sql.unsafe(`alter role barid_api ${admit}`);
  await expect.poll(async () => (await read()).status, { timeout: 5_000 }).toBe(200);
}, 60_000);
