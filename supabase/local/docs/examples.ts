/** Examples of every call in the API's document: recorded by tests/contract/examples-recorded.test.ts, which also compares them. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** A call as it was made: what is no JSON is a text. */
export interface Example {
  request?: unknown;
  status: number;
  answer?: unknown;
}

/** Examples of calls by the name of the operation, and of refusals by their code. */
export interface Examples {
  calls: Record<string, Example>;
  refusals: Record<string, object>;
}

/** Where they are kept: a file for each function, and one for refusals. */
export const folder = join(dirname(fileURLToPath(import.meta.url)), "examples");

const refusalsFile = "refusals.json";

export function readExamples(): Examples {
  const read = (file: string) => JSON.parse(readFileSync(join(folder, file), "utf8"));
  const files = existsSync(folder) ? readdirSync(folder) : [];
  return {
    calls: Object.assign({}, ...files.filter((file) => file !== refusalsFile).map(read)),
    refusals: files.includes(refusalsFile) ? read(refusalsFile) : {},
  };
}

interface Content {
  content?: Record<string, { examples?: Record<string, { value: unknown }> }>;
}

interface Operation {
  requestBody?: Content;
  responses: Record<string, Content | { $ref: string }>;
}

interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, { properties?: { code?: { const?: string } } }> };
}

/** A copy of the document of all functions with the examples in it. */
export function withExamples(
  described: object,
  { calls, refusals }: Examples = readExamples(),
): object {
  const document = structuredClone(described) as Document;
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const name = `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ":$1")}`;
      const example = calls[name];
      if (!example) continue;
      show(operation.requestBody, example.request);
      show(operation.responses[example.status] as Content, example.answer);
    }
  }
  for (const schema of Object.values(document.components.schemas)) {
    const refusal = refusals[schema.properties?.code?.const ?? ""];
    if (refusal) Object.assign(schema, { examples: [refusal] });
  }
  return document;
}

function show(part: Content | undefined, value: unknown): void {
  if (value === undefined) return;
  for (const media of Object.values(part?.content ?? {})) {
    media.examples = { recorded: { value } };
  }
}
