/** Calls every operation once on a running system, and keeps what was sent and answered as an example. */
import type { Example, Examples } from "../../../supabase/local/docs/examples.ts";
import { type Answer, nobody, type Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import type { Things } from "../../support/everything.ts";
import { type Operation, operations } from "../functions.ts";
import { bodyOf, headersOf, sampleOf, urlOf } from "../requests.ts";
import { type Call, type Calls, newWorld, type World } from "./call.ts";
import { cash } from "./calls/cash.ts";
import { deliveries } from "./calls/deliveries.ts";
import { drivers } from "./calls/drivers.ts";
import { integration } from "./calls/integration.ts";
import { manifests } from "./calls/manifests.ts";
import { ownWebhooks } from "./calls/own-webhooks.ts";
import { packages } from "./calls/packages.ts";
import { services } from "./calls/services.ts";
import { storefront } from "./calls/storefront.ts";
import { tenancy } from "./calls/tenancy.ts";
import { warehousing } from "./calls/warehousing.ts";
import { recordRefusals } from "./refusals.ts";
import { Steady } from "./steady.ts";

export const calls: Calls = {
  ...manifests,
  ...deliveries,
  ...drivers,
  ...services,
  ...cash,
  ...warehousing,
  ...packages,
  ...storefront,
  ...tenancy,
  ...integration,
  ...ownWebhooks,
};

/** The operations of clients; those that remove or end something come last, so it is there for the others. */
export const clients = operations.filter(({ endpoint }) => !endpoint.internal)
  .sort((a, b) => Number(a.endpoint.method === "delete") - Number(b.endpoint.method === "delete"));

/** An example of every operation and of the refusals that are met; throws with all calls that were refused. */
export async function record(): Promise<Examples> {
  const everybodys = new Set(
    (await sql`select id from tenancy.modules union all select id from storefront.payment_method_types`)
      .map(({ id }) => id as string),
  );
  const worlds = { draft: await newWorld("draft"), received: await newWorld("received") };
  const made: Record<string, Example> = {};
  const refused: string[] = [];
  for (const operation of clients) {
    const call = calls[operation.name] ?? {};
    const world = call.alone
      ? await newWorld(call.alone)
      : worlds[/transfer-manifests/.test(operation.name) ? "draft" : "received"];
    try {
      made[operation.name] = await exampleOf(operation, call, world, everybodys);
    } catch (error) {
      refused.push(`${operation.name}: ${(error as Error).message}`);
    }
  }
  if (refused.length) throw new Error(refused.join("\n"));
  const refusals = await recordRefusals(clients, await newWorld("received"), everybodys);
  return { calls: made, refusals };
}

async function exampleOf(
  operation: Operation,
  call: Call,
  given: World,
  everybodys: Set<string>,
): Promise<Example> {
  const prepared = await call.before?.(given);
  const things = { ...given.things, ...prepared?.things } as Things;
  const world: World = { ...given, ...prepared, things };
  const input = sampleOf(operation, things);
  if (call.body) input.body = await call.body(things, world);
  else if (input.body) input.body = worded(input.body, "");
  Object.assign(input.params, call.params?.(things));
  if (call.query) input.query = call.query(things);
  const body = operation.endpoint.method === "get" ? undefined : bodyOf(operation, input);
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const who = prepared?.caller ?? callerOf(call, world);
  const answer = await who.send(
    operation.endpoint.method.toUpperCase(),
    urlOf(operation, input),
    text,
    { headers: { ...headersOf(operation), ...call.headers?.(things, text ?? "") } },
  );
  await call.after?.(world);
  if (answer.status >= 300) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  const steady = new Steady(operation.name, things, everybodys);
  const { csv, body: schema } = operation.endpoint;
  return {
    ...(csv
      ? { request: steady.file(body as string) }
      : schema
      ? { request: steady.of(input.body) }
      : {}),
    status: answer.status,
    ...answered(answer, steady),
  };
}

function callerOf({ by = "admin" }: Call, world: World): Person {
  if (by === "nobody") return nobody;
  return by === "system" ? world.system : world.tenant[by];
}

/** A file and the metrics are shown by their first lines; a document that is no text is not. */
function answered({ headers, body }: Answer, steady: Steady): { answer?: unknown } {
  const type = headers.get("content-type") ?? "";
  if (type.includes("json")) return { answer: steady.of(body) };
  if (type.includes("openmetrics")) {
    const lines = Buffer.from(body).toString("utf8").split("\n").slice(0, 6);
    return { answer: [...lines, "# EOF\n"].join("\n") };
  }
  if (!type.includes("csv")) return {};
  const lines = Buffer.from(body).toString("utf8").split("\r\n").slice(0, 3);
  return { answer: steady.file(lines.join("\r\n")) };
}

const words: Readonly<Record<string, string>> = {
  name: "Karrada",
  reason: "Asked for by the customer",
  notes: "Nothing else",
};

/** Texts that were made up, in words. */
function worded(value: unknown, key: string): unknown {
  if (Array.isArray(value)) return value.map((one) => worded(one, key));
  if (value !== null && typeof value === "object") {
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [name, worded(one, name)]),
    );
  }
  return typeof value === "string" && /^Word \d+-\d+$/.test(value) ? words[key] ?? key : value;
}
