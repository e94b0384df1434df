/** Counts of bins, as the calls are sent. */
import { expect } from "vitest";
import type { Person } from "./api.ts";
import type { Shelf } from "./warehouses.ts";

export const countsPath = "/warehousing/inventory/counts";

/** A line of a count: so many of a shelf's item in its bin. */
export const line = (at: Shelf, counted: number, more: object = {}) => ({
  item_id: at.item,
  bin_id: at.bin,
  counted,
  ...more,
});

export const body = (at: Shelf, ...items: object[]) => ({ warehouse_id: at.warehouse, items });

/** Sends a count that is valid; returns it. */
export async function sendCount(person: Person, at: Shelf, items: object[], more: object = {}) {
  const answer = await person.post(countsPath, { ...body(at, ...items), ...more });
  expect(answer).toSucceed(201);
  return answer.body.count;
}

export const differences = (count: { items: { difference: number }[] }) =>
  count.items.map(({ difference }) => difference);
