import { expect, test } from "vitest";
import { openPlaces } from "../../shared/places.ts";

/** Everybody asks at once; the order in which they are seated, each leaving before the next. */
async function seated(count: number, callers: string): Promise<string> {
  const places = openPlaces(count, 1_000, () => new Error("late"));
  let order = "";
  await Promise.all([...callers].map(async (whose) => {
    const leave = await places.take(whose);
    order += whose;
    await new Promise((resolve) => setTimeout(resolve, 2));
    leave();
  }));
  return order;
}

test("one who floods the queue waits for himself, not the others for him", async () => {
  expect(await seated(1, "AAAAAAB")).toBe("ABAAAAA");
  expect(await seated(1, "AAAABBBC")).toBe("ABCABABA");
  // Of two places A holds both; the first that is free goes to B, who holds none.
  expect(await seated(2, "AAAAAB")).toBe("AABAAA");
  // Of three the first two that are free go to B, who asks for less; A keeps one.
  expect(await seated(3, "AAAAAAAABBBB")).toMatch(/^AAABBA/);
});

test("one alone has all the places, in the order he asked", async () => {
  expect(await seated(3, "AAAAAAA")).toBe("AAAAAAA");
});

test("whoever waits too long is told so, and nobody keeps a place for him", async () => {
  const places = openPlaces(1, 20, () => new Error("late"));
  const leave = await places.take("A");
  await expect(places.take("B")).rejects.toThrow("late");
  leave();
  (await places.take("B"))();
  const again = await places.take("A");
  const next = places.take("B");
  again();
  (await next)();
});
