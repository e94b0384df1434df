/** The numbers of transactions in rows that come from another database. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newMigratedDatabase, type OwnDatabase } from "../support/database.ts";

let database: OwnDatabase;
beforeAll(async () => {
  database = await newMigratedDatabase();
});
afterAll(() => database.close());

test("private.restore_end leaves no number of a transaction that is still to come, and none where none was", async () => {
  const tenant = randomUUID();
  const found = await database.sql.begin(async (tx) => {
    // As a dump is loaded: neither triggers nor foreign keys look at what comes.
    await tx`set local session_replication_role = replica`;
    for (const undone of [[new Date(), "Wrong door", "9000000000"], [null, null, null]]) {
      await tx`insert into delivery.outcomes (tenant_id, delivery_id, result, from_status, before, last_move_id, undone_at, undo_reason, undone_in)
        values (${tenant}, ${randomUUID()}, 'failed', 'in_transit', '{}', 1, ${undone[0]}, ${
        undone[1]
      }, ${undone[2]})`;
    }
    await tx`insert into money.ledger_transactions (tenant_id, kind, reference_type, reference_id, booked_in)
      values (${tenant}, 'topup', 'payment', ${randomUUID()}, '9000000001')`;
    await tx`select private.restore_end()`;
    return await tx`select undone_in::text as number from delivery.outcomes where tenant_id = ${tenant}
      union all select booked_in::text from money.ledger_transactions where tenant_id = ${tenant} order by 1`;
  });
  expect(found.map(({ number }) => number)).toEqual(["1", "1", null]);
  // Cursors of the other database are refused, also when the numbers here have come so far.
  await expect(database.sql`select private.cursor_number(2)`).rejects.toThrow("invalid_cursor");
});
