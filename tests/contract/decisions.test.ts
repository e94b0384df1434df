/** The records of decisions: numbered without a gap, of one form, each in the index once. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const folder = "docs/decisions";
const files = readdirSync(folder).filter((file) => file !== "README.md").sort();
const index = readFileSync(`${folder}/README.md`, "utf8");
const themes = [...index.matchAll(/^## (.+)$/gm)].map(([, theme]) => theme);

test("numbers follow each other without a gap", () => {
  expect(files.map((file) => file.slice(0, 4))).toEqual(
    files.map((_, position) => String(position + 1).padStart(4, "0")),
  );
});

test.each(files)("%s has date, theme, state and its four parts", (file) => {
  const text = readFileSync(`${folder}/${file}`, "utf8");
  const number = file.slice(0, 4);
  expect(text).toMatch(new RegExp(`^# ${number}\\. \\S.*\n\n- Date: \\d{4}-\\d{2}-\\d{2}\n`));
  expect(themes).toContain(/^- Theme: (.+)$/m.exec(text)?.[1]);
  expect(text).toMatch(/^- Status: (accepted|superseded)$/m);
  const successor = /^- Superseded by: (.+)$/m.exec(text)?.[1];
  expect(successor).toMatch(/^(none|\d{4})$/);
  expect(text.includes("- Status: superseded")).toBe(successor !== "none");
  if (successor !== "none") {
    expect(files.some((other) => other.startsWith(`${successor}-`))).toBe(true);
  }
  const parts = text.split(/^## /m).slice(1);
  expect(parts.map((part) => part.split("\n")[0])).toEqual([
    "Context",
    "Decision",
    "Consequences",
    "Refused",
  ]);
  for (const part of parts) expect(part.split("\n").slice(1).join("").trim()).not.toBe("");
});

test("the index lists each record once, under its theme, with its title and date", () => {
  const listed = index.split(/^## /m).slice(1).flatMap((section) => {
    const theme = section.split("\n")[0];
    return [...section.matchAll(/^- \[(\d{4})\]\(([^)]+)\) (.+) \((\S+)\)$/gm)]
      .map(([, number, file, title, date]) => ({ number, file, title, date, theme }));
  });
  const written = files.map((file) => {
    const text = readFileSync(`${folder}/${file}`, "utf8");
    return {
      number: file.slice(0, 4),
      file,
      title: /^# \d{4}\. (.+)$/m.exec(text)?.[1],
      date: /^- Date: (.+)$/m.exec(text)?.[1],
      theme: /^- Theme: (.+)$/m.exec(text)?.[1],
    };
  });
  const byNumber = (one: { number: string }, other: { number: string }) =>
    one.number < other.number ? -1 : 1;
  expect(listed.sort(byNumber)).toEqual(written);
});
