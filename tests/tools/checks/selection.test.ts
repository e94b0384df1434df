/** The selection of `npm test -- <feature>` and `--changed`, and that neither leaves a test out. */
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { filesIn, textOf } from "./files.ts";
import { testsNamed, testsTouched } from "./selection.ts";
import { briefInTest, onlyInFull, onlyOnDebian } from "./suites.ts";

test("a feature's tests are those of its folder, however it is named", () => {
  const files = testsNamed("delivery/cod");
  expect(files).toContain("tests/delivery/cod/remit.test.ts");
  expect(files.every((file) => file.startsWith("tests/delivery/cod/"))).toBe(true);
  expect(testsNamed("sql/delivery/cod/")).toEqual(files);
});

test("features of the same name in another function are not run with it", () => {
  const files = testsNamed("system/events");
  expect(files.length).toBeGreaterThan(0);
  expect(files.filter((file) => file.startsWith("tests/webhooks/"))).toEqual([]);
});

test("a file, a function and a folder have names; what does not exist has no tests", () => {
  expect(testsNamed("tests/sql/rules.test.ts")).toEqual(["tests/sql/rules.test.ts"]);
  expect(testsNamed("payment").length).toBeGreaterThan(3);
  expect(testsNamed("delivery/nothing")).toEqual([]);
});

test("a change of a feature touches its tests and those that read every call", () => {
  for (const file of ["functions/delivery/cod/routes.ts", "sql/delivery/cod/remit.sql"]) {
    const touched = testsTouched([file], [])!;
    expect(touched).toContain("tests/delivery/cod/remit.test.ts");
    expect(touched).toContain("tests/contract/access.test.ts");
    expect(touched).toContain("tests/sql/rules.test.ts");
    expect(touched.some((one) => one.startsWith("tests/storefront/"))).toBe(false);
  }
});

test("a change of words touches the function they are of", () => {
  const touched = testsTouched(["shared/i18n/payment.ku.json"], [])!;
  expect(touched).toContain("tests/contract/messages.test.ts");
  expect(touched).toContain("tests/payment/settings/settings.test.ts");
});

test("a change of a test touches itself, of its helper those that import it, of papers none", () => {
  expect(testsTouched(["tests/sql/rules.test.ts"], [])).toEqual(["tests/sql/rules.test.ts"]);
  const related = ["tests/delivery/zones/zones.test.ts", "tests/e2e/demo.test.ts"];
  expect(testsTouched(["tests/support/zones.ts"], related)).toEqual([related[0]]);
  expect(testsTouched(["README.md", "docs/operations.md"], [])).toEqual([]);
});

test("what everything stands on touches everything", () => {
  for (
    const file of [
      "package.json",
      "shared/db/db.ts",
      "sql/base/engine/call.sql",
      "supabase/local/stack.ts",
      "vitest.config.ts",
    ]
  ) {
    expect([file, testsTouched([file], [])]).toEqual([file, undefined]);
  }
});

test("whatever has a brief form is run whole by test:full", () => {
  const whole = Object.keys(briefInTest);
  const brief = filesIn("tests").filter((file) =>
    /\.ts$/.test(file) && file !== "tests/prove/proof.ts" &&
    /\btries\(|\bsize [!=]== "brief"|\bbrief: /.test(textOf(file))
  );
  expect(brief.length).toBeGreaterThanOrEqual(whole.length);
  expect(brief.filter((file) => !whole.some((path) => file.startsWith(path)))).toEqual([]);
});

test("CI runs both commands, and what the lists name exists", () => {
  const listed = [...Object.keys(onlyInFull), ...Object.keys(briefInTest), onlyOnDebian];
  expect(listed.filter((path) => !existsSync(path))).toEqual([]);
  const ci = textOf(".ci/run");
  for (const command of ["test", "test:full", "test:debian"]) {
    expect(ci).toContain(`part "npm ${command === "test" ? "" : "run "}${command}"`);
  }
});
