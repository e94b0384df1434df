/**
 * The tests catch what they are there for: a source with one guard taken away fails the test that is named beside
 * it. In `npm test` only that the list still fits the source; `npm run prove -- mutants` runs it.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { root } from "../../supabase/local/paths.ts";
import { pick, randomFrom } from "../contract/hostile.ts";
import { Copy, type Outcome } from "./mutants/copy.ts";
import { mutants } from "./mutants/list.ts";
import { type Mutant, patternOf } from "./mutants/mutant.ts";
import { figure, of, say, seed, size } from "./proof.ts";

const read = (file: string) => readFileSync(join(root, file), "utf8");
const timesIn = (text: string, part: string) => text.split(part).length - 1;

test("every change of the list can be made at one place, and its test is there", () => {
  expect(mutants.length).toBeGreaterThanOrEqual(40);
  expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length);
  const stale = mutants.flatMap(({ name, file, from, to, test: [testFile, title] }) => [
    ...(timesIn(read(file), from) === 1 && from !== to ? [] : [`${name}: ${file}`]),
    ...(read(testFile).includes(title) ? [] : [`${name}: no "${title}" in ${testFile}`]),
  ]);
  expect(stale).toEqual([]);
});

describe.runIf(size === "short" || size === "full")("one guard less", () => {
  const random = randomFrom(seed);
  const chosen = of({ test: [], short: some(4), full: mutants });

  function some(count: number): Mutant[] {
    const left = [...mutants];
    return Array.from({ length: count }, () => {
      const one = pick(random, left);
      left.splice(left.indexOf(one), 1);
      return one;
    });
  }
  const tried = (outcome: Outcome, { test: [, name] }: Mutant) =>
    outcome?.filter((one) => new RegExp(patternOf(name)).test(one.name)) ?? [];

  test("without a change these tests pass, with it they fail", async () => {
    const lanes = Array.from({ length: 2 }, () => new Copy());
    const began = performance.now();
    try {
      const unsound: string[] = [];
      const files = [...new Set(chosen.map(({ test: [file] }) => file))];
      await Promise.all(lanes.map(async (copy) => {
        for (let file = files.shift(); file; file = files.shift()) {
          const own = chosen.filter(({ test }) => test[0] === file);
          const outcome = await copy.run(file, own.map(({ test: [, name] }) => name));
          unsound.push(
            ...own.filter((mutant) => {
              const these = tried(outcome, mutant);
              return these.length === 0 || these.some(({ passed }) => !passed);
            }).map(({ test }) => test.join(" ")),
          );
        }
      }));
      expect(unsound).toEqual([]);
      say(`${chosen.length} tests pass on the source as it is`);

      const survivors: string[] = [];
      const queue = [...chosen];
      const lane = async (copy: Copy) => {
        for (let mutant = queue.shift(); mutant; mutant = queue.shift()) {
          const own = tried(await copy.runWith(mutant), mutant);
          // Nothing run is no catch: the change may not even load.
          const verdict = own.length === 0
            ? "BROKEN"
            : own.every(({ passed }) => passed)
            ? "SURVIVES"
            : "caught";
          say(`${verdict.padEnd(9)}${mutant.name}`);
          if (verdict !== "caught") survivors.push(`${verdict} ${mutant.name}`);
        }
      };
      await Promise.all(lanes.map(lane));
      figure({
        what: "seeded faults caught by the test that is named for each",
        asked: `${chosen.length} of ${chosen.length}`,
        reached: `${chosen.length - survivors.length} of ${chosen.length}`,
        holds: survivors.length === 0,
      });
      figure({
        what: "minutes for these",
        asked: "at most 20",
        reached: ((performance.now() - began) / 60_000).toFixed(1),
        holds: performance.now() - began < 20 * 60_000,
      });
      expect(survivors).toEqual([]);
    } finally {
      for (const copy of lanes) copy.remove();
    }
  }, 45 * 60_000);
});
