/** JSON that says everything once: of two equal keys readers take different ones, and money hangs on it. */
import { AppError } from "../../../shared/errors/errors.ts";
import { parseJson } from "../../../shared/schemas/input.ts";

/** Parses the bytes. Fails with invalid_json, for a repeated key as well. */
export function parseStrictly(bytes: Uint8Array): unknown {
  const value = parseJson(bytes);
  if (repeatsKeys(new TextDecoder().decode(bytes))) throw new AppError("invalid_json");
  return value;
}

/** True when an object of this valid JSON text names a key twice, however it is spelled. */
export function repeatsKeys(json: string): boolean {
  const open: (Set<string> | null)[] = [];
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"\s*:?|[{}[\]]/g)) {
    if (token === "{") open.push(new Set());
    else if (token === "[") open.push(null);
    else if (token === "}" || token === "]") open.pop();
    else if (token.endsWith(":")) {
      const keys = open.at(-1);
      const key = JSON.parse(token.slice(0, -1)) as string;
      if (keys?.has(key)) return true;
      keys?.add(key);
    }
  }
  return false;
}
