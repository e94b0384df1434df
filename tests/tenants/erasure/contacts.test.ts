/** A telephone number in the ways that people write it, and names as whole words. */
import { expect, test } from "vitest";
import {
  anyOf,
  emailPattern,
  phonePattern,
  wordsPattern,
} from "../../../supabase/tenant/contacts.ts";
import { sql } from "../../support/db.ts";

const found = async (pattern: string, text: string) =>
  (await sql`select ${text} ~* ${pattern} as found`)[0]!.found as boolean;

test.each([
  ["+9647709876541", "+964 770 987 6541", true],
  ["+9647709876541", "call 07709876541.", true],
  ["+9647709876541", "٠٧٧٠ ٩٨٧ ٦٥٤١", true],
  ["+9647709876541", "7709876541", true],
  ["+9647709876541", "009647709876541", true],
  ["+9647709876541", "\u202a+964\u00a0770\u00a0987\u20116541\u202c", true],
  ["+9647709876541", "+9647709876542", false],
  ["+9647709876541", "077098765410", false],
  ["+9647709876541", "17709876541", false],
  ["0770 987 6541", "+9647709876541", true],
  ["0770 987 6541", "07709876541", true],
  ["0770 987 6541", "07809876541", false],
])("%s in %s: %s", async (number, text, expected) => {
  expect(await found(phonePattern(number)!, text)).toBe(expected);
});

test.each([
  [emailPattern("a.b@example.test"), "to A.B@example.test, soon", true],
  [emailPattern("a.b@example.test"), "aa.b@example.test", false],
  [emailPattern("a.b@example.test"), "axb@example.test", false],
  [wordsPattern("Sara Ali"), "for sara  ali.", true],
  [wordsPattern("Sara Ali"), "for Sara Alim", false],
  [wordsPattern("سارة علي"), "إلى سارة علي", true],
  [wordsPattern('The "Blue" (9)'), '{"a": "the \\"Blue\\" (9)"}', true],
  [anyOf([]), "", false],
])("%s in %s: %s", async (pattern, text, expected) => {
  expect(await found(pattern, text)).toBe(expected);
});

test("too few digits are no number", () => expect(phonePattern("12-34")).toBeUndefined());
