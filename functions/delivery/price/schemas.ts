import { z } from "zod";
import { Id, orEmpty } from "../../../shared/schemas/schemas.ts";
import { keptAs } from "../../../shared/schemas/unknown-fields.ts";
import { maxBytes, maxDocumentBytes, maxPackageLines } from "../../../shared/schemas/sizes.ts";
import { asNumber, placeKeys, readPlaces } from "./places.ts";

const maxUnits = 999_999_999;

/** A number of units, also written as text. */
const unitsWhere = (fits: (units: number) => boolean) =>
  z.union([z.number(), z.string()]).transform((value, context) => {
    const units = asNumber(value);
    if (units !== undefined && Math.abs(units) <= maxUnits && fits(units)) return units;
    context.issues.push({ code: "custom", input: value });
    return z.NEVER;
  });

/** Any JSON: what is wrong with it, the database says. */
const Anything = z.unknown().optional();

const PackageItem = z.object({
  name: Anything,
  quantity: Anything,
  weight: Anything,
  length: Anything,
  width: Anything,
  height: Anything,
  unit_price: Anything,
}).catchall(keptAs(z.unknown()));

function isPackage(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (typeof value !== "object" || Array.isArray(value)) return false;
  const { items } = value as { items?: unknown };
  return items === undefined || items === null ||
    Array.isArray(items) && items.length <= maxPackageLines &&
      items.every((item) => typeof item === "object" && item !== null && !Array.isArray(item));
}

/** `{items: [{name, quantity, weight, length, width, height}]}`; the database checks the measurements (read_measure). */
export const Package = z.preprocess(
  (value, context) => {
    if (isPackage(value)) return value;
    context.issues.push({ code: "custom", message: "invalid_package", input: value });
    return z.NEVER;
  },
  maxBytes(
    maxDocumentBytes,
    z.object({ items: z.array(PackageItem).nullish() }).catchall(keptAs(z.unknown())).nullish(),
  ),
).meta({
  description:
    "{items: [{name, quantity, weight, length, width, height, unit_price}]}, no measure above 1,000,000. Of an order `unit_price` stands on all items or none, and they add up to `cod_amount`",
});

const Loose = Object.fromEntries(placeKeys.map((key) => [
  key,
  z.unknown().optional().meta({
    description: /location$|address$/.test(key)
      ? "{latitude, longitude}; also lat, lng, long"
      : "Coordinate, where no location is sent",
  }),
]));

/**
 * Units where they may be left out, also by an empty text. Measurements override them, whatever they are; where they
 * count, too few of them are what the service's range refuses.
 */
export const unitsOf = orEmpty(unitsWhere(() => true)).nullish();

/** The legacy preview: units are said, never measured. */
export const PriceQuery = z.object({
  ...Loose,
  delivery_service_id: Id,
  units: unitsWhere((units) => units > 0),
})
  .transform(({ delivery_service_id, units, ...rest }, context) => ({
    delivery_service_id,
    unit_size: units,
    place_fields: ["pickup_lat", "dropoff_lat"],
    ...readPlaces(rest, context),
  }));

/** Of two packages the legacy `package_details` counts; refusals name the one that was used. */
export const PriceBody = z.object({
  ...Loose,
  delivery_service_id: Id,
  unit_size: unitsOf,
  package: Package.optional(),
  package_details: Package.optional(),
}).transform(
  ({ delivery_service_id, unit_size, package: box, package_details, ...rest }, context) => {
    const legacy = package_details !== undefined && package_details !== null;
    return {
      delivery_service_id,
      unit_size: unit_size ?? undefined,
      package: legacy ? package_details : box ?? undefined,
      place_fields: ["pickup_location", "delivery_location"],
      package_field: legacy ? "package_details" : "package",
      ...readPlaces(rest, context),
    };
  },
);

export const PriceResponse = z.object({
  price: z.number(),
  unit_size: z.number(),
  unit_size_source: z.enum([
    "package_details",
    "unit_size",
    "service_min",
    "service_half",
    "service_max",
  ]),
});
