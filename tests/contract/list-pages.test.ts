/** Page and limit of every list at the ends of numbers: too large is the maximum, and a page behind the last one is empty. */
import { beforeAll, expect, test } from "vitest";
import { rowsOf } from "../../shared/api/fields.ts";
import type { Answer, Person } from "../support/api.ts";
import { type Everything, newEverything } from "../support/everything.ts";
import { some } from "../prove/proof.ts";
import { newSystemAdmin } from "../support/people.ts";
import { type Operation, operations } from "./functions.ts";
import { sampleOf, urlOf } from "./requests.ts";
import { schemaOf } from "./slots.ts";

let all: Everything;
let system: Person;
beforeAll(async () => {
  [all, system] = await Promise.all([newEverything("received"), newSystemAdmin()]);
});

/** Beyond 2^31, 2^53 and 2^63, and longer than any number is. */
const tooLarge = ["2147483648", "9007199254740993", "9223372036854775808", "9".repeat(400)];
const senseless = ["0", "-1", "1.5", "1e3", "ten"];

const takes = (operation: Operation, name: string) =>
  operation.endpoint.method === "get" && schemaOf(operation, "query")?.properties?.[name];
const sizeOf = (operation: Operation) => takes(operation, "page_size") ? "page_size" : "limit";

/** The interface document has a page or limit that makes no sense refused here. */
const strict = [
  "GET /webhooks/events/:subscriptionId",
  "GET /webhooks/own/events/:subscriptionId",
];

const lists = operations.filter((operation) =>
  typeof operation.endpoint.response !== "string" && takes(operation, "page") &&
  takes(operation, sizeOf(operation))
);

/** A caller who may read it, and how they ask. */
async function readerOf(operation: Operation) {
  const { tenant, things } = all;
  const url = urlOf(operation, { ...sampleOf(operation, things), query: {} });
  const { query } = sampleOf(operation, things);
  const ask = (person: Person) => (more: Record<string, string>) =>
    person.get(url, { query: { ...query as Record<string, string>, ...more } });
  const people = [tenant.admin, tenant.ops, tenant.driver, tenant.institution, tenant.customer];
  for (const person of [...people, system]) {
    if ((await ask(person)({})).status === 200) return ask(person);
  }
  // Open deliveries are there for drivers of a company that lets them choose.
  return undefined;
}

function rowsIn(operation: Operation, { body }: Answer): unknown[] {
  const { path } = rowsOf(operation.endpoint)!;
  return path.reduce<unknown>(
    (value, key) => (value as Record<string, unknown>)[key],
    body,
  ) as unknown[];
}

/** The limit that an answer says it has. */
const limitOf = ({ body }: Answer): unknown =>
  body.limit ?? body.pagination?.limit ?? body.pagination?.page_size ??
    body.data?.pagination?.limit;

test.each(lists.map((operation, number) => [operation.name, operation, number] as const))(
  "%s",
  async (name, operation, number) => {
    const ask = await readerOf(operation);
    if (!ask) return expect(name).toBe("GET /delivery/assignments/open");
    const size = sizeOf(operation);
    if (strict.includes(name)) {
      for (const sent of [...tooLarge, ...senseless]) {
        expect(await ask({ [size]: sent })).toFailWith(400, "validation_failed");
      }
      return;
    }
    // Every list reads its numbers by the same lines.
    const large = some(tooLarge, number);
    const most = limitOf(await ask({ [size]: "1000000" }));
    const usual = limitOf(await ask({}));
    for (const limit of large) {
      expect(limitOf(await ask({ [size]: limit })), limit).toEqual(most);
    }
    for (const limit of some(senseless, number)) {
      expect(limitOf(await ask({ [size]: limit })), limit).toEqual(usual);
    }
    for (const page of large) {
      const answer = await ask({ page, [size]: "1000000" });
      expect(answer).toSucceed(200);
      expect(rowsIn(operation, answer), page).toEqual([]);
    }
  },
);
