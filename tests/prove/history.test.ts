import { expect, test } from "vitest";
import { check, type Transaction } from "./history.ts";

const append = (element: string, from: number, to: number, ...lists: string[]): Transaction => ({
  from,
  to,
  appends: { element, lists },
});
const read = (list: string, elements: string[], from: number, to: number): Transaction => ({
  from,
  to,
  read: { list, elements, skipped: 0 },
});
const none = { lost: [], doubled: [], impossible: [], cycles: [] };

test("what was done one after the other is in order", () => {
  const history = [
    append("1", 0, 1, "x", "y"),
    read("x", ["1"], 2, 3),
    append("2", 2, 4, "x"),
    read("x", ["1", "2"], 5, 6),
    read("y", ["1"], 5, 6),
  ];
  expect(check(history, new Map([["x", ["1", "2"]], ["y", ["1"]]]))).toEqual(none);
});

test("an acknowledged write that is gone is lost", () => {
  expect(check([append("1", 0, 1, "x")], new Map([["x", []]])).lost).toEqual(["1 in x"]);
});

test("a read that missed what was answered before it began is a circle", () => {
  const history = [append("1", 0, 1, "x"), read("x", [], 2, 3)];
  expect(check(history, new Map([["x", ["1"]]])).cycles).toEqual([[1, 0]]);
});

test("a read that saw half of a transaction is a circle", () => {
  const history = [append("1", 0, 9, "x", "y"), read("x", ["1"], 1, 2), read("y", [], 3, 4)];
  expect(check(history, new Map([["x", ["1"]], ["y", ["1"]]])).cycles).toHaveLength(1);
});

test("a read that saw a later write without an earlier one is impossible, and a circle", () => {
  const history = [append("1", 0, 9, "x"), append("2", 0, 9, "x"), read("x", ["2"], 1, 2)];
  const found = check(history, new Map([["x", ["1", "2"]]]));
  expect(found.impossible).toHaveLength(1);
  expect(found.cycles).toHaveLength(1);
});

test("two lists in opposite order are a circle", () => {
  const history = [append("1", 0, 9, "x", "y"), append("2", 0, 9, "x", "y")];
  expect(check(history, new Map([["x", ["1", "2"]], ["y", ["2", "1"]]])).cycles).toHaveLength(1);
});
