import { expect, test } from "vitest";
import { createSemaphore } from "../../shared/db/semaphore.ts";

/** Everybody asks at once; the order in which they are seated, each leaving before the next. */
async function seated(count: number, callers: string): Promise<string> {
  const places = createSemaphore(count, 1_000, () => new Error("late"));
  let order = "";
  await Promise.all([...callers].map(async (whose) => {
    const leave = await places.acquire(whose);
    order += whose;
    await new Promise((resolve) => setTimeout(resolve, 2));
    leave();
  }));
  return order;
}

test("a caller who floods the queue waits in their own turn, and nobody waits for them", async () => {
  expect(await seated(1, "AAAAAAB")).toBe("ABAAAAA");
  expect(await seated(1, "AAAABBBC")).toBe("ABCABABA");
  // Of two places A holds both; the first that is free goes to B, who holds none.
  expect(await seated(2, "AAAAAB")).toBe("AABAAA");
  // Of three the first two that are free go to B, who asks for less; A keeps one.
  expect(await seated(3, "AAAAAAAABB")).toMatch(/^AAABBA/);
});

test("a crowd has a quarter of the places as long as others come, and all of them afterwards", async () => {
  let time = 0;
  const places = createSemaphore(8, 10_000, () => new Error("late"), () => time);
  const held: (() => void)[] = [];
  let seats = 0;
  const crowd = Array.from({ length: 40 }, () =>
    places.acquire("A").then((leave) => {
      seats++;
      held.push(leave);
    }));
  const settled = () => new Promise((resolve) => setTimeout(resolve));
  await settled();
  expect(seats).toBe(8);
  const other = places.acquire("B");
  held.shift()!();
  (await other)();
  // They all leave: only two of the crowd sit, and the others' places stay free for whoever comes.
  for (let n = 0; n < 7; n++) held.shift()!();
  await settled();
  expect(held).toHaveLength(2);
  for (let n = 0; n < 6; n++) (await places.acquire("B"))();
  time += 1_001;
  held.shift()!();
  await settled();
  expect(held).toHaveLength(8);
  while (held.length) {
    held.shift()!();
    await settled();
  }
  await Promise.all(crowd);
});

test("the process's own work has its turn, and is no company that a crowd leaves places for", async () => {
  const places = createSemaphore(8, 10_000, () => new Error("late"));
  const held: (() => void)[] = [];
  const crowd = Array.from(
    { length: 40 },
    () => places.acquire("A").then((leave) => held.push(leave)),
  );
  const settled = () => new Promise((resolve) => setTimeout(resolve));
  await settled();
  const own = places.acquire(undefined);
  held.shift()!();
  const leave = await own;
  expect(held).toHaveLength(7);
  held.shift()!();
  await settled();
  expect(held).toHaveLength(7);
  leave();
  while (held.length) {
    held.shift()!();
    await settled();
  }
  await Promise.all(crowd);
});

test("a single caller has all the places, in the order of the requests", async () => {
  expect(await seated(3, "AAAAAAA")).toBe("AAAAAAA");
});

test("a caller that waits too long gets an error, and no place stays reserved", async () => {
  const places = createSemaphore(1, 20, () => new Error("late"));
  const leave = await places.acquire("A");
  await expect(places.acquire("B")).rejects.toThrow("late");
  leave();
  (await places.acquire("B"))();
  const again = await places.acquire("A");
  const next = places.acquire("B");
  again();
  (await next)();
});
