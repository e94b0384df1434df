/** Where something is picked up and dropped off, in each of the spellings clients use. */
import { z } from "zod";
import { numberText } from "../../../shared/schemas/digits.ts";

/** A number, or a text that is one; true and the empty text are none. */
export function asNumber(value: unknown): number | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? value : undefined;
  if (typeof value !== "string") return undefined;
  const text = numberText(value);
  return /^-?\d{1,15}(\.\d{1,20})?$/.test(text) ? Number(text) : undefined;
}

const isMissing = (value: unknown) => value === undefined || value === null || value === "";
const firstOf = (from: Record<string, unknown>, names: readonly string[]) =>
  names.find((name) => !isMissing(from[name]));

const latitudes = ["latitude", "lat"];
const longitudes = ["longitude", "lng", "long"];

interface Spelling {
  objects: readonly string[];
  prefixes: readonly string[];
}
const pickup: Spelling = {
  objects: ["pickup_location", "pickup_address"],
  prefixes: ["pickup"],
};
const dropoff: Spelling = {
  objects: ["delivery_location", "delivery_address", "dropoff_location", "dropoff_address"],
  prefixes: ["dropoff", "delivery"],
};

/** Every key a place may stand under, for schemas that drop what they do not know. */
export const placeKeys: readonly string[] = [pickup, dropoff].flatMap(({ objects, prefixes }) => [
  ...objects,
  ...prefixes.flatMap((prefix) => [...latitudes, ...longitudes].map((name) => `${prefix}_${name}`)),
]);

export interface Place {
  latitude: number;
  longitude: number;
}

export interface Places {
  pickup?: Place;
  dropoff?: Place;
}

/** Both places, each undefined when nothing was said of it; half a place or a wrong one is an issue. */
export function readPlaces(
  body: Record<string, unknown>,
  context: z.core.$RefinementCtx,
): Places {
  return { pickup: read(body, pickup, context), dropoff: read(body, dropoff, context) };
}

function read(
  body: Record<string, unknown>,
  { objects, prefixes }: Spelling,
  context: z.core.$RefinementCtx,
): Place | undefined {
  const refuse = (...path: string[]) => {
    context.issues.push({ code: "custom", message: "invalid_coordinates", path, input: body });
    return undefined;
  };
  const object = firstOf(body, objects);
  let from = body;
  let names = [latitudes, longitudes].map((words) =>
    prefixes.flatMap((prefix) => words.map((word) => `${prefix}_${word}`))
  );
  if (object) {
    const value = body[object];
    if (typeof value !== "object" || value === null || Array.isArray(value)) return refuse(object);
    from = value as Record<string, unknown>;
    names = [latitudes, longitudes];
  }
  const [latitudeKey, longitudeKey] = names.map((words) => firstOf(from, words));
  if (!object && !latitudeKey && !longitudeKey) return undefined;
  const at = (key: string | undefined, spelled: string) =>
    object ? [object, key ?? spelled] : [key ?? spelled];
  const latitude = asNumber(latitudeKey && from[latitudeKey]);
  if (latitude === undefined || Math.abs(latitude) > 90) {
    return refuse(...at(latitudeKey, object ? "latitude" : names[0][1]));
  }
  const longitude = asNumber(longitudeKey && from[longitudeKey]);
  if (longitude === undefined || Math.abs(longitude) > 180) {
    return refuse(...at(longitudeKey, object ? "longitude" : names[1][1]));
  }
  return { latitude, longitude };
}
