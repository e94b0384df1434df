/** The reconciliation of many rows of cash before the tables have statistics: what is worked out of one is not searched for the others. */
import { expect, test } from "vitest";
import { newCash, remit } from "../../support/cod.ts";
import { newBanker, sound } from "../../support/cod-holds.ts";
import { sql } from "../../support/db.ts";
import { rowsLookedAt } from "../../support/plans.ts";

const rows = 400;

test("cash on desks is reconciled by reading each row a few times", async () => {
  const { tenant } = await newBanker();
  const cash: string[] = [];
  for (let row = 0; row < rows; row += 10) {
    const made = Array.from({ length: 10 }, () => newCash(tenant, { release: "on_bank" }));
    cash.push(...(await Promise.all(made)).map(({ id }) => id));
  }
  const body = { scope: "selected", cod_collection_ids: cash.slice(0, rows / 2) };
  expect(await tenant.dispatcher.post(remit, body)).toSucceed(200);
  const [{ at_desks }] = await sql`select count(*) filter (where at_desk)::integer as at_desks
    from money.cod_holds_of(${tenant.id}, now())`;
  expect(at_desks).toBe(rows / 2);
  const found = "select money.cod_hold_differences($1::uuid, now())";
  expect(await rowsLookedAt(found, [tenant.id])).toBeLessThan(60 * rows);
  await sound(tenant);
});
