/** The examples of the API reference are what a running system answers today: each call is made again, on a stack of its own. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type Example,
  type Examples,
  folder,
  readExamples,
} from "../../supabase/local/docs/examples.ts";
import { slugs } from "../../supabase/local/paths.ts";
import { moveToOwnStack } from "../support/move-to-own-stack.ts";
import { clients, record } from "./examples/record.ts";
import { differencesOf } from "./examples/shape.ts";

let now: Examples;
let kept: Examples;
let leave = () => Promise.resolve();
beforeAll(async () => {
  ({ leave } = await moveToOwnStack());
  now = await record();
  if (process.env.UPDATE) write(now, readExamples());
  kept = readExamples();
}, 300_000);
afterAll(() => leave());

/** Writes what has another shape than what is kept; the rest stays as it is. */
function write({ calls, refusals }: Examples, before: Examples): void {
  mkdirSync(folder, { recursive: true });
  const chosen = (name: string) => {
    const is = before.calls[name];
    return is && changesOf(is, calls[name]!).length === 0 ? is : calls[name];
  };
  for (const slug of slugs) {
    const names = Object.keys(calls).filter((name) => name.split("/")[1] === slug).sort();
    writeFile(`${slug}.json`, Object.fromEntries(names.map((name) => [name, chosen(name)])));
  }
  const merged = Object.entries(refusals).map(([code, refusal]) => {
    const is = before.refusals[code];
    return [code, is && differencesOf(is, refusal).length === 0 ? is : refusal];
  });
  writeFile("refusals.json", Object.fromEntries(merged));
}

const writeFile = (name: string, examples: object) =>
  writeFileSync(join(folder, name), `${JSON.stringify(examples, null, 2)}\n`);

const changesOf = (one: Example, other: Example) => differencesOf(one, other);

test("what is called today has the shape of its example (UPDATE=1 writes those anew that have not)", () => {
  const changed = clients.flatMap(({ name }) =>
    changesOf(kept.calls[name]!, now.calls[name]!).map((what) => `${name} ${what}`)
  );
  expect(changed).toEqual([]);
});

test("the refusals that are met have the shape of their examples", () => {
  expect(Object.keys(now.refusals)).toEqual(Object.keys(kept.refusals));
  expect(Object.keys(kept.refusals).length).toBeGreaterThan(60);
  const changed = Object.entries(kept.refusals).flatMap(([code, refusal]) =>
    differencesOf(refusal, now.refusals[code]).map((what) => `${code} ${what}`)
  );
  expect(changed).toEqual([]);
});
