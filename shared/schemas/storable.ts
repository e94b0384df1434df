/** Text that PostgreSQL keeps: none of it holds NUL, or one half of a surrogate pair. */
import { AppError } from "../errors/errors.ts";

/** JSON.stringify escapes both, halves alone; a backslash of the text itself comes doubled. */
const unstorable = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/;

/** Whether the JSON of a value holds only what can be kept. */
export const isStorableJson = (json: string): boolean => !unstorable.test(json);

/** Whether all texts of a value can be kept. */
export const isStorable = (value: unknown): boolean => isStorableJson(JSON.stringify(value) ?? "");

/** The path of the first text that cannot be kept, of a name that cannot, what has it; undefined without one. */
export function unstorablePath(value: unknown): string[] | undefined {
  return isStorable(value) ? undefined : pathIn(value);
}

function pathIn(value: unknown, path: string[] = []): string[] {
  if (typeof value === "object" && value !== null) {
    for (const [key, held] of Object.entries(value)) {
      if (!isStorable(key)) break;
      if (!isStorable(held)) return pathIn(held, [...path, key]);
    }
  }
  return path;
}

/**
 * Refuses what was accepted and cannot be kept, by the name that it was sent under: a schema may have made a text part of something
 * else. Fails: validation_failed.
 */
export function requireStorableInput(accepted: unknown, sent: unknown): void {
  const path = unstorablePath(accepted);
  if (!path) return;
  // The parameters of a list stand one step further in than they were sent.
  const ways = [sentPart(path, sent), sentPart(path.slice(1), sent), unstorablePath(sent), path];
  const field = ways.find((way) => way?.length)?.join(".") ?? "body";
  throw new AppError("validation_failed", { field });
}

/** As much of a path as what was sent has: all of it where a text is JSON, none where it begins with another name. */
function sentPart(path: string[], sent: unknown): string[] {
  let at = sent;
  for (const [step, key] of path.entries()) {
    if (typeof at === "string" && isStorable(at)) return path;
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) {
      return path.slice(0, step);
    }
    at = at[key as keyof typeof at];
  }
  return path;
}
