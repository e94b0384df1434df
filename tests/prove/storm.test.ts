/**
 * One Idempotency-Key and many requests at the same moment: one effect, one answer for all of them, byte for byte. In a company that
 * releases COD when it is remitted, and in one that does when it is banked.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sql } from "../support/db.ts";
import { saveSettings } from "../support/people.ts";
import { tally } from "../support/races.ts";
import { atOnce, type Attempt, Caller } from "./caller.ts";
import { allBreaches } from "./invariants.ts";
import { figure, of, say } from "./proof.ts";
import { stormCalls } from "./storm-calls.ts";
import { startWorld, type World } from "./world.ts";

const kinds = 9;
/** Each kind of call in each of the two companies, so often; in brief in one of them. */
const keys = kinds * of({ brief: 1, test: 2, short: 4, full: 12 });
const requests = of({ brief: 10, test: 50, short: 200, full: 200 });

let world: World;
beforeAll(async () => {
  world = await startWorld({ tenants: 2, customers: 1 });
  for (const [n, release] of ["on_remit", "on_bank"].entries()) {
    await saveSettings(world.places[n]!.id, "delivery.payouts", { release });
  }
}, 120_000);
afterAll(() => world?.stop());

test(
  `${keys} keys, ${requests} requests each at once; then the same keys with other input`,
  async () => {
    const caller = new Caller(world.ports, false);
    const calls = Object.entries(stormCalls(world));
    const count = { effects: 0, equal: 0, unavailable: 0, conflicts: 0 };
    for (let n = 0; n < keys; n++) {
      const [name, prepare] = calls[n % calls.length]!;
      const round = Math.floor(n / calls.length);
      // There are nine kinds, so each comes to the other company in the next round.
      const call = await prepare(world.places[n % 2]!, n + round);
      const asked = { ...call.asked, key: randomUUID() };
      const attempts = await atOnce(requests, () => caller.once(asked));
      const done = attempts.filter(({ status }) => status === call.status);
      count.unavailable += attempts.filter(({ status }) => status === 503).length;
      // A client that is asked to come back does so; whatever happened before, it is the same answer.
      const late = await Promise.all(
        attempts.filter(({ status }) => status === 503).map(() => caller.surely(asked)),
      );
      const all: Attempt[] = [...done, ...late];
      expect(tally(all), name).toEqual({ [call.status]: requests });
      expect(new Set(all.map(({ text }) => text)).size, name).toBe(1);
      count.equal += all.length;
      const probe = await caller.surely({ ...asked, body: call.other.body });
      expect(tally([probe]), name).toEqual({ [`409 ${call.other.code}`]: 1 });
      count.conflicts++;
      const effects = await call.effects();
      expect(effects, name).toBe(1);
      count.effects += effects;
      say(`key ${n + 1} of ${keys}: ${name}: ${requests} equal answers`);
    }
    expect(calls).toHaveLength(kinds);
    const breaches = await allBreaches(sql);
    const bound = (what: string, reached: number, asked: number) =>
      figure({ what, asked: String(asked), reached, holds: reached === asked });
    bound("effects of as many keys", count.effects, keys);
    bound("answers equal byte for byte", count.equal, keys * requests);
    bound("409 for the same key with changed input", count.conflicts, keys);
    bound("invariants broken", breaches.length, 0);
    figure({
      what: "answers 503, repeated",
      asked: "any",
      reached: count.unavailable,
      holds: true,
    });
    expect(breaches).toEqual([]);
  },
  of({ test: 90_000, short: 240_000, full: 900_000 }),
);
