/** Requests that are refused, in the ways that every operation shares, and what the refusals look like. */
import { randomUUID } from "node:crypto";
import { type Answer, nobody, type Person } from "../../support/api.ts";
import type { Operation } from "../functions.ts";
import { headersOf, sampleOf, urlOf } from "../requests.ts";
import type { World } from "./call.ts";
import { Steady } from "./steady.ts";

/** A refusal of each code that is met, by its code: nobody, somebody without the right, ids of nothing, and empty bodies. */
export async function recordRefusals(
  operations: readonly Operation[],
  world: World,
  everybodys: ReadonlySet<string>,
): Promise<Record<string, object>> {
  const refusals: Record<string, object> = {};
  const { admin, customer } = world.tenant;
  // One after the other: of calls at the same moment now one is refused and now another.
  for (const [at, operation] of operations.entries()) {
    const asks = [
      at < 6 ? () => ask(operation, nobody) : undefined,
      () => ask(operation, customer),
      () => ask(operation, admin, sampleOf(operation, world.things).body),
      () => ask(operation, admin, {}),
      at < 6 ? () => ask(operation, admin, undefined, { "content-type": "text/plain" }) : undefined,
    ];
    for (const one of asks) {
      const answer = await one?.();
      const code = answer?.body?.code as string | undefined;
      if (!code || answer!.status < 400 || Object.hasOwn(refusals, code)) continue;
      refusals[code] = new Steady(code, world.things, everybodys).of(answer!.body) as object;
    }
  }
  return Object.fromEntries(
    Object.entries(refusals).sort(([one], [other]) => one.localeCompare(other, "en")),
  );
}

/** Asks about ids of nothing; what is sent is an object, or a text that is none. */
function ask(
  operation: Operation,
  who: Person,
  body: unknown = "{",
  headers: Record<string, string> = {},
): Promise<Answer> {
  const method = operation.endpoint.method.toUpperCase();
  const params = Object.fromEntries(
    [...operation.path.matchAll(/:(\w+)/g)].map(([, name]) => [name!, randomUUID()]),
  );
  const url = urlOf(operation, { params, query: {}, body });
  return who.send(method, url, method === "GET" ? undefined : body, {
    headers: { ...headersOf(operation), ...headers },
  });
}
