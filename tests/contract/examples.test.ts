/** The examples of the API reference: one for every operation, valid by the document, and none of this machine. */
import { Ajv2020 } from "ajv/dist/2020.js";
import { beforeAll, describe, expect, test } from "vitest";
import { describeAll } from "../../shared/http/openapi.ts";
import { everyFunction } from "../../supabase/local/endpoints.ts";
import { readExamples, withExamples } from "../../supabase/local/docs/examples.ts";
import { size } from "../prove/proof.ts";
import { operations } from "./functions.ts";

const kept = readExamples();
const clients = operations.filter(({ endpoint }) => !endpoint.internal);

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
    const read = all.filter((_, at) => size !== "brief" || at % 8 === 0);
    const wrong = read.filter(({ schema, value }) => !ajv.validate(schema, value))
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
