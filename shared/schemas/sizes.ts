/** Sizes of stored values, in bytes of UTF-8: the bounds that requests are held to, and the database behind them. */
import { z } from "zod";

/** A contact, a recipient, a place with who is met there. */
export const contactBytesMax = 4_096;
/** A client's own metadata of a record. */
export const metadataBytesMax = 8_192;
/** The payload of an event. */
export const eventBytesMax = 8_192;
/** The contents of a parcel; a group of settings. */
export const documentBytesMax = 65_536;
/** Details that lists show beside a row's own fields. */
export const listedBytesMax = 12_288;
/** Lines of what a parcel holds. */
export const packageLinesMax = 500;

const encoder = new TextEncoder();

/** A schema of what takes at most `bytes` as JSON; more is refused with `field_too_large`. */
export function within<S extends z.ZodType>(bytes: number, schema: S): S {
  return schema.superRefine((value, context) => {
    if (value === undefined || value === null) return;
    if (encoder.encode(JSON.stringify(value)).length > bytes) tooLarge(bytes, value, context);
  });
}

/** Text of at most `max` characters, with two bytes for each, as Arabic and Kurdish letters need. */
export function textWithin(max: number): z.ZodString {
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
