/** Calls compared with the API's document: the path, the body that was accepted, the status, the type and the answer. */
import { Ajv2020 } from "ajv/dist/2020.js";

// deno-lint-ignore no-explicit-any -- a document of any shape
type Json = any;

/** A call with its answer; bodies as they were sent. */
export interface Exchange {
  method: string;
  /** Without what stands before the function's name: `/delivery/zones/4a33eacd-…`. */
  path: string;
  body?: string;
  status: number;
  contentType: string | null;
  answer: string;
}

/** Compares calls with one document. */
export class Conformance {
  private readonly ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  private readonly templates: { path: string; pattern: RegExp }[];

  constructor(private readonly document: Json) {
    this.ajv.addSchema(document, "api");
    // Literal segments before parameters, as the functions choose.
    this.templates = Object.keys(document.paths).sort(literalFirst).map((path) => ({
      path,
      pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`),
    }));
  }

  /** The path as the document has it; undefined where it has none. */
  templateOf(path: string, method: string): string | undefined {
    return this.templates.find(({ pattern, path: template }) =>
      pattern.test(path) && this.document.paths[template][method]
    )?.path;
  }

  /** How a call differs from the document; undefined if it does not. */
  differenceOf(exchange: Exchange): string | undefined {
    const method = exchange.method.toLowerCase();
    const path = this.templateOf(exchange.path, method);
    if (!path) return "is not in the document";
    const { status } = exchange;
    const at = `/paths/${pointer(path)}/${method}`;
    const [responseAt, response] = this.target(
      `${at}/responses/${status}`,
      this.document.paths[path][method].responses[status],
    );
    if (!response) return `${status} is not in the document`;
    if (status === 304) return undefined;
    const type = (exchange.contentType ?? "").split(";")[0]!;
    // A list as a file is said in words: see the description of its success.
    if (type === "text/csv" && /text\/csv/.test(response.description)) return undefined;
    if (!response.content?.[type]) return `${status} with ${type} is not in the document`;
    if (type !== "application/json") return undefined;
    return this.problem(
      `${status}`,
      `${responseAt}/content/${pointer(type)}/schema`,
      exchange.answer,
    ) ??
      this.problemOfRequest(path, method, exchange);
  }

  /** A body that was accepted is one that the document lets be sent. */
  private problemOfRequest(path: string, method: string, { status, body }: Exchange) {
    const wanted = this.document.paths[path][method].requestBody?.content["application/json"];
    if (status >= 300 || !body || !wanted) return undefined;
    const at = `/paths/${pointer(path)}/${method}/requestBody/content/application~1json/schema`;
    return this.problem("accepted", at, body);
  }

  private problem(what: string, at: string, text: string): string | undefined {
    const value = JSON.parse(text);
    if (this.ajv.validate(`api#${at}`, value)) return undefined;
    const errors = this.ajv.errors!.map(({ instancePath, message, params }) =>
      `${instancePath} ${message} ${JSON.stringify(params)}`
    );
    return `${what} ${errors} in ${text.slice(0, 100)}`;
  }

  /** A part of the document with its place, or what it refers to. */
  private target(at: string, part: Json): [string, Json] {
    if (!part?.$ref) return [at, part];
    const place = part.$ref.slice(1);
    return [
      place,
      place.slice(1).split("/").reduce((in_: Json, name: string) => in_[name], this.document),
    ];
  }
}

const pointer = (path: string) => path.replaceAll("~", "~0").replaceAll("/", "~1");

function literalFirst(one: string, other: string): number {
  const [left, right] = [one, other].map((path) => path.split("/")) as [string[], string[]];
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const difference = Number(left[i]!.startsWith("{")) - Number(right[i]!.startsWith("{"));
    if (difference) return difference;
  }
  return right.length - left.length;
}
