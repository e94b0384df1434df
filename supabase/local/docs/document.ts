/** The API's document as the reference page shows it: groups by function, and an example in TypeScript for each call. */

interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required?: boolean;
}

interface Operation {
  tags: string[];
  parameters?: (Parameter | { $ref: string })[];
  requestBody?: {
    content: Record<string, { example?: unknown; examples?: Record<string, { value?: unknown }> }>;
  };
}

interface Document {
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { parameters: Record<string, Parameter> };
}

/** Takes the document of all functions, whose tags are `function: group`. */
export function forReference(document: object): object {
  const { tags, paths, components, ...rest } = document as Document;
  const groupOf = ({ name }: { name: string }) => name.split(": ")[0]!;
  const groups = [...new Set(tags.map(groupOf))];
  return {
    ...rest,
    components,
    tags: tags.map((tag) => ({ ...tag, "x-displayName": tag.name.split(": ")[1] })),
    "x-tagGroups": groups.map((name) => ({
      name,
      tags: tags.filter((tag) => groupOf(tag) === name).map((tag) => tag.name),
    })),
    paths: mapValues(paths, (methods, path) =>
      mapValues(methods, (operation, method) => ({
        ...operation,
        "x-codeSamples": [{
          lang: "typescript",
          label: "TypeScript",
          source: typescript(path, method, operation, components.parameters),
        }],
      }))),
  };
}

/** The call with the package `barid`, which gives each write its Idempotency-Key. */
function typescript(
  path: string,
  method: string,
  operation: Operation,
  shared: Record<string, Parameter>,
): string {
  const parameters = (operation.parameters ?? []).map((parameter) =>
    "$ref" in parameter ? shared[parameter.$ref.split("/").at(-1)!]! : parameter
  );
  const named = (place: Parameter["in"], wanted: (parameter: Parameter) => boolean) => {
    const members = parameters.filter((parameter) => parameter.in === place && wanted(parameter))
      .map(({ name }) => memberOf(name));
    return members.length ? [`${place}: { ${members.join(", ")} }`] : [];
  };
  const params = [
    ...named("path", () => true),
    ...named("query", ({ required }) => required === true),
  ];
  const body = operation.requestBody?.content["application/json"];
  const options = [
    ...(params.length ? [`params: { ${params.join(", ")} },`] : []),
    ...(body ? [`body: ${literal(exampleOf(body))},`] : []),
  ];
  const call = `barid.${method.toUpperCase()}("${path}"`;
  return [
    'import { createBarid } from "barid";',
    "",
    "const barid = createBarid({ url, token });",
    options.length
      ? `const { data, error } = await ${call}, {\n${
        options.map((option) => indented(option)).join("\n")
      }\n});`
      : `const { data, error } = await ${call});`,
  ].join("\n");
}

/** A parameter with a variable of the caller's, which is named as it is. */
function memberOf(name: string): string {
  const variable = name.replace(/[-_](\w)/g, (_, letter: string) => letter.toUpperCase());
  if (variable === name) return name;
  return `${/^\w+$/.test(name) ? name : JSON.stringify(name)}: ${variable}`;
}

function exampleOf(
  { example, examples }: { example?: unknown; examples?: Record<string, { value?: unknown }> },
): unknown {
  return example ?? Object.values(examples ?? {})[0]?.value ?? {};
}

function literal(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(/^(\s*)"(\w+)":/gm, "$1$2:");
}

const indented = (text: string) => text.replace(/^/gm, "  ");

function mapValues<Value, Mapped>(
  values: Record<string, Value>,
  mapped: (value: Value, key: string) => Mapped,
): Record<string, Mapped> {
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, mapped(value, key)]),
  );
}
