/**
 * Whatever is sent to any operation: an answer in time, in its form, with a code that exists, nothing
 * of the inside, nothing of another tenant, and nothing changed there.
 */
import { Agent, request as send } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isErrorCode } from "../../shared/errors/errors.ts";
import { sql, stack } from "../support/db.ts";
import {
  type Everything,
  fingerprintOf,
  newEverything,
  tenantTables,
} from "../support/everything.ts";
import { memoryOf } from "../support/memory.ts";
import { figure, of, say, seed, size } from "../prove/proof.ts";
import type { Part } from "../support/people.ts";
import { type Operation, operations } from "./functions.ts";
import { hostileRequest, pick, randomFrom, type Raw } from "./hostile.ts";

const requestsMin = of({
  brief: operations.length,
  test: 20 * operations.length,
  short: 5_000,
  full: 100_000,
});
// Those of the suites make all they have, so that a slow machine asks the same as a fast one; the others as many as their time allows.
const suite = size === "brief" || size === "test";
const requestsEach = suite
  ? requestsMin / operations.length
  : Math.max(200, Math.ceil(requestsMin / operations.length));
const stopsAfterMs = of({ test: Infinity, short: 60_000, full: 14 * 60_000 });
const growthMax = 150;
const msMax = 2_000;
const guid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi;
const callers: Part[] = [
  "admin",
  "admin",
  "admin",
  "ops",
  "dispatcher",
  "driver",
  "institution",
  "customer",
];

const agent = new Agent({ keepAlive: true, maxSockets: 8 });
afterAll(() => agent.destroy());

let ours: Everything;
/** Its settings and people are what the requests to /tenants change. */
let changing: Everything;
let theirs: Everything;
let foreignIds: Set<string>;
const tokens = new Map<string, string>();

beforeAll(async () => {
  [ours, changing, theirs] = await Promise.all([
    newEverything("received"),
    newEverything(),
    newEverything(),
  ]);
  // A live store is public and anybody who signs in may join it, so neither counts as a leak.
  theirs.things.store_name = ours.things.store_name;
  const texts = await Promise.all(
    (await tenantTables()).map((table) =>
      sql.unsafe(`select t::text as text from ${table} t where tenant_id = $1`, [theirs.tenant.id])
    ),
  );
  // Values of our own requests may return as names of our records.
  const sent = new Set(Object.values(theirs.things));
  // Reference data of the platform is everybody's.
  for (const { id } of await sql`select id from storefront.payment_method_types`) sent.add(id);
  foreignIds = new Set(
    texts.flat().flatMap(({ text }) => text.match(guid) ?? []).filter((id) => !sent.has(id)),
  );
  expect(foreignIds.size).toBeGreaterThan(20);
  for (const { tenant } of [ours, changing]) {
    for (const part of new Set(callers)) {
      const claims = { sub: tenant[part].id, app_metadata: { tenant_id: tenant.id } };
      tokens.set(tenant[part].id, await stack.jwtSign(claims));
    }
  }
});

test(`nothing that is sent is more than refused (seed ${seed})`, async () => {
  const before = await fingerprintOf(theirs.tenant.id);
  const wrong = new Map<string, string>();
  const statuses: Record<string, number> = {};
  // Each operation draws from a seed of its own, so that one more operation changes no other's requests.
  const queue = operations.flatMap((operation, index) => {
    const random = randomFrom(seed + index * 7_919);
    const { tenant, things } = operation.slug === "tenants" ? changing : ours;
    return Array.from({ length: requestsEach }, (_, number) => {
      const raw = hostileRequest(random, operation, things, theirs.things);
      return { operation, number, raw: withCaller(operation, raw, tenant, pick(random, callers)) };
    });
  });
  // Round by round and not operation by operation: things are still there when their turn comes.
  queue.sort((a, b) => a.number - b.number);
  // By then the process has loaded everything it keeps.
  const warmUp = requestsMin / 10;
  let answered = 0;
  let slowest = 0;
  let memory = memoryOf(stack.workerPids);
  const stopAt = performance.now() + stopsAfterMs;
  const worker = async () => {
    for (let next = queue.shift(); next && performance.now() < stopAt; next = queue.shift()) {
      const { operation, raw } = next;
      const answer = await ask(raw);
      statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
      slowest = Math.max(slowest, answer.ms);
      if (++answered === warmUp) memory = memoryOf(stack.workerPids);
      if (answered % 5_000 === 0) say(`${answered} answers: ${JSON.stringify(statuses)}`);
      for (const fault of faultsOf(operation, raw, answer)) {
        wrong.set(
          `${operation.name}: ${fault.slice(0, 60)}`,
          `${fault}\n  ${shown(raw)}\n  ${answer.status} ${answer.text.slice(0, 500)}`,
        );
      }
    }
  };
  await Promise.all(Array.from({ length: 6 }, worker));
  const growth = Math.round(memoryOf(stack.workerPids) - memory);
  console.log(`${answered} answers: ${JSON.stringify(statuses)}`);
  const failures = Object.entries(statuses).filter(([status]) => Number(status) >= 500)
    .reduce((sum, [, count]) => sum + count, 0);
  figure({
    what: `generated requests over ${operations.length} calls`,
    asked: `at least ${requestsMin}`,
    reached: answered,
    holds: answered >= requestsMin,
  });
  figure({ what: "answers of 5xx", asked: "0", reached: failures, holds: failures === 0 });
  figure({
    what: "slowest answer",
    asked: `at most ${msMax} ms`,
    reached: `${Math.round(slowest)} ms`,
    holds: slowest <= msMax,
  });
  figure({
    what: "growth of the functions' memory after the first tenth",
    asked: `less than ${growthMax} MB`,
    reached: `${growth} MB`,
    holds: growth < growthMax,
  });
  // In the short form a slow machine gets through fewer: every call several times is the least.
  expect(answered).toBeGreaterThanOrEqual(
    size === "short" ? operations.length * 3 : Math.min(requestsMin, 100_000),
  );
  expect([...wrong].map(([name, what]) => `${name}\n  ${what}`)).toEqual([]);
  const after = await fingerprintOf(theirs.tenant.id);
  const changed = Object.keys(before).filter((table) => before[table] !== after[table]).length;
  figure({
    what: "tables with changed rows of the other tenant",
    asked: "0",
    reached: changed,
    holds: changed === 0,
  });
  expect(after).toEqual(before);
  // A generator that only ever made nonsense would prove nothing.
  expect(statuses["200"] + statuses["201"]).toBeGreaterThan(answered * 0.05);
  expect(statuses["400"]).toBeGreaterThan(0);
}, 16 * 60_000);

function withCaller(operation: Operation, raw: Raw, tenant: Everything["tenant"], part: Part): Raw {
  if (operation.endpoint.internal) {
    const url = `${raw.url}${raw.url.includes("?") ? "&" : "?"}tenant_id=${tenant.id}`;
    return { ...raw, url, headers: { ...raw.headers, apikey: stack.secretKey } };
  }
  return {
    ...raw,
    headers: { ...raw.headers, authorization: `Bearer ${tokens.get(tenant[part].id)}` },
  };
}

interface Told {
  status: number;
  type: string;
  text: string;
  retryAfter: string | undefined;
  ms: number;
}

/** A kept connection may have been closed by the answer before it; a fresh one has no excuse. */
async function ask(raw: Raw): Promise<Told> {
  return await askOn(agent, raw).catch(() => askOn(false, raw));
}

function askOn(agent: Agent | false, raw: Raw): Promise<Told> {
  const started = performance.now();
  return new Promise((resolve, reject) => {
    const url = new URL(stack.functionsUrl + raw.url);
    const headers = {
      ...raw.headers,
      ...(raw.body ? { "content-length": String(raw.body.length) } : {}),
    };
    const outgoing = send(url, { method: raw.method, headers, agent }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk) => chunks.push(chunk));
      incoming.on("error", reject);
      incoming.on("end", () =>
        resolve({
          status: incoming.statusCode ?? 0,
          type: incoming.headers["content-type"] ?? "",
          text: Buffer.concat(chunks).toString("utf8"),
          retryAfter: incoming.headers["retry-after"],
          ms: performance.now() - started,
        }));
    });
    outgoing.on("error", (error) => reject(new Error(`${error}: ${shown(raw)}`)));
    outgoing.end(raw.body);
  });
}

function faultsOf({ endpoint }: Operation, raw: Raw, { status, type, text, ms }: Told): string[] {
  const faults: string[] = [];
  const sent = `${raw.url} ${decoded(raw.url)} ${raw.body?.toString("utf8") ?? ""}`.toLowerCase();
  if (status >= 500) faults.push(`answers ${status}`);
  // Other tests on the same machine slow these calls down.
  if (size === "full" && ms > msMax) faults.push(`takes ${Math.round(ms)} ms`);
  if (typeof endpoint.response === "string" && status === 200) return faults;
  if (!type.startsWith("application/json")) return [...faults, `answers ${type}`];
  const body = JSON.parse(text);
  if (typeof body.success !== "boolean") faults.push("success is no boolean");
  // A parameter of the path that is empty leads to no endpoint at all.
  const nowhere = body.code === "not_found" && raw.url.includes("//", raw.url.indexOf("/", 8));
  const told = endpoint.omitErrorCode && !nowhere
    ? body.code === undefined
    : isErrorCode(body.code);
  if (status >= 400 && (body.success !== false || !told)) {
    faults.push(`code ${body.code}`);
  }
  if (
    status >= 400 &&
    !(typeof body.message === "string" && body.message.length > 3 && body.message !== body.code)
  ) {
    faults.push("no message");
  }
  const inside =
    /\{\w+\}|undefined|\[object|PostgresError|SQLSTATE|call_id|node_modules|\bselect .* from\b/i
      .exec(String(body.message))?.[0];
  if (inside && !sent.includes(inside.toLowerCase())) faults.push(`says ${inside}`);
  const foreign = (text.match(guid) ?? []).find((id) =>
    foreignIds.has(id) && !sent.includes(id.toLowerCase())
  );
  if (foreign) faults.push(`tells ${foreign} of another tenant`);
  return faults;
}

function decoded(url: string): string {
  try {
    return decodeURIComponent(url.replaceAll("+", " "));
  } catch {
    return url;
  }
}

function shown({ method, url, headers, body }: Raw): string {
  const { authorization: _secret, apikey: _key, ...rest } = headers;
  return `${method} ${url.slice(0, 600)} ${JSON.stringify(rest).slice(0, 300)} ${
    body?.toString("utf8").slice(0, 600) ?? ""
  }`;
}
