/**
 * Addresses inside, in every spelling, at the moment they are saved and at the moment they are called: nobody
 * inside is ever connected to. A system of its own, since that of the other tests may call this machine.
 */
import { randomUUID } from "node:crypto";
import { createServer as createHttp } from "node:http";
import { createServer, type Server } from "node:net";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { AddressRefused } from "../../shared/outbound/address-guard.ts";
import { guardedPost } from "../../shared/outbound/guarded-post.ts";
import { newWebhookSecret, seal } from "../../shared/outbound/secrets.ts";
import type { Stack } from "../../supabase/local/stack.ts";
import { startOwnStack } from "../support/own-stack.ts";
import { until } from "../support/receiver.ts";
import { spellings } from "./ssrf/spellings.ts";
import { figure } from "./proof.ts";

let stack: Stack;
/** Listens where requests to this machine would arrive, and counts who connects. */
const canary = { connects: 0, port: 0, servers: [] as Server[] };
const [tenant, admin] = [randomUUID(), randomUUID()];
let token: string;
let module: string;

beforeAll(async () => {
  await listen(0, true);
  // Ports that may be called; where they are taken, whoever has them is no canary.
  for (const port of [443, 8443]) await listen(port, false);
  stack = await startOwnStack({ env: { BARID_ALLOW_LOCAL_WEBHOOKS: "" } });
  const { sql } = stack;
  await sql`insert into tenancy.tenants (id, name, slug, status)
    values (${tenant}, '{"en": "T"}', ${"t-" + tenant}, 'active')`;
  await sql`insert into auth.users (id, email) values (${admin}, ${admin + "@barid.test"})`;
  await sql`insert into tenancy.profiles (id, full_name, email) values (${admin}, 'P', ${
    admin + "@barid.test"
  }) on conflict (id) do nothing`;
  await sql`insert into tenancy.tenant_users (tenant_id, user_id, tenant_user_type)
    values (${tenant}, ${admin}, 'staff')`;
  await sql`insert into tenancy.tenant_user_roles (tenant_id, user_id, role_key)
    values (${tenant}, ${admin}, 'tenant_admin')`;
  token = await stack.jwtSign({ sub: admin, app_metadata: { tenant_id: tenant } });
  [{ id: module }] = await sql<{ id: string }[]>`
    select id from tenancy.modules where key = 'delivery'`;
}, 180_000);
afterAll(async () => {
  for (const server of canary.servers) server.close();
  await stack?.stop();
});

async function listen(port: number, needed: boolean): Promise<void> {
  const server = createServer((socket) => {
    canary.connects++;
    socket.destroy();
  });
  const begun = await new Promise<boolean>((resolve) => {
    server.once("error", () => resolve(false));
    server.listen(port, () => resolve(true));
  });
  if (!begun && needed) throw new Error("no port to listen on");
  if (!begun) return;
  canary.servers.push(server);
  if (needed) canary.port = (server.address() as AddressInfo).port;
}

test("at the moment they are saved", async () => {
  const urls = spellings(canary.port);
  expect(urls.length).toBeGreaterThanOrEqual(120);
  const taken: string[] = [];
  const queue = [...urls];
  await Promise.all(Array.from({ length: 6 }, async () => {
    for (let url = queue.shift(); url !== undefined; url = queue.shift()) {
      const response = await fetch(`${stack.apiUrl}/webhooks/subscriptions`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify({ module_id: module, url, event_types: ["*"] }),
      });
      const { code } = await response.json();
      const refused = /^(webhook_url_refused|webhook_url_unresolved|validation_failed)$/.test(code);
      if (response.status !== 400 || !refused) taken.push(`${url}: ${response.status} ${code}`);
    }
  }));
  expect(taken).toEqual([]);
  expect(await stack.sql`select from integration.webhook_subscriptions`).toHaveLength(0);
  figure({
    what: `${urls.length} spellings of addresses inside, refused when saved`,
    asked: "at least 120",
    reached: urls.length - taken.length,
    holds: urls.length >= 120 && taken.length === 0,
  });
  expect(canary.connects).toBe(0);
}, 180_000);

test("at the moment they are called", async () => {
  const { sql } = stack;
  const urls = spellings(canary.port);
  // A tenant for each: it has one subscription of a module.
  for (const url of urls) {
    const [id, own] = [randomUUID(), randomUUID()];
    await sql`insert into tenancy.tenants (id, name, slug, status)
      values (${own}, '{"en": "T"}', ${"t-" + own}, 'active')`;
    await sql`insert into integration.webhook_subscriptions (id, tenant_id, module_id, url, event_types, secret)
      values (${id}, ${own}, ${module}, ${url}, '{*}', ${await seal(
      newWebhookSecret(),
      `webhook/${id}`,
    )})`;
  }
  await sql`insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id)
    select tenant_id, 'delivery.delivered', 'delivery', 'delivery', gen_random_uuid()
    from integration.webhook_subscriptions`;
  const wake = () =>
    fetch(`${stack.apiUrl}/webhooks/internal/dispatch`, {
      method: "POST",
      headers: { apikey: stack.secretKey },
    });
  await wake();
  const failures = () =>
    sql<{ url: string; error_message: string }[]>`select s.url, e.error_message
      from integration.webhook_events e join integration.webhook_subscriptions s on s.id = e.subscription_id
      where e.retry_count > 0`;
  await until(async () => (await failures()).length === urls.length, 60_000);
  const called = (await failures()).filter(({ error_message }) =>
    !/^address (refused|unknown)/.test(error_message)
  );
  expect(called).toEqual([]);
  figure({
    what: "connects to somebody inside while these were called",
    asked: "0",
    reached: canary.connects,
    holds: canary.connects === 0,
  });
  expect(canary.connects).toBe(0);
}, 120_000);

test("by a redirect of whatever kind", async () => {
  const before = canary.connects;
  for (const status of [300, 301, 302, 303, 307, 308]) {
    const trap = createHttp((_request, response) => {
      response.writeHead(status, { location: `http://127.0.0.1:${canary.port}/` }).end();
    });
    await new Promise<void>((resolve) => trap.listen(0, "127.0.0.1", resolve));
    const { port } = trap.address() as AddressInfo;
    const answer = await guardedPost(`http://127.0.0.1:${port}/`, {}, "{}", {
      allowLocal: true,
      timeoutMs: 2_000,
      keepBytes: 100,
    });
    expect(answer.status).toBe(status);
    trap.close();
  }
  expect(canary.connects).toBe(before);
});

test("by a name that means something else the second time: what was checked is what is called", async () => {
  const before = canary.connects;
  const asked: string[] = [];
  const means = (...addresses: string[]) => ({
    timeoutMs: 500,
    keepBytes: 100,
    allowLocal: false,
    resolve: (host: string) => {
      asked.push(host);
      return Promise.resolve([{ address: addresses.shift()!, family: 4 }]);
    },
  });
  // Nobody answers at the public address: what counts is that nobody inside is asked instead.
  const rebinding = means("8.8.8.8", "127.0.0.1");
  const url = `https://rebound.example:8443/`;
  await expect(guardedPost(url, {}, "{}", rebinding)).rejects.not.toThrow(AddressRefused);
  expect(asked).toEqual(["rebound.example"]);
  await expect(guardedPost(url, {}, "{}", rebinding)).rejects.toThrow(AddressRefused);
  expect(canary.connects).toBe(before);
  // And the other way round: the name of this machine, checked at another of its addresses, is called there.
  const elsewhere = createHttp((_request, response) => response.end("here"));
  await new Promise<void>((resolve) => elsewhere.listen(0, "127.0.0.1", resolve));
  const { port } = elsewhere.address() as AddressInfo;
  const answer = await guardedPost(`http://hook.example:${port}/`, {}, "{}", {
    ...means("127.0.0.1"),
    allowLocal: true,
  });
  expect(answer).toMatchObject({ status: 200, body: "here" });
  elsewhere.close();
});
