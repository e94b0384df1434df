/** The kinds of filter a list can have: what a value may be, and the SQL of what it keeps. */
import { z } from "zod";
import { AppError } from "../errors/errors.ts";
import { numberText } from "../schemas/digits.ts";
import { reasonOf } from "../schemas/reasons.ts";
import { DayOrInstant, Id, orEmpty } from "../schemas/schemas.ts";

/**
 * How one value narrows the rows. `condition` gets the SQL of the value as jsonb, and `once`, which gives the SQL of a
 * set of ids a name: it is then asked once for page, total and summary, and read with `select id from <name>`.
 */
export interface Filter {
  readonly schema: z.ZodType;
  readonly condition: (value: string, once: (ids: string) => string) => string;
  /** The condition for several words at once. By itself, since one word has an index that gives its rows in order. */
  readonly several?: (value: string) => string;
  /** The field it narrows, where the parameter has another name: what `columnsWin` compares. */
  readonly field?: string;
  /** Its condition on the list's kept totals, `{column: value}` in SQL, where that is not its own name and value. */
  readonly kept?: (value: string) => string;
  /**
   * The condition of the list while the parameter is left out, and the same on its kept totals, `{column: value}` in SQL. Those who
   * ask what changed get the rows it leaves out as well: a copy has to learn of them.
   */
  readonly unasked?: { condition: string; kept: string };
  /** Matching rows come first and carry this key as true, instead of being the only ones. */
  readonly prefers?: string;
}

const asText = (value: string) => `(${value} #>> '{}')`;

/** The condition that a text of a row matches patterns of a search, from whichever keyboard both came (`app.folded`). */
export const matching = (text: string, patterns: string): string =>
  `app.folded((${text})::text) ilike any (${patterns})`;

/** The condition that a text of a row contains what is searched for; wildcards of the client are plain characters. */
export const containing = (text: string, search: string): string =>
  matching(text, `app.contains_patterns(${search})`);

/** Matches anywhere in the column, whatever the case. */
export function contains(column: string): Filter {
  return {
    schema: z.string().max(200),
    condition: (value) => containing(`r.${column}`, asText(value)),
  };
}

/** The words of an enum, as these filters take them. */
export const words = (of: { options: readonly string[] }) => of.options as [string, ...string[]];

/** One of a set of words. */
export function oneOf(column: string, words: readonly [string, ...string[]]): Filter {
  return { schema: z.enum(words), condition: (value) => `r.${column} = ${asText(value)}` };
}

/** One of these words, or several: `a,b` in a parameter, `["a", "b"]` or the same in a column filter. */
export function someWords(words: readonly [string, ...string[]]): z.ZodType {
  const several = z.array(z.enum(words)).min(1).max(words.length);
  const listed = z.string().max(1000).transform((text) => text.split(",")).pipe(several);
  return z.union([z.enum(words), several, listed]).meta({
    description: "One of them, or several with commas between",
    // The form on the wire is the parameter's style.
    anyOf: [{ type: "string", enum: words }, {
      type: "array",
      items: { type: "string", enum: words },
    }],
  });
}

/** One of these words in a column, or several. */
export function someOf(column: string, words: readonly [string, ...string[]]): Filter {
  return {
    schema: someWords(words),
    condition: (value) => `r.${column} = ${asText(value)}`,
    several: (value) => `r.${column} = any (array(select jsonb_array_elements_text(${value})))`,
  };
}

/** Equal to a text. */
export function equal(column: string): Filter {
  return { schema: z.string().max(200), condition: (value) => `r.${column} = ${asText(value)}` };
}

export function id(column: string): Filter {
  return { schema: Id, condition: (value) => `r.${column} = ${asText(value)}::uuid` };
}

export function flag(column: string): Filter {
  return {
    schema: z.union([z.boolean(), z.enum(["true", "false"])]),
    condition: (value) => `r.${column} = ${asText(value)}::boolean`,
  };
}

/** Whether a column says something; `when` is what `true` asks for. */
export function isSet(column: string, when: "set" | "unset"): Filter {
  return {
    schema: flag(column).schema,
    condition: (value) =>
      `(r.${column} is ${when === "set" ? "not null" : "null"}) = ${asText(value)}::boolean`,
  };
}

const wantsNumber = { error: "reason_type_number" };

/** The digits of any keyboard. */
const Numeric = z.union([
  z.number(),
  z.string().overwrite(numberText).regex(/^-?\d{1,15}(\.\d{1,6})?$/, wantsNumber),
], wantsNumber);

/** One end of a range: open when it is left out, null or empty, as forms leave it. */
const end = <S extends z.ZodType>(schema: S) => orEmpty(schema).nullish();

/** A number, or `{min, max}` with either end open. */
export function number(column: string): Filter {
  return {
    schema: z.union([Numeric, z.object({ min: end(Numeric), max: end(Numeric) })]),
    condition: (value) =>
      `case when jsonb_typeof(${value}) = 'object'
        then (${value} ->> 'min' is null or r.${column} >= (${value} ->> 'min')::numeric)
          and (${value} ->> 'max' is null or r.${column} <= (${value} ->> 'max')::numeric)
        else r.${column} = ${asText(value)}::numeric end`,
  };
}

/** Rows whose `column` a function finds, which answers a set of ids; a blank search is none. */
export function foundBy(functionName: string, column = "id"): Filter {
  return {
    schema: z.string().max(200).transform((text) => text.trim() || undefined),
    condition: (value, once) =>
      `r.${column} in (select s.id from ${once(`${functionName}(${asText(value)})`)} s)`,
  };
}

/** A number, exactly. */
export function exactly(column: string): Filter {
  return { schema: Numeric, condition: (value) => `r.${column} = ${asText(value)}::numeric` };
}

/** Lower end of a number. */
export function atLeast(column: string): Filter {
  return { schema: Numeric, condition: (value) => `r.${column} >= ${asText(value)}::numeric` };
}

/** Upper end of a number. */
export function atMost(column: string): Filter {
  return { schema: Numeric, condition: (value) => `r.${column} <= ${asText(value)}::numeric` };
}

/** A bound in a sub-select: worked out once a statement, and not for every row a scan looks at. */
const from = (column: string, value: string) => `r.${column} >= (select app.day_start(${value}))`;
const before = (column: string, value: string) => `r.${column} < (select app.day_end(${value}))`;

/** The day that a day or an instant falls on, in the tenant's time zone. */
const dayOf = (value: string) => `app.day_of(${value})`;

const Period = z.object({ from: end(DayOrInstant), to: end(DayOrInstant) });

/** Both ends of a period, either of them open; `bound` makes of a value what it is compared as. */
const between = (column: string, bound: (value: string) => string): Filter => ({
  schema: Period,
  condition: (value) =>
    `(${value} ->> 'from' is null or ${from(column, bound(`${value} ->> 'from'`))})
      and (${value} ->> 'to' is null or ${before(column, bound(`${value} ->> 'to'`))})`,
});

/** From a day's start in the tenant's time zone, or from an instant. */
export function since(column: string): Filter {
  return { schema: DayOrInstant, condition: (value) => from(column, asText(value)) };
}

/** To a day's end in the tenant's time zone, or to an instant. */
export function until(column: string): Filter {
  return { schema: DayOrInstant, condition: (value) => before(column, asText(value)) };
}

/** `{from, to}`, days or instants, either end open. */
export function period(column: string): Filter {
  return between(column, (value) => value);
}

/** From the start of the day that a day or an instant falls on, in the tenant's time zone. */
export function sinceDay(column: string): Filter {
  return { schema: DayOrInstant, condition: (value) => from(column, dayOf(asText(value))) };
}

/** To the end of the day that a day or an instant falls on, in the tenant's time zone. */
export function untilDay(column: string): Filter {
  return { schema: DayOrInstant, condition: (value) => before(column, dayOf(asText(value))) };
}

/** `{from, to}`, whole days in the tenant's time zone, either end open. */
export function days(column: string): Filter {
  return between(column, dayOf);
}

/** The same filter for a parameter that is named otherwise than its field. */
export function forField(field: string, filter: Filter): Filter {
  return { ...filter, field };
}

/** Puts the rows for which `condition` holds first; `name` is true on them and absent on the others. */
export function prefer(
  name: string,
  schema: z.ZodType,
  condition: (value: string) => string,
): Filter {
  return { schema, condition: (value) => condition(asText(value)), prefers: name };
}

/** A range that is open at both ends, as a grid leaves it whose fields nobody filled in. */
function isOpen(value: unknown): boolean {
  return typeof value === "object" && value !== null &&
    Object.values(value).every((bound) => bound === null || bound === undefined);
}

/**
 * `column_filters` as clients send it. Unknown names, null, empty values and ranges without an end are no filters.
 * Fails: invalid_column_filters.
 */
export function readColumnFilters(
  text: string | undefined,
  columns: Readonly<Record<string, Pick<Filter, "schema">>>,
): Record<string, unknown> {
  if (text === undefined || text === "") return {};
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw wrongFilter("column_filters", { reason_key: "reason_type_object" });
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
    throw wrongFilter("column_filters", { reason_key: "reason_type_object" });
  }
  const accepted: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(parsed)) {
    if (!Object.hasOwn(columns, name) || value === null || value === "") continue;
    const result = columns[name].schema.safeParse(value, { reportInput: true });
    if (!result.success) {
      throw wrongFilter(`column_filters.${name}`, reasonOf(result.error.issues[0]!));
    }
    if (!isOpen(result.data)) accepted[name] = result.data;
  }
  return accepted;
}

/** The refusal of a filter, with what is wanted of it. */
const wrongFilter = (field: string, reason: Record<string, unknown>) =>
  new AppError("invalid_column_filters", { field, ...reason });
