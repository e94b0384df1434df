/** Every word the backend can say stands in three languages, and every refusal has its words. */
import { describe, expect, test } from "vitest";
import { errorCodes, isErrorCode } from "../../shared/errors/errors.ts";
import { ar, en, ku } from "../../shared/i18n/catalogues.ts";
import { filesIn, textOf } from "../tools/checks/files.ts";
import { operations } from "./functions.ts";
import { internalConstraints } from "./internal-constraints.ts";

const languages = ["en", "ar", "ku"] as const;
const files = filesIn("shared/i18n").filter((file) => file.endsWith(".json"));
const catalogues: Record<typeof languages[number], Record<string, string>> = { en, ar, ku };
const keys = Object.keys(catalogues.en);
const holes = (text: string) => [...new Set(text.match(/\{\w+\}/g) ?? [])].sort();

/** The word of a thing, and others that translators reach for. */
const otherWords: Record<"ar" | "ku", [word: string, other: RegExp][]> = {
  ar: [
    ["شحنة, a delivery; توصيل is what is done with it", /توصيلة|توصيلات|هذا التوصيل|التوصيلة/],
    ["إسناد, an assignment", /تكليف/],
    ["زبون, a customer", /عميل|عملاء/],
    ["تعديل, an adjustment; تسوية is a settlement", /تسوية المحفظة/],
    ["شركة نقل, a carrier", /ناقل/],
  ],
  ku: [
    ["پارسەڵ, a parcel; پاکەت is a package", /پارچە/],
    ["هەڵاوێردە, an exception", /کێشەیەکی کراوە|تێبینییەکان|لەگەڵ تێبینی/],
    ["ئابوونە, a subscription", /بەشداری/],
    ["گوێزەرەوە, a carrier", /کۆمپانیای(ەکی تری)? گواستنەوە/],
    ["سپاردن, an assignment; ئەرک is a person's post", /ئەم ئەرکە/],
  ],
};

const sqlFiles = filesIn("sql").filter((file) => file.endsWith(".sql"));
const sql = sqlFiles.map((file) => textOf(file).replace(/--[^\n]*/g, "")).join("\n");
const functions = sqlFiles.filter((file) => !/\/(tables|data)\.sql$|^sql\/demo/.test(file)).map(
  textOf,
).join("\n");
const all = (pattern: RegExp) => [...new Set([...sql.matchAll(pattern)].map((match) => match[1]))];

describe("the catalogues", () => {
  test.each(["ar", "ku"] as const)("%s has the keys of English", (language) => {
    expect(Object.keys(catalogues[language]).toSorted()).toEqual(keys.toSorted());
  });

  test.each(files)("%s is sorted, without a key twice", (file) => {
    const written = [...textOf(file).matchAll(/^ {2}"(\w+)":/gm)].map((match) => match[1]);
    expect(written).toEqual([...new Set(written)].sort());
  });

  test("have each key in one place", () => {
    const written = files.filter((file) => file.endsWith(".en.json")).flatMap((file) =>
      Object.keys(JSON.parse(textOf(file)))
    );
    expect(written.toSorted()).toEqual(keys.toSorted());
  });

  test.each(["ar", "ku"] as const)("%s has the holes of English in every text", (language) => {
    const wrong = keys.filter((key) =>
      `${holes(catalogues[language][key] ?? "")}` !== `${holes(catalogues.en[key])}`
    );
    expect(wrong).toEqual([]);
  });

  test.each(["ar", "ku"] as const)(
    "%s is translated: Arabic script, not English again",
    (language) => {
      const wrong = keys.filter((key) => {
        const text = catalogues[language][key] ?? "";
        return text === catalogues.en[key] || !/[\u0600-\u06ff]/.test(text);
      });
      expect(wrong).toEqual([]);
    },
  );

  test("a thing has one word", () => {
    const wrong = (["ar", "ku"] as const).flatMap((language) =>
      otherWords[language].flatMap(([word, other]) =>
        keys.filter((key) => other.test(catalogues[language][key])).map((key) => `${key}: ${word}`)
      )
    );
    expect(wrong).toEqual([]);
  });

  test.each(languages)(
    "%s ends its sentences; names of states, movements, reasons and things are none",
    (language) => {
      const sentences = keys.filter((key) =>
        !/^(activity|movement|status|reason|exception_reason|word)_/.test(key)
      );
      expect(sentences.length).toBeGreaterThan(350);
      expect(sentences.filter((key) => !/[.؟]$/.test(catalogues[language][key]))).toEqual([]);
    },
  );

  test("Kurdish is not Arabic again", () => {
    const same = keys.filter((key) => catalogues.ku[key] === catalogues.ar[key]);
    // Words that are the same in both languages.
    expect(same.filter((key) => catalogues.ku[key].split(" ").length > 2)).toEqual([]);
  });

  test("every error code has a text", () => {
    expect(errorCodes.filter((code) => !Object.hasOwn(catalogues.en, code))).toEqual([]);
  });
});

describe("refusals of the database", () => {
  test("every code of app.fail, app.refuse and app.found is in shared/errors/errors.ts", () => {
    const codes = [
      ...all(/\bapp\.(?:fail|refuse)\(\s*'(\w+)'/g),
      ...all(/\bapp\.found\([\s\S]*?, '(\w+_not_found)'\)/g),
    ];
    expect(codes.length).toBeGreaterThan(5);
    expect(codes.filter((code) => !isErrorCode(code))).toEqual([]);
  });

  test("every code a function answers with, to keep what it did, is in shared/errors/errors.ts", () => {
    expect(all(/jsonb_build_object\(\s*'error',\s*'(\w+)'/g).filter((code) => !isErrorCode(code)))
      .toEqual([]);
  });

  /** Refused as field_too_large or validation_failed (refusalOf). */
  const guardsASize = /_above_\d+_bytes$|^texts_within_bounds$/;

  test("every named constraint is a code, guards a size or is on the short list of internal ones", () => {
    const named = constraints();
    expect(named.length).toBeGreaterThan(10);
    const silent = named.filter(({ name, table }) =>
      !isErrorCode(name) && !guardsASize.test(name) && !internalConstraints.has(name) &&
      isFilledByFunctions(table)
    );
    expect(silent).toEqual([]);
  });

  test("the list of internal constraints names none that is gone", () => {
    expect([...internalConstraints].filter((name) => !new RegExp(`\\b${name}\\b`).test(sql)))
      .toEqual([]);
  });
});

describe("refusals of the functions", () => {
  test("every declared code exists", () => {
    const unknown = operations.flatMap(({ name, endpoint }) =>
      [...endpoint.errors ?? [], endpoint.idempotencyConflictCode, endpoint.access.errorCode]
        .filter((code) => code !== undefined && !isErrorCode(code))
        .map((code) => `${name}: ${code}`)
    );
    expect(unknown).toEqual([]);
  });

  test("every message key an endpoint names exists", () => {
    const unknown = operations.filter(({ endpoint }) =>
      typeof endpoint.message === "string" && !Object.hasOwn(catalogues.en, endpoint.message)
    );
    expect(unknown.map(({ name }) => name)).toEqual([]);
  });

  test("the code of a closed feature gate exists", () => {
    const gates = new Set(operations.flatMap(({ endpoint }) => endpoint.feature ?? []));
    expect([...gates].filter((feature) => !isErrorCode(`${feature}_disabled`))).toEqual([]);
  });
});

/** Unique, check and exclusion constraints with a name of ours. A foreign key without a code is `invalid_reference`. */
function constraints(): { name: string; table: string }[] {
  const inTables = sql.split(/(?=create table |alter table )/).flatMap((part) => {
    const table = /^(?:create|alter) table (?:if not exists |if exists |only )*([\w.]+)/.exec(part)
      ?.[1];
    return [...part.matchAll(/\bconstraint (\w+)\s+(?:unique|check|exclude)/g)].map((match) => ({
      name: match[1],
      table: table ?? "",
    }));
  });
  const indexes = [...sql.matchAll(/create unique index if not exists (\w+)\s+on ([\w.]+)/g)];
  return [...inTables, ...indexes.map(([, name, table]) => ({ name, table }))];
}

/** Rows of the other tables come from reference data, or their feature is not written yet. */
function isFilledByFunctions(table: string): boolean {
  return new RegExp(`insert into ${table.replace(".", "\\.")}\\b`).test(functions);
}
