/** The pages of docs/, and of the API document, that are read from the database say what is there. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { sql } from "../support/db.ts";
import { pagesOf } from "../tools/pages/index.ts";

const pages = await pagesOf(sql);

test.each(Object.keys(pages))("%s is up to date (npm run docs writes it)", (path) => {
  expect(readFileSync(path, "utf8")).toBe(pages[path]);
});

test("no page of an area remains that has no tables any more", () => {
  const found = readdirSync("docs").filter((file) =>
    /^(schema-.*|states|triggers)\.md$/.test(file)
  );
  expect(found.map((file) => `docs/${file}`).sort())
    .toEqual(Object.keys(pages).filter((path) => path.startsWith("docs/")).sort());
});
