/**
 * Size limits of stored values, in bytes of UTF-8. Requests are checked against them here and by constraints in the
 * database (sql/sizes.sql).
 */
import { z } from "zod";

/** A contact, a recipient, or a place with its contact. */
export const maxContactBytes = 4_096;
/** Metadata that a client stores with a record. */
export const maxMetadataBytes = 8_192;
/** The payload of an event. */
export const maxEventBytes = 8_192;
/** The contents of a parcel, or a group of settings. */
export const maxDocumentBytes = 65_536;
/** A JSON field that lists return with each row. */
export const maxListFieldBytes = 12_288;
/** Lines of a parcel's contents. */
export const maxPackageLines = 500;

const encoder = new TextEncoder();

/** The schema, limited to `bytes` bytes of JSON; a larger value fails with `field_too_large`. */
export function maxBytes<S extends z.ZodType>(bytes: number, schema: S): S {
  return schema.superRefine((value, context) => {
    if (value === undefined || value === null) return;
    if (encoder.encode(JSON.stringify(value)).length > bytes) tooLarge(bytes, value, context);
  });
}

/** Text of at most `max` characters, with two bytes for each, as Arabic and Kurdish letters need. */
export function maxText(max: number): z.ZodString {
  return z.string().trim().max(max).superRefine((value, context) => {
    // No character takes more than three bytes a unit of UTF-16, so most need no counting.
    if (value.length * 3 > max * 2 && encoder.encode(value).length > max * 2) {
      tooLarge(max * 2, value, context);
    }
  });
}

function tooLarge(bytes: number, input: unknown, context: z.core.$RefinementCtx): void {
  context.issues.push({
    code: "custom",
    message: "field_too_large",
    params: { bytes_max: bytes },
    input,
  });
}
