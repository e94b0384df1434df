/**
 * Another tenant's ids are like ids of nothing: wherever a request can name a thing, naming one of
 * another tenant gives, to the byte, the answer that a made-up id gives, and changes nothing there.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { figure, of, say, size } from "../../prove/proof.ts";
import type { Answer } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import {
  type Everything,
  fingerprintOf,
  newEverything,
  tenantTables,
  type Things,
} from "../../support/everything.ts";
import { newBarcode } from "../../support/manifests.ts";
import type { Part } from "../../support/people.ts";
import { type Operation, operations } from "../functions.ts";
import { bodyOf, headersOf, sampleOf, urlOf, withValue } from "../requests.ts";
import { type Input, kindOf, type Slot, slotsOf } from "../slots.ts";

let ours: Record<"draft" | "received", Everything>;
/** The other tenants, whose ids are tried. */
let others: Everything[];

async function makeTenants(): Promise<void> {
  const [draft, received, ...foreign] = await Promise.all([
    newEverything("draft"),
    newEverything("received"),
    ...Array.from({ length: of({ test: 1, short: 1, full: 3 }) }, () => newEverything("received")),
  ]);
  ours = { draft, received };
  others = foreign;
  for (const { tenant } of others) {
    await sql`select private.tenant_timeline_begin(${tenant.id}, 0)`;
  }
}

/** Ours for operations that need a draft, received for all others. */
function fixtureFor({ name }: Operation): Everything {
  return ours[/transfer-manifests/.test(name) ? "draft" : "received"];
}

// Operations that remove a record come last, so the record exists for the others.
const inOrder = [...operations].sort((a, b) =>
  Number(a.endpoint.method === "delete") - Number(b.endpoint.method === "delete")
);
export const slots = inOrder.flatMap((operation) =>
  [
    ...slotsOf(operation),
    // Elsewhere nobody looks at it: the path names the tenant, or there is none.
    ...((operation.endpoint.tenant ?? "required") === "required"
      ? [["query", "tenant_id"] as Slot]
      : []),
  ]
    // Modules, carriers and payment methods are everybody's.
    .filter((slot) => !["module", "carrier", "payment_method"].includes(String(kindOf(slot))))
    .map((slot) => ({ operation, slot, title: `${operation.name} ${slot.slice(1).join(".")}` }))
);

const roles: Part[] = [
  ...["admin", "ops", "dispatcher", "warehouse", "staff", "driver"] as const,
  ...["institution", "customer"] as const,
];

/** In the brief form administrators try every slot, and all other roles a third of them each, not the same ones. */
function slotsOfRole(role: Part): typeof slots {
  const turn = roles.indexOf(role);
  return size === "brief" && role !== "admin"
    ? slots.filter((_, n) => (n + turn) % 3 === 0)
    : slots;
}

/** An id of nothing, in the form of the one it stands for. */
function nothingLike(kind: keyof Things): string | number {
  if (kind === "barcode") return newBarcode();
  if (kind === "branch_code") return `BR${Math.floor(Math.random() * 1e6)}`;
  if (kind === "delivery_code") return 600_000_000 + Math.floor(Math.random() * 1e8);
  return randomUUID();
}

let cases = 0;
let told = 0;
let written = 0;

/**
 * Declares the tests of one role: a file for each, so that as many run at a time as there are workers. Each has tenants of
 * its own, and the other tenants have a row in every table that could tell something.
 */
export function triedBy(role: Part): void {
  beforeAll(makeTenants);

  test("the other tenants have a row in every table of tenants", async () => {
    for (const { tenant } of others) {
      const prints = await fingerprintOf(tenant.id);
      const empty = (await tenantTables()).filter((table) => prints[table]?.startsWith("0 "));
      expect(empty).toEqual([]);
    }
  });

  test(
    `named by ${role}, nothing of another tenant can be told from nothing, and nothing of it changes`,
    async () => {
      for (const theirs of others) await tryAll(role, theirs);
    },
    10 * 60_000,
  );

  afterAll(() => writeFigures(role));
}

async function tryAll(role: Part, theirs: Everything): Promise<void> {
  const before = await fingerprintOf(theirs.tenant.id);
  const wrong: string[] = [];
  const queue = [...slotsOfRole(role)];
  // A caller without access to an operation is refused before the ids are checked (access.test.ts tries
  // every operation); the long form tries each of its ids all the same.
  const closed = new Set<Operation>();
  const worker = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const { operation, slot, title } = next;
      if (size !== "full" && closed.has(operation)) continue;
      const { tenant, things } = fixtureFor(operation);
      const kind = kindOf(slot, operation) ?? "item";
      const input = sampleOf(operation, things, slot);
      const ask = (put: string | number) =>
        send(operation, withValue(input, slot, put), tenant[role]);
      const named = theirs.things[kind];
      const nothing = nothingLike(kind);
      const [first, second] = await Promise.all([ask(named), ask(nothing)]);
      const [one, other] = [shown(first, named), shown(second, nothing)];
      cases++;
      if (one !== other) wrong.push(`${title}\n  theirs:  ${one}\n  nothing: ${other}`);
      const denied = operation.endpoint.access.errorCode ?? "forbidden";
      if (first.status === 403 && first.body.code === denied && slot.at(-1) !== "tenant_id") {
        closed.add(operation);
      }
    }
  };
  await Promise.all(Array.from({ length: 6 }, worker));
  const after = await fingerprintOf(theirs.tenant.id);
  told += wrong.length;
  written += Object.keys(before).filter((table) => before[table] !== after[table]).length;
  say(`${role}: ${cases} cases so far`);
  expect(wrong).toEqual([]);
  expect(after).toEqual(before);
}

function writeFigures(role: Part): void {
  const asked = of({ test: 10, short: 100, full: 600 });
  figure({
    what: `places for an id, named by ${role}, × ${others.length} other tenants`,
    asked: `at least ${asked}`,
    reached: cases,
    holds: cases >= asked,
  });
  figure({
    what: "answers that tell an id of another tenant from one of nothing",
    asked: "0",
    reached: told,
    holds: told === 0,
  });
  figure({ what: "tables written to", asked: "0", reached: written, holds: written === 0 });
}

/** Asks as clients do: of a system that says it is busy, which is about nobody's ids, again. */
export async function send(
  operation: Operation,
  input: Input,
  person: Everything["tenant"]["admin"],
): Promise<Answer> {
  const method = operation.endpoint.method.toUpperCase();
  const body = method === "GET" ? undefined : bodyOf(operation, input);
  for (let attempt = 1;; attempt++) {
    const answer = await person.send(method, urlOf(operation, input), body, {
      headers: headersOf(operation),
    });
    if (answer.body?.code !== "service_unavailable" || attempt === 5) return answer;
    await new Promise((resolve) => setTimeout(resolve, 100 * attempt));
  }
}

/** An answer as the client sees it, without the id it was asked with and what differs in every answer. */
function shown({ status, body, headers }: Answer, named: string | number): string {
  const told = [...headers].filter(([name]) => !/^(x-request-id|date|content-length)$/.test(name));
  const text = body instanceof Uint8Array
    ? Buffer.from(body).toString("base64")
    : JSON.stringify(body);
  return `${status} ${text} ${JSON.stringify(told)}`.replaceAll(String(named), "<id>");
}
