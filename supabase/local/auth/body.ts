import { AuthFailure } from "./failure.ts";

/** The JSON object of a request; fails with bad_json. */
export async function readBody(request: Request): Promise<Record<string, unknown>> {
  const body: unknown = await request.json().catch(() => undefined);
  if (isObject(body)) return body;
  throw new AuthFailure(
    400,
    "bad_json",
    "Could not parse request body as JSON: an object is expected",
  );
}

/** A JSON object, not an array and not null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
