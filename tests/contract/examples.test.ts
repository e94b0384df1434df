/** The examples of the API reference are real: recorded on a running system, valid, and what it answers today. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeAll } from "../../shared/http/openapi.ts";
import { everyFunction } from "../../supabase/local/endpoints.ts";
import {
  type Example,
  type Examples,
  folder,
  readExamples,
  withExamples,
} from "../../supabase/local/docs/examples.ts";
import { slugs } from "../../supabase/local/paths.ts";
import { moveTo } from "../support/db.ts";
import { startOwnStack } from "../support/own-stack.ts";
import { clients, record } from "./examples/record.ts";
import { differencesOf } from "./examples/shape.ts";

let now: Examples;
let kept: Examples;
const ends: (() => Promise<void>)[] = [];
beforeAll(async () => {
  const own = await startOwnStack();
  ends.push(await moveTo(own), () => own.stop());
  now = await record();
  if (process.env.UPDATE) write(now, readExamples());
  kept = readExamples();
}, 300_000);
afterAll(async () => {
  for (const end of ends) await end();
});

/** Writes what has another shape than what is kept; the rest stays as it is. */
function write({ calls, refusals }: Examples, before: Examples): void {
  mkdirSync(folder, { recursive: true });
  const chosen = (name: string) => {
    const is = before.calls[name];
    return is && changesOf(is, calls[name]!).length === 0 ? is : calls[name];
  };
  for (const slug of slugs) {
    const names = Object.keys(calls).filter((name) => name.split("/")[1] === slug).sort();
    writeFile(`${slug}.json`, Object.fromEntries(names.map((name) => [name, chosen(name)])));
  }
  const merged = Object.entries(refusals).map(([code, refusal]) => {
    const is = before.refusals[code];
    return [code, is && differencesOf(is, refusal).length === 0 ? is : refusal];
  });
  writeFile("refusals.json", Object.fromEntries(merged));
}

const writeFile = (name: string, examples: object) =>
  writeFileSync(join(folder, name), `${JSON.stringify(examples, null, 2)}\n`);

const changesOf = (one: Example, other: Example) => differencesOf(one, other);

test("every operation has an example, with the body that it takes and the answer that it gives", () => {
  expect(Object.keys(kept.calls).sort()).toEqual(clients.map(({ name }) => name).sort());
  const wrong = clients.filter(({ name, endpoint }) => {
    const { request, status, answer } = kept.calls[name]!;
    const statuses: unknown[] = [endpoint.status ?? 200, endpoint.otherStatus];
    return (request === undefined) === Boolean(endpoint.body || endpoint.csv) ||
      (answer === undefined) !== (endpoint.response === "pdf") || !statuses.includes(status);
  });
  expect(wrong.map(({ name }) => name)).toEqual([]);
});

test("what is called today has the shape of its example (UPDATE=1 writes those anew that have not)", () => {
  const changed = clients.flatMap(({ name }) =>
    changesOf(kept.calls[name]!, now.calls[name]!).map((what) => `${name} ${what}`)
  );
  expect(changed).toEqual([]);
});

test("the refusals that are met have the shape of their examples", () => {
  expect(Object.keys(now.refusals)).toEqual(Object.keys(kept.refusals));
  expect(Object.keys(kept.refusals).length).toBeGreaterThan(60);
  const changed = Object.entries(kept.refusals).flatMap(([code, refusal]) =>
    differencesOf(refusal, now.refusals[code]).map((what) => `${code} ${what}`)
  );
  expect(changed).toEqual([]);
});

describe("the document", () => {
  // deno-lint-ignore no-explicit-any -- a document of any shape
  type Json = any;
  let document: Json;
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  beforeAll(async () => {
    document = JSON.parse(JSON.stringify(withExamples(describeAll(await everyFunction()), kept)));
    ajv.addSchema(document, "api");
  });

  /** Every example with its place and the schema it belongs to. */
  function shown(): { at: string; schema: string; value: unknown }[] {
    const found: { at: string; schema: string; value: unknown }[] = [];
    const collect = (part: Json, at: string) => {
      if (part === null || typeof part !== "object") return;
      if (part.schema && part.examples) {
        const { value } = part.examples.recorded;
        found.push({ at, schema: `api#${at}/schema`, value });
        return;
      }
      for (const [name, one] of Object.entries(part)) {
        collect(one, `${at}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`);
      }
    };
    collect(document.paths, "/paths");
    for (const [name, { examples }] of Object.entries<Json>(document.components.schemas)) {
      if (!examples) continue;
      const at = `/components/schemas/${name}`;
      found.push({ at, schema: `api#${at}`, value: examples[0] });
    }
    return found;
  }

  test("shows them all, each valid by the schema it stands with", () => {
    const all = shown();
    const wrong = all.filter(({ schema, value }) => !ajv.validate(schema, value))
      .map(({ at, schema, value }) => {
        ajv.validate(schema, value);
        return `${at}: ${ajv.errorsText(ajv.errors).slice(0, 300)}`;
      });
    expect(wrong).toEqual([]);
    const wanted = Object.values(kept.calls).flatMap(({ request, answer }) =>
      [request, answer].filter((value) => value !== undefined)
    );
    expect(all).toHaveLength(wanted.length + Object.keys(kept.refusals).length);
  });

  test("shows one destination where a call takes one of two", () => {
    const { requestBody } =
      document.paths["/delivery/transfer-manifest-items/bulk/set-destination"].post;
    const { value } = requestBody.content["application/json"].examples.recorded;
    const destinations = ["destination_branch_id", "destination_address_id"];
    expect(destinations.filter((name) => name in value)).toHaveLength(1);
  });

  test("names nothing of the machine on which it was recorded, and no secret", () => {
    const text = JSON.stringify(kept);
    expect(text.match(/127\.0\.0\.1|localhost|barid\.test|\/tmp\/|eyJ[\w-]{10,}|Word \d+-\d+/g))
      .toBeNull();
    const secrets = text.match(/"(whsec|barid)_\w+"/g) ?? [];
    expect(secrets.filter((secret) => !secret.includes("NotASecretButAnExample"))).toEqual([]);
  });
});
