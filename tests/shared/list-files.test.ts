/** A file of a list continues behind the last row of a step, also of a list that hides its id, and where a client leaves it out. */
import { expect, test } from "vitest";
import { listStep } from "../../shared/api/cursor.ts";
import { defineList, equal } from "../../shared/api/list.ts";
import type { Database } from "../../shared/db/db.ts";

const list = defineList({
  view: "money.cod_settlements_list",
  sort: ["settled_at"],
  columns: { currency: equal("currency") },
  hidden: ["id"],
  readBy: "settled_at",
  limit: { default: 20, max: 100 },
});
const last = { at: "2026-01-02T03:04:05.678901+00:00", id: "4652d5ab-1184-444e-8397-4d45aec958db" };

test.each([undefined, ["total"]])("with the fields %o", async (fields) => {
  const sent: { statement: string; after?: unknown }[] = [];
  const read = (statement: string, { after }: { after?: unknown }) => {
    sent.push({ statement, after });
    const row = { id: last.id, total: 1, keyset_position: last.at, keyset_id: last.id };
    return Promise.resolve({ rows: [{ ...row }, { ...row }], total: 2 });
  };
  const db = { read } as unknown as Database;
  const query = {
    page: 1,
    limit: 20,
    filters: {},
    column_filters: {},
    fields,
    keyset: { by: "created", file: true, size: 2, after: null },
  };
  const page = await list.run(db, query as never);
  expect(sent[0].statement).toMatch(/'keyset_position', .*, 'keyset_id', r\.id\)/);
  expect(page.rows).toEqual([{ total: 1 }, { total: 1 }]);
  expect(page[listStep as never]).toMatchObject({ position: last, more: true });
});
