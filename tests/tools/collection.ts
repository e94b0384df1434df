/** The API's document as a collection for Postman, Bruno and Insomnia, which read the same file. */
import { createRequire } from "node:module";

/** A request, or a folder of them. */
export interface Entry {
  name: string;
  item?: Entry[];
  request?: {
    method: string;
    url: { host: string[]; path: string[]; variable: { key: string; value: string }[] };
    header: { key: string; value: string; disabled?: boolean }[];
    body?: { mode: string; raw: string };
  };
}

export interface Collection {
  info: { name: string; schema: string };
  item: Entry[];
  variable: { key: string; value: string }[];
}

interface Converted {
  result: boolean;
  reason?: string;
  output: { data: Collection }[];
}

// The package has no types.
const { convertV2 } = createRequire(import.meta.url)("openapi-to-postmanv2") as {
  convertV2(
    input: { type: "json"; data: object },
    options: Record<string, unknown>,
    done: (error: Error | null, converted: Converted) => void,
  ): void;
};

/**
 * Every operation once, in a folder for each group, with the body and the answer of its example. `baseUrl`, `bearerToken` and
 * the parameters of paths are variables; parameters that may be left out are switched off.
 */
export function collectionOf(document: object, baseUrl: string): Promise<Collection> {
  return new Promise((resolve, reject) =>
    convertV2({ type: "json", data: answeredOnly(document, baseUrl) }, {
      folderStrategy: "Tags",
      parametersResolution: "Example",
      enableOptionalParameters: false,
      includeAuthInfoInExample: false,
    }, (error, converted) => {
      if (error || !converted.result) reject(error ?? new Error(converted.reason));
      else resolve(withVariables(converted.output[0]!.data));
    })
  );
}

/** All requests of a collection or a folder. */
export function requestsOf({ item = [] }: Pick<Entry, "item">): Required<Entry>["request"][] {
  return item.flatMap((entry) => entry.request ?? requestsOf(entry));
}

/** Parameters of paths by their names, and a new key for each call that carries one. */
function withVariables(collection: Collection): Collection {
  for (const { url, header } of requestsOf(collection)) {
    for (const variable of url.variable) variable.value = `{{${variable.key}}}`;
    for (const one of header.filter(({ key }) => key === "Idempotency-Key")) {
      one.value = "{{$guid}}";
    }
  }
  return collection;
}

interface Document {
  paths: Record<string, Record<string, { responses: Record<string, object> }>>;
}

/** Without refusals, of which the collection would make up an answer each. */
function answeredOnly(described: object, baseUrl: string): object {
  const document = structuredClone(described) as Document;
  for (const operation of Object.values(document.paths).flatMap((path) => Object.values(path))) {
    operation.responses = Object.fromEntries(
      Object.entries(operation.responses).filter(([status]) => Number(status) < 300),
    );
  }
  return { ...document, servers: [{ url: baseUrl }] };
}
