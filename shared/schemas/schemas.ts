/** Pieces that request and response schemas are made of. */
import { z } from "zod";
import { asciiDigits, scannedText } from "./digits.ts";
import { moneyMark } from "./json-schema.ts";
import { allowHttpUrls } from "../runtime/env.ts";
import { maxBytes, maxText } from "./sizes.ts";

/** Any id PostgreSQL accepts, as it writes them; zod's own `uuid` also checks version bits. One that is missing is not malformed. */
export const Id = z.guid({ error: ({ input }) => input === undefined ? undefined : "invalid_uuid" })
  .toLowerCase();

/** An instant, ISO 8601, as PostgreSQL's JSON gives it. */
export const Timestamp = z.string().meta({ format: "date-time" });

/** Hours of an offset that PostgreSQL takes. */
const maxOffsetHours = 15;

/** Whether PostgreSQL reads the text: there was no year 0. */
function isReadable(text: string): boolean {
  const [, hours = "0"] = /T.*[+-](\d\d):\d\d$/.exec(text) ?? [];
  return !text.startsWith("0000") && Number(hours) <= maxOffsetHours;
}

/**
 * Whether a moment is one of years 1 to 9999 in UTC: any other would be kept, and be answered in a form that is no ISO 8601. Without an
 * offset the first day and the last may reach beyond.
 */
function isAnswerable(text: string): boolean {
  if (!/(?:Z|[+-]\d\d:\d\d)$/.test(text)) return !/^(?:0001-01-01|9999-12-31)/.test(text);
  const year = new Date(text).getUTCFullYear();
  return year >= 1 && year <= 9999;
}

/** The reason in the refusal of a value that has another form; one that is missing is required. */
const wanted = (reason: string) => ({ input }: { input?: unknown }) =>
  input === undefined ? undefined : reason;

/** A text in ASCII digits, with the `+` before an offset that a query which does not encode it makes a blank of. */
const momentText = (text: string) => asciiDigits(text).replace(/ (?=\d\d:\d\d$)/, "+");

/** ISO 8601 to the minute or finer, in any digits; `local` ones need not say their offset. */
function moment({ local, kept }: { local: boolean; kept: boolean }) {
  const forms = [
    z.iso.datetime({ offset: true, local }),
    z.iso.datetime({ offset: true, precision: -1 }),
  ];
  const error = wanted(local ? "reason_instant" : "reason_exact_instant");
  return z.string({ error }).overwrite(momentText).refine(
    (text) =>
      forms.some((form) => form.safeParse(text).success) && isReadable(text) &&
      (!kept || isAnswerable(text)),
    { error },
  ).meta({ format: "date-time" });
}

/** A moment as clients send it: with its offset, else on the clock of the tenant (`app.instant`). */
export const Instant = moment({ local: true, kept: true });

/** A moment that says its offset, so it means the same on every clock. */
export const ExactInstant = moment({ local: false, kept: true });

/** A calendar day, `YYYY-MM-DD`. */
export const Day = z.string({ error: wanted("reason_day") }).overwrite(asciiDigits)
  .refine((text) => z.iso.date().safeParse(text).success && isReadable(text), {
    error: "reason_day",
  })
  .meta({ format: "date" });

const dayOr = (instant: typeof Instant) =>
  z.union([Day, instant], { error: wanted("reason_day_or_instant") });

/** A calendar day or an instant: where a period ends, which may be as far away as there are years. */
export const DayOrInstant = dayOr(moment({ local: true, kept: false }));

/** A calendar day or an instant that is kept. */
export const DayOrKeptInstant = dayOr(Instant);

/** The moment whose state a reconciliation shows. */
export const AsOf = DayOrInstant.optional().describe(
  "A day (to its end, in the tenant's time zone) or an instant; now unless said",
);

/**
 * Money in major units with at most three decimals, as the books keep it. A sum that a client added up may be a few units of the last
 * place beside its decimals, which are larger the larger the sum is; it is read as the amount that was meant.
 */
export const Money = z.number().min(0).max(999_999_999_999).refine(
  (value) =>
    Math.abs(value - Number(value.toFixed(3))) <= Math.max(1e-9, value * 4 * Number.EPSILON),
  { error: "at most three decimals" },
).overwrite((value) => Number(value.toFixed(3))).meta({ [moneyMark]: true });

/** Required text that says something. */
export const Text = maxText(500).min(1);
export const LongText = maxText(2_000);
/**
 * A telephone number as people write it, in the digits that telephones dial whichever a keyboard writes. What they put between the
 * digits stays, and searches pass over it (`app.dialled`).
 */
export const Phone = z.string().overwrite(scannedText).min(3).max(40);

/** An address a browser may be sent to: https, and http where the deployment says so (BARID_ALLOW_HTTP_URLS). */
export const WebUrl = maxBytes(
  4_000,
  z.url({ protocol: allowHttpUrls ? /^https?$/ : /^https$/ }).max(2_000),
);

/** A currency by its code of three letters, ISO 4217. */
export const Currency = z.string().regex(/^[A-Z]{3}$/);

/** A carrier's name in the system. */
export const CarrierCode = z.string().regex(/^[a-z0-9_]{1,40}$/);

/** Free-form JSON object. */
export const JsonObject = z.record(z.string(), z.unknown());

/** An optional field of an object that replaces another: null removes it, as leaving it out does. */
export const orNothing = <S extends z.ZodType>(schema: S) =>
  schema.nullish().transform((value) => value ?? undefined);

const Translation = orNothing(maxText(500));

/** Text in the languages people read; at least one of them. */
export const LocalizedText = z.object({
  en: Translation,
  ar: Translation,
  ku: Translation,
}).refine((text) => Object.values(text).some((value) => value), {
  error: "needs a text in one language",
}).meta({ id: "LocalizedText" });

export const Latitude = z.number().min(-90).max(90);
export const Longitude = z.number().min(-180).max(180);

/** `true`/`false` in a query string. */
export const Flag = z.union([z.boolean(), z.enum(["true", "false"])])
  .transform((value) => String(value) === "true");

/** Path parameters that are ids: `ids("manifest_id")`. */
export function ids<Name extends string>(...names: Name[]): z.ZodObject<Record<Name, typeof Id>> {
  return z.object(Object.fromEntries(names.map((name) => [name, Id])) as Record<Name, typeof Id>);
}

/** Which page of a list an answer is, and how many rows and pages the list has. */
export const Pagination = z.object({
  page: z.int(),
  limit: z.int(),
  total: z.int(),
  total_pages: z.int(),
}).meta({ id: "Pagination" });

/** The answer of a list: the rows of one page, and which page it is. */
export const listResponse = <S extends z.ZodType>(row: S) =>
  z.object({ data: z.array(row), pagination: Pagination });

/** A person or place named beside a row. */
export const PersonRef = z.object({ id: Id, full_name: z.string() }).meta({ id: "PersonRef" });
/** The same where the caller may not see the person: an administrator of the system, say, who is no member. */
export const Person = z.strictObject({ id: Id, full_name: z.string().nullable() }).meta({
  id: "Person",
});
export const NamedRef = z.object({ id: Id, name: z.string(), code: z.string() }).meta({
  id: "NamedRef",
});

/** An optional text: an empty one clears it, as null does. */
export const orEmpty = <S extends z.ZodType>(schema: S) =>
  z.union([z.literal("").transform(() => null), schema]);

/**
 * A body without its fields that are missing, null or an empty text: a repeated Idempotency-Key is compared with what was
 * said, however it was written.
 */
export const withoutEmpty = (body: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(body).filter(([, value]) =>
      value !== null && value !== undefined && value !== ""
    ),
  );
