/**
 * `npm run api`: writes the types that integrators build on, from the declarations of the endpoints, to
 * shared/client/paths.d.ts. With `--check` it only says whether they are up to date; with `--document <file>` it writes the
 * OpenAPI document of all functions there instead, with an example of every call.
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
const wanted = process.argv.indexOf("--document");
if (wanted > 0) {
  const target = process.argv[wanted + 1];
  if (!target) {
    console.error("--document needs a file: npm run api -- --document openapi.json");
    process.exit(2);
  }
  writeFileSync(target, JSON.stringify(withExamples(document)));
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

function readFile(): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
