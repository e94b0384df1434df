/** A settlement of many rows whose COD waits for the bank, before the tables have statistics: each part is looked at a few times. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import type { Person } from "../../support/api.ts";
import { newCash } from "../../support/cod.ts";
import { newBanker, sound } from "../../support/cod-holds.ts";
import { sql } from "../../support/db.ts";
import type { Tenant } from "../../support/people.ts";

const rows = 250;

/** A core as a person calls it: its answer, and how many parts of desks and their moves it read. */
async function called(tenant: Tenant, person: Person, core: string, input: object) {
  const claims = {
    sub: person.id,
    tenant_id: tenant.id,
    tenant_mode: "required",
    request_id: "r",
    operation: "o",
    idempotency_key: randomUUID(),
  };
  return await sql.begin(async (tx) => {
    const [{ answer }] = await tx`select private.call(${sql.json(claims)},
      '{"access": ["role:dispatcher", "role:tenant_admin"]}', ${core}, ${
      sql.json(input as never)
    }) as answer`;
    const [{ parts }] = await tx`select sum(pg_stat_get_xact_tuples_returned(i.indexrelid)) as parts
      from pg_index i where i.indrelid in ('money.desk_parts'::regclass, 'money.desk_part_moves'::regclass)`;
    return { data: answer.data, parts: Number(parts) };
  }) as { data: Record<string, unknown>; parts: number };
}

test("settling, banking and reversing look at the parts of each row, not at all that it brought", async () => {
  const { tenant } = await newBanker();
  const { dispatcher, admin } = tenant;
  for (let row = 0; row < rows; row += 10) {
    await Promise.all(Array.from({ length: 10 }, () => newCash(tenant, { release: "on_bank" })));
  }
  const all = { scope: "all", driver_id: tenant.driver.id };
  const remitted = await called(tenant, dispatcher, "money.cod_remit", all);
  expect(remitted.data.remitted_count).toBe(rows);
  const { settlement_payment_id } = remitted.data;
  const input = { settlement_payment_id, reason: "Typed twice" };
  const reversed = await called(tenant, admin, "money.cod_settlement_reverse", input);
  expect(reversed.data.items).toHaveLength(rows);
  await called(tenant, dispatcher, "money.cod_remit", all);
  const deposit = { kind: "bank_deposit", amount: 1_250 * rows };
  const banked = await called(tenant, dispatcher, "money.cash_transfer", deposit);
  await sound(tenant);
  const read = [remitted, reversed, banked].map(({ parts }) => parts);
  expect(read.filter((parts) => parts > 60 * rows)).toEqual([]);
});
