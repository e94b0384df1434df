/** One Idempotency-Key and many requests at the same moment: one settlement, one answer for all of them, byte for byte. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newCash } from "../support/cod.ts";
import { sql } from "../support/db.ts";
import { atOnce, type Attempt, Caller, tally } from "./caller.ts";
import { allBreaches } from "./invariants.ts";
import { figure, of, say } from "./proof.ts";
import { startWorld, type World } from "./world.ts";

const keys = of({ test: 6, short: 20, full: 100 });
const requests = of({ test: 50, short: 200, full: 200 });

let world: World;
beforeAll(async () => void (world = await startWorld()), 120_000);
afterAll(() => world?.stop());

test(
  `${keys} keys, ${requests} requests each at once; then the same keys with other input`,
  async () => {
    const [{ id, tenant, drivers, dispatcher }] = world.places;
    const caller = new Caller(world.ports, false);
    const count = { equal: 0, unavailable: 0, conflicts: 0 };
    for (let n = 0; n < keys; n++) {
      const driver = drivers[n % drivers.length];
      const rows = [
        await newCash(tenant, { driver: driver.id }),
        await newCash(tenant, { driver: driver.id, cod: 0 }),
      ];
      const path = `/delivery/cod-collections/${n % 2 ? "remit" : "settle-by-wallet"}`;
      const body = { scope: "selected", cod_collection_ids: rows.map((row) => row.id) };
      const asked = { token: n % 3 ? dispatcher.token : driver.token, path, key: randomUUID() };
      const attempts = await atOnce(requests, () => caller.once({ ...asked, body }));
      const done = attempts.filter(({ status }) => status === 200);
      count.unavailable += attempts.filter(({ status }) => status === 503).length;
      // Told to come back, he comes back; whatever happened before, it is the same answer.
      const late = await Promise.all(
        attempts.filter(({ status }) => status === 503).map(() =>
          caller.surely({ ...asked, body })
        ),
      );
      const all: Attempt[] = [...done, ...late];
      expect(tally(all)).toEqual({ "200": requests });
      expect(new Set(all.map(({ text }) => text)).size).toBe(1);
      count.equal += all.length;
      const other = { scope: "selected", cod_collection_ids: [rows[0].id] };
      const probe = await caller.surely({ ...asked, body: other });
      expect(tally([probe])).toEqual({ "409 settlement_idempotency_conflict": 1 });
      count.conflicts++;
      say(`key ${n + 1} of ${keys}: ${requests} equal answers`);
    }
    const [{ n }] =
      await sql`select count(*)::int as n from money.cod_settlements where tenant_id = ${id}`;
    const breaches = await allBreaches(sql);
    const bound = (what: string, reached: number, asked: number) =>
      figure({ what, asked: String(asked), reached, holds: reached === asked });
    bound("settlements of as many keys", n, keys);
    bound("answers equal byte for byte", count.equal, keys * requests);
    bound("409 settlement_idempotency_conflict for changed input", count.conflicts, keys);
    bound("invariants broken", breaches.length, 0);
    figure({
      what: "answers 503, repeated",
      asked: "any",
      reached: count.unavailable,
      holds: true,
    });
    expect(n).toBe(keys);
    expect(breaches).toEqual([]);
  },
  of({ test: 90_000, short: 240_000, full: 900_000 }),
);
