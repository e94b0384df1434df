/**
 * The database driver under faults. Compares every answer with what its request must get: an answer
 * that belongs to another request is worse than none, and no count of rows would show it.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "../../supabase/local/ports.ts";
import type { Stack } from "../../supabase/local/stack.ts";
import { figure, of, size } from "../prove/proof.ts";
import { type FaultyWire, startFaultyWire } from "../support/faulty-wire.ts";
import { startOwnStack } from "../support/own-stack.ts";

const seconds = of({ test: 20, short: 60, full: 180 });
/** Of the brief form: each kind twice, however busy the machine is. */
const faultsInBrief = 6;
const callers = 32;

let stack: Stack;
let wire: FaultyWire;
let token: string;
let address: string;
const tenant = randomUUID();

beforeAll(async () => {
  wire = await startFaultyWire();
  wire.target = await freePort();
  stack = await startOwnStack({
    dbPort: wire.target,
    watch: true,
    env: {
      BARID_DB_URL: `postgresql://barid_api:barid-local@127.0.0.1:${wire.port}/postgres`,
      BARID_DB_POOL: "6",
      BARID_DB_ANSWER_MS: "3000",
      BARID_LOG_LEVEL: "error",
    },
  });
  const { sql } = stack;
  const user = randomUUID();
  await sql`insert into auth.users (id, email) values (${user}, 'chaos@barid.test')`;
  await sql`insert into tenancy.profiles (id, full_name) values (${user}, 'Chaos') on conflict (id) do nothing`;
  await sql`insert into tenancy.tenants (id, name, slug, status) values (${tenant}, ${
    sql.json({ en: "C" })
  }, 'chaos', 'active')`;
  await sql`insert into tenancy.tenant_users (tenant_id, user_id, tenant_user_type) values (${tenant}, ${user}, 'staff')`;
  await sql`insert into tenancy.tenant_user_roles values (${tenant}, ${user}, 'dispatcher')`;
  await sql`insert into tenancy.tenant_settings (tenant_id, module, group_key, settings)
    values (${tenant}, 'delivery', 'transfer_manifest', ${sql.json({ enabled: true })})`;
  [{ id: address }] =
    await sql`insert into delivery.addresses (tenant_id, full_address) values (${tenant}, 'A') returning id`;
  token = await stack.jwtSign({ sub: user, app_metadata: { tenant_id: tenant } });
});

afterAll(async () => {
  await stack?.stop();
  wire?.close();
});

interface Seen {
  status: number;
  // deno-lint-ignore no-explicit-any -- bodies of several shapes
  body: any;
}

async function call(method: string, path: string, body?: unknown, key?: string): Promise<Seen> {
  const headers: Record<string, string> = { authorization: `Bearer ${token}` };
  if (body) headers["content-type"] = "application/json";
  if (key) headers["idempotency-key"] = key;
  const response = await fetch(`${stack.apiUrl}/delivery${path}`, {
    method,
    headers,
    body: body ? JSON.stringify(body) : undefined,
  });
  return { status: response.status, body: await response.json() };
}

test(
  `${
    size === "brief" ? `${faultsInBrief} rounds` : `${seconds} s`
  } of killed sessions and cut wires, ${callers} callers: no answer mixed up, none lost, no crash`,
  async () => {
    const workers = stack.workers.pids.join();
    const count = { answered: 0, unavailable: 0, faults: 0 };
    const wrong: string[] = [];
    const created = new Map<string, string>();
    const until = Date.now() + seconds * 1000;
    let turn = 0;
    let isOver = false;
    const going = () => size === "brief" ? !isOver : Date.now() < until;

    /** Asks until somebody answers; every answer but 503 must be the one expected. */
    const ask = async (
      what: string,
      attempt: () => Promise<Seen>,
      right: (seen: Seen) => boolean,
    ): Promise<Seen> => {
      for (;;) {
        const seen = await attempt();
        count.answered++;
        if (seen.status === 503) {
          count.unavailable++;
          await new Promise((resolve) => setTimeout(resolve, 50));
          continue;
        }
        if (!right(seen)) wrong.push(`${what}: ${seen.status} ${JSON.stringify(seen.body)}`);
        return seen;
      }
    };

    const points = "/transfer-processing-points";
    const caller = async () => {
      while (going()) {
        const code = randomUUID();
        const body = { name: code, code, address_id: address };
        // The same key until it is answered: whatever got lost on the way, one point comes of it.
        const made = await ask(
          "create",
          () => call("POST", points, body, code),
          ({ status, body }) => status === 201 && body.data.code === code,
        );
        created.set(code, made.body.data?.id);
        const id = made.body.data?.id;
        await ask(
          "read",
          () => call("GET", `${points}/${id}`),
          ({ status, body }) => status === 200 && body.data.id === id && body.data.name === code,
        );
        await ask(
          "repeat",
          () => call("POST", points, body),
          ({ status, body }) => status === 409 && body.code === "processing_point_code_exists",
        );
        await ask(
          "unknown",
          () => call("GET", `${points}/${randomUUID()}`),
          ({ status, body }) => status === 404 && body.code === "processing_point_not_found",
        );
        await ask(
          "search",
          () => call("GET", `${points}?search=${code}`),
          ({ status, body }) => status === 200 && body.data.length === 1 && body.data[0].id === id,
        );
        await ask(
          "no address",
          () => call("POST", points, { ...body, code: "x" + code, address_id: randomUUID() }),
          ({ status, body }) => status === 404 && body.code === "address_not_found",
        );
      }
    };
    const troublemaker = async () => {
      while (size === "brief" ? turn < faultsInBrief : Date.now() < until - 500) {
        const answered = count.answered;
        await new Promise((resolve) => setTimeout(resolve, 100 + Math.random() * 300));
        // On a busy machine too, each fault meets calls that were not made before the last one.
        while (size === "brief" && count.answered < answered + callers) {
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
        const kind = turn++ % 3;
        if (kind === 0) count.faults += wire.cutAll();
        else if (kind === 1) count.faults += wire.cutInAnswers();
        else {
          const killed = await stack
            .sql`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'barid_api'`;
          count.faults += killed.length;
        }
      }
      // Calls that the last fault broke are made again beside others.
      await new Promise((resolve) => setTimeout(resolve, 500));
      isOver = true;
    };
    await Promise.all([troublemaker(), ...Array.from({ length: callers }, caller)]);

    console.log(
      `driver: ${count.answered} answers, ${count.unavailable} of them 503, ${count.faults} broken connections, ${created.size} points`,
    );
    figure({
      what:
        `answers to another question or lost, of ${count.answered} with ${count.faults} broken connections`,
      asked: "0",
      reached: wrong.length,
      holds: wrong.length === 0,
    });
    expect(wrong).toEqual([]);
    expect(stack.workers.pids.join()).toBe(workers);
    const rows = await stack
      .sql`select code, id from delivery.transfer_processing_points where tenant_id = ${tenant}`;
    expect(new Map(rows.map((row) => [row.code, row.id]))).toEqual(created);
    expect(count.faults).toBeGreaterThan(size === "brief" ? faultsInBrief : seconds);
  },
  seconds * 1000 + 60_000,
);

test(
  "while Postgres is away answers are 503 with Retry-After; after its return all is normal",
  async () => {
    expect((await call("GET", "/transfer-processing-points")).status).toBe(200);
    wire.target = 1;
    wire.cutAll();
    const opened = wire.opened;
    const away = await fetch(`${stack.apiUrl}/delivery/transfer-processing-points`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(away.status).toBe(503);
    expect(away.headers.get("retry-after")).toBe("1");
    expect(await away.json()).toMatchObject({ success: false, code: "service_unavailable" });
    expect((await fetch(`${stack.apiUrl}/delivery/health`)).status).toBe(503);
    // Each is closed while it is being opened: the driver of itself would open thousands.
    expect(wire.opened - opened).toBeGreaterThan(0);
    expect(wire.opened - opened).toBeLessThan(20);
    wire.target = Number(new URL(stack.dbUrl).port);
    const back = Date.now();
    let seen: Seen;
    do seen = await call("GET", "/transfer-processing-points"); while (
      seen.status !== 200 && Date.now() - back < 30_000
    );
    expect(seen.status).toBe(200);
  },
  180_000,
);

const points = "/transfer-processing-points";

test("a pooler that takes no further connection: calls can be repeated, and succeed afterwards", async () => {
  wire.cutAll();
  expect((await call("GET", points)).status).toBe(200);
  wire.full = true;
  const answers = await Promise.all(Array.from({ length: 12 }, () => call("GET", points)));
  wire.full = false;
  const statuses = new Set(answers.map(({ status }) => status));
  expect(statuses).toContain(503);
  expect([...statuses].filter((status) => status !== 200)).toEqual([503]);
  expect((await call("GET", points)).status).toBe(200);
});

test("an answer that is lost on its way: a read is made again, and of a change nobody knows", async () => {
  const body = { code: randomUUID(), name: "Point", address_id: address };
  expect((await call("GET", points)).status).toBe(200);
  expect(wire.lose()).toBeGreaterThan(0);
  expect((await call("GET", points)).status).toBe(200);
  expect(wire.lose()).toBeGreaterThan(0);
  expect(await call("POST", points, body)).toMatchObject({
    status: 503,
    body: { code: "outcome_unknown" },
  });
  for (let round = 0; round < 10; round++) expect((await call("GET", points)).status).toBe(200);
});
