/** Regular expressions of PostgreSQL that find a person's contact, names and streets in whatever is written. */

/** Matches nothing. */
export const nothing = "(?=a)b";

const escaped = (text: string) => text.replace(/[\\^$.|?*+()[\]{}]/g, "\\$&");

/** A digit as any keyboard of the three languages writes it. */
const digit = (one: string) =>
  `[${one}${String.fromCodePoint(0x660 + Number(one), 0x6f0 + Number(one))}]`;

/** Spaces, dashes, brackets and marks of the direction, which people and other apps write between the digits of a number. */
const between = "[ ().\\u00a0\\u200b-\\u200f\\u2010-\\u2015\\u202a-\\u202f\\u2066-\\u2069-]";

/** The digits in a row, with what people write between them. */
const spaced = (digits: string) => [...digits].map(digit).join(`${between}{0,2}`);

const asciiDigits = (text: string) =>
  text.replace(/[٠-٩۰-۹]/g, (one) => String(one.codePointAt(0)! % 16)).replace(/\D/g, "");

/** Fewer digits than this are no telephone number that is one person's. */
const shortest = 8;

/** A telephone number in the forms that it is dialled in, at home and from abroad; undefined when it is too short to be one. */
export function phonePattern(number: string): string | undefined {
  const all = asciiDigits(number).replace(/^00/, "");
  const national = all.startsWith("0");
  const digits = all.replace(/^0+/, "");
  if (digits.length < shortest) return undefined;
  // The code of a country has one to three digits, and no list says which here.
  const forms = national ? [`((\\+|00)?[0-9]{1,3}${between}{0,2}|0)?${spaced(digits)}`] : [
    `(\\+|00)?${spaced(digits)}`,
    ...[1, 2, 3].map((code) => digits.slice(code)).filter(({ length }) => length >= shortest)
      .map((rest) => `0?${spaced(rest)}`),
  ];
  return `(?<![0-9a-z-])(${forms.join("|")})(?![0-9a-z-])`;
}

export const emailPattern = (address: string) =>
  `(?<![[:alnum:]._%+-])${escaped(address.trim())}(?![[:alnum:]_-]|[.][[:alnum:]])`;

/** A name or a street as whole words, with any space between them, also as JSON writes it. */
export function wordsPattern(text: string): string {
  const words = text.trim().split(/\s+/).map((word) => escaped(word).replaceAll('"', '\\\\?"'));
  return `(?<![[:alnum:]])${words.join("(\\s|\\\\[nrt])+")}(?![[:alnum:]])`;
}

export const anyOf = (patterns: string[]) =>
  patterns.length > 0 ? `(${[...new Set(patterns)].join("|")})` : nothing;
