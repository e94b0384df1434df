/** Changed rows as subscribers get them. */
import type postgres from "postgres";
import { asCaller, type Caller } from "../callers.ts";
import { errorCode } from "../failure.ts";
import type { Change } from "./pgoutput.ts";

/** The row as it is now, if the subscriber's own policies and grants let it be seen. */
export async function visibleRow(sql: postgres.Sql, caller: Caller, change: Change) {
  const keyColumns = change.columns.filter(({ isKey, name }) =>
    isKey && typeof change.row[name] === "string"
  );
  if (keyColumns.length === 0) return undefined;
  try {
    const [found] = await asCaller(sql, caller, async (transaction) => {
      const conditions = keyColumns
        .map(({ name }) => transaction`and ${transaction(name)}::text = ${change.row[name]!}`);
      return await transaction<{ row: Record<string, unknown> }[]>`
        select to_jsonb(t) as row from ${transaction(change.schema)}.${transaction(change.table)} t
        where true ${conditions}`;
    });
    return found?.row;
  } catch (error) {
    // Not allowed to read the table at all: the change is simply not this subscriber's.
    if (errorCode(error) === "42501") return undefined;
    throw error;
  }
}

/** A change as clients get it. */
export function changeData(change: Change, record: Record<string, unknown>) {
  const keys = change.columns.filter(({ isKey }) => isKey).map((
    { name },
  ) => [name, change.row[name]]);
  return {
    schema: change.schema,
    table: change.table,
    type: change.type,
    commit_timestamp: new Date().toISOString(),
    columns: [],
    errors: null,
    ...(change.type === "DELETE" ? {} : { record }),
    ...(change.type === "INSERT" ? {} : { old_record: Object.fromEntries(keys) }),
  };
}
