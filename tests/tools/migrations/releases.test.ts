/** Released migrations stay as they were applied. */
import { expect, test } from "vitest";
import { changedReleases, compareVersions, type Release } from "./releases.ts";

const release: Release = {
  version: "1.0.0",
  date: "2026-11-24",
  commit: "0".repeat(40),
  schema: "00000000000001",
  migrations: { "00000000000001_baseline.sql": "a", "20260101000000_more.sql": "b" },
};
const has = (files: Record<string, string>) =>
  changedReleases([release], Object.keys(files), (file) => files[file]!);

test("the migrations of this repository are those that were released", () => {
  expect(changedReleases()).toEqual([]);
});

test("a released migration that changed, is gone or got a predecessor is named", () => {
  expect(has({ ...release.migrations, "20270101000000_next.sql": "c" })).toEqual([]);
  expect(has({ ...release.migrations, "00000000000001_baseline.sql": "x" })).toEqual([
    expect.stringContaining("00000000000001_baseline.sql belongs to 1.0.0 and has changed"),
  ]);
  expect(has({ "00000000000001_baseline.sql": "a" })).toEqual([
    "20260101000000_more.sql belongs to 1.0.0 and is gone",
  ]);
  expect(has({ ...release.migrations, "20250101000000_late.sql": "c" })).toEqual([
    expect.stringContaining("20250101000000_late.sql would apply before 20260101000000_more.sql"),
  ]);
});

test("versions are compared by number, not by letter", () => {
  expect(["1.10.0", "1.9.0", "2.0.0", "1.9.1"].sort(compareVersions)).toEqual([
    "1.9.0",
    "1.9.1",
    "1.10.0",
    "2.0.0",
  ]);
});
