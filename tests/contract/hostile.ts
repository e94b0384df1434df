/** Hostile requests, drawn from a seed so that a run can be repeated. */
import { randomUUID } from "node:crypto";
import type { Things } from "../support/everything.ts";
import type { Operation } from "./functions.ts";
import {
  contentTypes,
  filters,
  idempotencyKeys,
  languages,
  listKeys,
  texts,
  values,
  words,
} from "./hostile-values.ts";
import { bodyOf, headersOf, sampleOf, urlOf, wellFormed, withValue } from "./requests.ts";
import { type Input, type Schema, schemaOf, type Slot } from "./slots.ts";

export interface Raw {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: Buffer | undefined;
}

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export function pick<T>(random: () => number, list: readonly T[]): T {
  return list[Math.floor(random() * list.length)];
}

/** Every leaf of a schema, as a slot. */
function leaves(schema: Schema | undefined, slot: Slot): Slot[] {
  if (!schema || slot.length > 8) return [];
  const deeper = [
    ...Object.entries(schema.properties ?? {}).flatMap(([key, one]) =>
      leaves(one, [...slot, key] as unknown as Slot)
    ),
    ...(schema.items ? leaves(schema.items, [...slot, 0] as unknown as Slot) : []),
    ...(schema.anyOf ?? []).flatMap((
      one,
    ) => (one.properties || one.items ? leaves(one, slot) : [])),
  ];
  return slot.length > 1 ? [slot, ...deeper] : deeper;
}

const leavesOf = new Map<Operation, Slot[]>();

/** One hostile request to an operation that names the tenant's own things elsewhere. */
export function hostileRequest(
  random: () => number,
  operation: Operation,
  things: Things,
  foreign: Things,
): Raw {
  const slots = leavesOf.get(operation) ??
    (["params", "query", "body"] as const).flatMap((part) =>
      leaves(schemaOf(operation, part), [part])
    );
  leavesOf.set(operation, slots);
  const chance = (share: number) => random() < share;
  const odd = () => {
    const kind = random();
    if (kind < 0.4) return pick(random, words);
    if (kind < 0.8) return pick(random, values);
    return kind < 0.9
      ? pick(random, Object.values(foreign))
      : kind < 0.95
      ? randomUUID()
      : pick(random, Object.values(things));
  };

  const slot = slots.length ? pick(random, slots) : undefined;
  let input: Input = sampleOf(operation, things, slot);
  if (slot && chance(0.8)) {
    input = withValue(input, slot, slot[0] === "body" ? odd() : wordOf(odd()));
  } else if (slot?.[0] === "body" && chance(0.5)) input = without(input, slot);
  if (slots.length && chance(0.2)) {
    const other = pick(random, slots);
    try {
      input = withValue(input, other, other[0] === "body" ? odd() : wordOf(odd()));
    } catch {
      // The first change took away the place of the second.
    }
  }
  if (chance(0.1)) input.body = odd();
  if (input.body && typeof input.body === "object" && chance(0.1)) {
    input.body = { ...input.body, [pick(random, words)]: odd() };
  }

  let url = urlOf(operation, input);
  const add = (
    name: string,
    value: string,
  ) => (url += `${url.includes("?") ? "&" : "?"}${name}=${value}`);
  if (chance(0.25)) add(pick(random, listKeys), encoded(pick(random, words)));
  if (chance(0.1)) add("column_filters", encoded(pick(random, filters)));
  if (chance(0.05)) add("page", "1e99&page=2&page=-1");
  if (chance(0.03)) add("%ff%fe", "%zz%c3");

  const method = operation.endpoint.method.toUpperCase();
  const headers: Record<string, string> = { ...headersOf(operation) };
  if (chance(0.15)) headers["idempotency-key"] = pick(random, idempotencyKeys);
  if (chance(0.15)) headers["accept-language"] = pick(random, languages);
  if (chance(0.05)) {
    headers["x-request-id"] = pick(random, ["", "x".repeat(100), "a b", "../x", "<x>"]);
  }
  const sendsBody = method === "GET" ? chance(0.1) : !chance(0.03);
  const sent = bodyOf(operation, input);
  const text = chance(0.1) ? pick(random, texts) : typeof sent === "string" ? sent : json(sent);
  if (sendsBody) {
    const type = headers["content-type"] ?? "application/json";
    headers["content-type"] = chance(0.05) ? pick(random, contentTypes) : type;
  }
  const bytes = chance(0.02)
    ? Buffer.from([0x7b, 0xff, 0xfe, 0x22, 0xc3, 0x28])
    : Buffer.from(text);
  for (const name of Object.keys(headers)) {
    headers[name] = headers[name].replace(/[^\t\x20-\x7e\x80-\xff]/g, "?");
  }
  return { method, url, headers, body: sendsBody ? bytes : undefined };
}

function json(value: unknown): string {
  return JSON.stringify(value).replace(
    /"\\u0001(.*?)\\u0001"/g,
    (_, inner) => JSON.parse(`"${inner}"`),
  );
}

function wordOf(value: unknown): string {
  return typeof value === "string"
    ? value.replaceAll("\u0001", "")
    : (JSON.stringify(value) ?? "").slice(0, 4_000);
}

/** Percent-encoded even where it is no well-formed text. */
function encoded(text: string): string {
  return encodeURIComponent(wellFormed(text));
}

function without(input: Input, slot: Slot): Input {
  const copy = structuredClone(input);
  // deno-lint-ignore no-explicit-any -- walks into a request of any shape
  let at: any = copy;
  for (const step of slot.slice(0, -1)) at = at?.[step];
  if (at) delete at[slot.at(-1)!];
  return copy;
}
