/**
 * `npm run api`: writes the types that integrators build on, from the declarations of the endpoints, to
 * shared/client/paths.d.ts. With `--check` it only says whether they are up to date; with `--document <file>` it writes the
 * OpenAPI document of all functions there instead, with an example of every call; with
 * `--collection <file>` a collection of all calls for Postman or Bruno.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import openapiTypes, { astToString } from "openapi-typescript";
import { root } from "../../supabase/local/paths.ts";
import { describeAll } from "../../shared/http/openapi.ts";
import { compact } from "./compact-types.ts";
import { withExamples } from "../../supabase/local/docs/examples.ts";
import { everyFunction } from "../../supabase/local/endpoints.ts";

// Once through JSON: what is written is what is served.
const document = JSON.parse(JSON.stringify(describeAll(await everyFunction())));
for (
  const [option, usual, written] of [
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
  writeFileSync(target, JSON.stringify(await written(document)));
  console.log(`${target}: ${Object.keys(document.paths).length} paths`);
  process.exit(0);
}
const types = astToString(await openapiTypes(document, { alphabetize: true }));
const text = `// Written by npm run api.\n${compact(types)}`;
const name = "shared/client/paths.d.ts";
const file = join(root, name);

if (process.argv.includes("--check")) {
  if (readFile() !== text) {
    console.log(`${name} is not what the endpoints declare: npm run api`);
    process.exitCode = 1;
  }
} else {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  console.log(`${name}: ${Object.keys(document.paths).length} paths`);
}

/** Loaded when it is asked for: its converter takes a second to load. */
async function collection(document: object): Promise<object> {
  const { collectionOf } = await import("./collection.ts");
  return await collectionOf(withExamples(document), "http://127.0.0.1:54321/functions/v1");
}

function readFile(): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
