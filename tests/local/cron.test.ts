import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { temporaryStack, until } from "./support.ts";

let rig: Awaited<ReturnType<typeof temporaryStack>>;
beforeAll(async () => {
  rig = await temporaryStack();
  await rig.stack.sql.unsafe(`
    create extension if not exists pg_cron with schema pg_catalog;
    create extension if not exists pg_net with schema extensions;
    create table public.ticks (who text not null default current_user)`);
});
afterAll(() => rig.close());

test("a job runs on its schedule, and no more once unscheduled", async () => {
  const { sql } = rig.stack;
  await sql`select cron.schedule('tick', '1 seconds', 'insert into public.ticks default values')`;
  await until(async () => (await sql`select from public.ticks`).length > 0);
  await sql`select cron.unschedule('tick')`;
  expect(await sql`select from cron.job where jobname = 'tick'`).toHaveLength(0);
  // The run is recorded after what it did is there, and another may have begun.
  const ended = () =>
    sql`select * from cron.job_run_details where status <> 'running' order by runid`;
  await until(async () => (await ended()).length > 0);
  expect((await ended())[0]).toMatchObject({ status: "succeeded", username: "postgres" });
});

test("a name is scheduled once; scheduling it again changes the job", async () => {
  const { sql } = rig.stack;
  const [first] = await sql`select cron.schedule('nightly', '0 3 * * *', 'select 1') as id`;
  const [again] =
    await sql`select cron.schedule('nightly', '30 4 1,15 * mon-fri', 'select 2') as id`;
  expect(again).toEqual(first);
  expect(await sql`select schedule, command from cron.job where jobname = 'nightly'`)
    .toEqual([{ schedule: "30 4 1,15 * mon-fri", command: "select 2" }]);
});

test.each([
  "70 seconds",
  "0 seconds",
  "60 * * * *",
  "* * *",
  "* * 32 * *",
  "5-1 * * * *",
  "often",
  "",
])(
  "the schedule %j is refused",
  async (schedule) => {
    await expect(rig.stack.sql`select cron.schedule('bad', ${schedule}, 'select 1')`)
      .rejects.toThrow("invalid schedule");
  },
);

test("a job runs as the role it belongs to, in one transaction, and its failure is recorded", async () => {
  const { sql, cron } = rig.stack;
  await sql`truncate public.ticks`;
  await sql`grant insert on public.ticks to service_role`;
  await sql`select cron.schedule_in_database('as role', '0 0 1 1 *', 'insert into public.ticks default values',
    current_database(), 'service_role')`;
  expect(await cron.runNow("as role")).toMatchObject({ status: "succeeded", message: "INSERT 1" });
  expect(await sql`select who from public.ticks`).toEqual([{ who: "service_role" }]);

  await sql`select cron.schedule('broken', '0 0 1 1 *', 'truncate public.ticks; select 1 / 0')`;
  expect(await cron.runNow("broken")).toEqual({
    status: "failed",
    message: "ERROR: division by zero",
  });
  expect(await sql`select from public.ticks`).toHaveLength(1);
});

test("a request leaves after the commit, never after a rollback, and its answer is stored", async () => {
  const { sql } = rig.stack;
  const seen: string[] = [];
  const receiver = createServer(async (request, response) => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk);
    seen.push(`${request.method} ${request.url} ${request.headers.apikey} ${chunks.join("")}`);
    response.writeHead(201, { "content-type": "text/plain" }).end("thanks");
  }).listen(0, "127.0.0.1");
  try {
    const url = await until(() => (receiver.address() as AddressInfo | null)?.port)
      .then((port) => `http://127.0.0.1:${port}/hook`);
    const post = (marker: string) =>
      sql`select net.http_post(url := ${url}, body := ${
        sql.json({ marker })
      }, params := '{"a b": "ö"}',
        headers := jsonb_build_object('apikey', (select decrypted_secret from vault.decrypted_secrets
          where name = 'secret_key'))) as id`;
    await sql.begin(async (transaction) => {
      await transaction`select net.http_post(${url}, '{"marker": "rolled back"}')`;
      throw new Error("undo");
    }).catch(() => {});
    const [{ id }] = await post("kept") as unknown as [{ id: string }];
    const [answer] = await until(async () => {
      const rows = await sql`select * from net._http_response where id = ${id}`;
      return rows.length > 0 && rows;
    });
    expect(answer).toMatchObject({ status_code: 201, content: "thanks", timed_out: false });
    expect(seen).toEqual([`POST /hook?a%20b=%C3%B6 ${rig.stack.secretKey} {"marker": "kept"}`]);
  } finally {
    receiver.close();
  }
});

test("a request nobody answers ends as an error", async () => {
  const { sql } = rig.stack;
  const [{ id }] = await sql`select net.http_get('http://127.0.0.1:1/') as id` as unknown as [
    { id: string },
  ];
  const [answer] = await until(async () => {
    const rows = await sql`select * from net._http_response where id = ${id}`;
    return rows.length > 0 && rows;
  });
  expect(answer).toMatchObject({
    status_code: null,
    timed_out: false,
    error_msg: expect.stringContaining(""),
  });
  expect(answer!.error_msg).not.toBe("");
});
