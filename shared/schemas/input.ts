/** Reads a request's input within limits and says in the caller's words what is wrong with it. */
import type { z } from "zod";
import { reasonOf } from "./reasons.ts";
import { isStorable } from "./storable.ts";
import { AppError, isErrorCode } from "../errors/errors.ts";

/** Bytes of a request body: 1 MiB. */
export const maxBodyBytes = 1_048_576;
const maxDepth = 32;

/** The JSON body, `{}` when there is none. */
export async function readJson(request: Request): Promise<unknown> {
  const bytes = await readJsonBytes(request, maxBodyBytes);
  return bytes.length === 0 ? {} : parseJson(bytes);
}

/** The bytes of a JSON body, for endpoints that check them before they are parsed. */
export async function readJsonBytes(request: Request, max: number): Promise<Uint8Array> {
  const bytes = await readBytes(request, max);
  if (bytes.length > 0 && typeOf(request) !== "application/json") {
    throw new AppError("unsupported_media_type");
  }
  return bytes;
}

/** The media type of a body, without what follows it. */
export function typeOf(request: Request): string {
  return (request.headers.get("content-type") ?? "").split(";")[0].trim().toLowerCase();
}

/** Parses the bytes of a JSON body. */
export function parseJson(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    if (nestingOf(text) > maxDepth) throw new AppError("invalid_json");
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError("invalid_json");
  }
}

/** The JSON value, where PostgreSQL can keep its texts: none holds NUL or half of a surrogate pair. Fails with invalid_json. */
export function requireStorable(value: unknown): unknown {
  if (!isStorable(value)) throw new AppError("invalid_json");
  return value;
}

/**
 * The bytes of a body, refused as soon as they are too many, with or without a declared length. Fails: payload_too_large;
 * invalid_json, which nobody is left to hear, when the sender breaks off.
 */
export async function readBytes(request: Request, max: number): Promise<Uint8Array> {
  const { headers } = request;
  if (Number(headers.get("content-length") ?? 0) > max) throw new AppError("payload_too_large");
  if (request.body === null) return new Uint8Array();
  try {
    // A chunked body may be longer than it declares.
    return headers.has("content-length") && !headers.has("transfer-encoding")
      // At once: a stream sets 64 KiB aside for each piece and once more for the end, and the runtime spent half of
      // its time collecting those of some hundred small bodies a second.
      ? new Uint8Array(await request.arrayBuffer())
      : await readChunks(request.body, max);
  } catch (error) {
    // The runtime's own error is about the connection; a TypeError would be about us.
    if (error instanceof AppError || error instanceof TypeError) throw error;
    throw new AppError("invalid_json");
  }
}

async function readChunks(body: ReadableStream<Uint8Array>, max: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > max) throw new AppError("payload_too_large");
    chunks.push(chunk);
  }
  const bytes = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return bytes;
}

/** Deepest nesting of brackets outside strings; found without parsing, which deep input would abuse. */
function nestingOf(json: string): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let i = 0; i < json.length; i++) {
    const character = json.charCodeAt(i);
    if (inString) {
      if (character === 0x5c) i++;
      else if (character === 0x22) inString = false;
    } else if (character === 0x22) inString = true;
    else if (character === 0x5b || character === 0x7b) deepest = Math.max(deepest, ++depth);
    else if (character === 0x5d || character === 0x7d) depth--;
  }
  return deepest;
}

/** The value as its schema sees it, or the refusal that names the first wrong field. */
export function accept<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data;
  throw refusal(result.error.issues[0]);
}

/**
 * The same for what is posted: null counts as left out where a field takes no null, as forms send what nobody filled in.
 * A change is different: null says there that a value shall go, so it is refused where that cannot be.
 */
export function acceptPosted<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  return accept(schema, withoutNulls(value, result.error.issues));
}

/** The value without the properties that are null and were found wrong. */
function withoutNulls(value: unknown, issues: readonly z.core.$ZodIssue[]): unknown {
  const copy = structuredClone(value);
  for (const path of issues.flatMap((issue) => placesOf(issue))) {
    const [last, ...way] = path.toReversed();
    const holder = way.reduceRight<unknown>((at, step) => at?.[step as keyof typeof at], copy);
    if (holder === null || typeof holder !== "object" || Array.isArray(holder)) continue;
    if (holder[last as keyof typeof holder] === null) delete holder[last as keyof typeof holder];
  }
  return copy;
}

/** The value without the properties that a strict schema does not know. */
export function withoutUnrecognized(schema: z.ZodType, value: unknown): unknown {
  const result = schema.safeParse(value);
  if (result.success) return value;
  const copy = structuredClone(value);
  for (const issue of result.error.issues) {
    if (issue.code !== "unrecognized_keys") continue;
    const holder = issue.path.reduce<unknown>((at, step) => at?.[step as keyof typeof at], copy);
    for (const key of issue.keys) delete (holder as Record<string, unknown>)[key];
  }
  return copy;
}

/** Where an issue is: one place, or those that keep a value out of each form it might have had. */
function placesOf(issue: z.core.$ZodIssue): PropertyKey[][] {
  const within = issue.code === "invalid_union" ? issue.errors.flat() : [];
  return [
    issue.path,
    ...within.flatMap((one) => placesOf(one).map((path) => [...issue.path, ...path])),
  ];
}

function refusal(issue: z.core.$ZodIssue): AppError {
  const path = issue.code === "unrecognized_keys" ? [...issue.path, issue.keys[0]] : issue.path;
  const field = path.map(String).join(".") || "body";
  // A schema may name the code of the refusal itself: z.guid({ error: "invalid_uuid" }).
  if (isErrorCode(issue.message)) {
    return new AppError(issue.message, { field, ...(issue.code === "custom" ? issue.params : {}) });
  }
  return new AppError("validation_failed", { field, ...reasonOf(issue) });
}
