/** Texts in cells of files: what a spreadsheet would run is guarded, and what is read again is what was written. */
import { expect, test } from "vitest";
import { csvLine, unguarded } from "../../shared/api/csv/cells.ts";

/** The text of a cell without its quotes. */
const written = (text: string) =>
  csvLine([text]).replace(/\r\n$/, "").replace(/^"([\s\S]*)"$/, "$1").replaceAll('""', '"');

test.each([
  ["\t=1+1", "'\t'=1+1"],
  ["\n@x", "'\n'@x"],
  ["\r+1", "'\r'+1"],
  ["\t '@x", "'\t ''@x"],
  ["a;=1", "a;'=1"],
  ["'=1", "''=1"],
  ["a = b", "a = b"],
])("%j is written as %j", (text, cell) => {
  expect(written(text)).toBe(cell);
  expect(unguarded(cell)).toBe(text);
});

test("every text of signs, dividers and letters comes back, and none begins a formula", () => {
  const signs = ["=", "+", "'", " ", ";", "\t", "\n", '"', ",", "a", "＝"];
  const texts = signs.flatMap((a) =>
    signs.flatMap((b) => signs.flatMap((c) => signs.map((d) => a + b + c + d)))
  );
  const wrong = texts.filter((text) => {
    const cell = written(text);
    const runs = cell.split(/[;|\t\r\n]/).some((part) => /^ *[=+\-@＝]/.test(part));
    return runs || unguarded(cell) !== text;
  });
  expect(wrong).toEqual([]);
});
