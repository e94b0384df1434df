/**
 * `npm run api`: writes the types that integrators build on, from the declarations of the endpoints and the events, to
 * shared/client/paths.d.ts and events.d.ts. With `--check` it only says whether these are up to date; with `--document <file>` it writes the
 * OpenAPI document of all functions there instead, with an example of every call; with
 * `--collection <file>` a collection of all calls for Postman or Bruno.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import openapiTypes, { astToString } from "openapi-typescript";
import { root } from "../../supabase/local/paths.ts";
import { describeAll } from "../../shared/http/openapi.ts";
import { compact } from "./compact-types.ts";
import { withExamples } from "../../supabase/local/docs/examples.ts";
import { everyFunction } from "../../supabase/local/endpoints.ts";

interface Content {
  content: {
    "application/json": { schema: { allOf: [object, { properties: { data: object } }] } };
  };
}

const known = ["--check", "--document", "--collection"];
const unknown = process.argv.slice(2).find((word, at, words) =>
  !known.includes(word) && !["--document", "--collection"].includes(words[at - 1] ?? "")
);
if (unknown !== undefined) {
  console.error(`npm run api takes ${known.join(", ")}, but "${unknown}" is none of them.`);
  process.exit(2);
}

// Once through JSON: what is written is what is served.
const document = JSON.parse(JSON.stringify(describeAll(await everyFunction())));
for (
  const [option, usual, made] of [
    ["--document", "openapi.json", withExamples],
    ["--collection", "barid.postman_collection.json", collection],
  ] as const
) {
  const wanted = process.argv.indexOf(option);
  if (wanted < 0) continue;
  const target = process.argv[wanted + 1];
  if (!target) {
    console.error(`${option} needs a file: npm run api -- ${option} ${usual}`);
    process.exit(2);
  }
  writeFileSync(target, JSON.stringify(await made(document)));
  console.log(`${target}: ${Object.keys(document.paths).length} paths`);
  process.exit(0);
}
const { webhooks, ...calls } = document;
const written = {
  "shared/client/paths.d.ts": await typesOf(calls),
  "shared/client/events.d.ts": await typesOf({
    openapi: document.openapi,
    info: document.info,
    components: { schemas: dataOf(webhooks) },
  }),
};
if (process.argv.includes("--check")) {
  for (const [name, text] of Object.entries(written)) {
    if (readFile(join(root, name)) === text) continue;
    console.log(`${name} is not what endpoints and events declare: npm run api`);
    process.exitCode = 1;
  }
} else {
  for (const [name, text] of Object.entries(written)) writeFileSync(join(root, name), text);
  const counts = `${Object.keys(calls.paths).length} paths, ${Object.keys(webhooks).length} events`;
  console.log(`${Object.keys(written).join(", ")}: ${counts}`);
}

async function typesOf(described: object): Promise<string> {
  const types = astToString(await openapiTypes(described as never, { alphabetize: true }));
  return `// Written by npm run api.\n${compact(types)}`;
}

/** The schema of each event's data. */
function dataOf(events: Record<string, { post: { requestBody: Content } }>) {
  return Object.fromEntries(
    Object.entries(events).map(([type, { post }]) => {
      const [, own] = post.requestBody.content["application/json"].schema.allOf;
      return [type, own.properties.data];
    }),
  );
}

/** Loaded when it is asked for: its converter takes a second to load. */
async function collection(document: object): Promise<object> {
  const { collectionOf } = await import("./collection.ts");
  return await collectionOf(withExamples(document), "http://127.0.0.1:54321/functions/v1");
}

function readFile(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
