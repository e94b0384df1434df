/** docs/glossary.md: each word once, explained, in three languages, with a place that exists. */
import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const rows = readFileSync("docs/glossary.md", "utf8").split("\n")
  .filter((line) => line.startsWith("| ") && !/^\| (word|---)/.test(line))
  .map((line) => line.slice(2, -2).split(" | "));

test("there are words, and each has one line", () => {
  expect(rows.length).toBeGreaterThan(50);
  const words = rows.map(([word]) => word);
  expect(words.filter((word, index) => words.indexOf(word) !== index)).toEqual([]);
});

test.each(rows.map((row) => [row[0], row] as const))("%s", (_word, row) => {
  const [, meaning, arabic, kurdish, places] = row;
  expect(row).toHaveLength(5);
  expect(meaning).not.toBe("");
  expect(arabic).toMatch(/[\u0600-\u06ff]/);
  expect(kurdish).toMatch(/[\u0600-\u06ff]|^API$/);
  const paths = [...places.matchAll(/`([^`]+)`/g)].map(([, path]) => path);
  expect(paths.length).toBeGreaterThan(0);
  for (const path of paths.filter((path) => !path.includes("<"))) {
    expect(existsSync(path)).toBe(true);
  }
});
