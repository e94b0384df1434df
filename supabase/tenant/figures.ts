/** Figures that have to be the same on both sides of a move. */
import type postgres from "postgres";
import type { Step } from "./progress.ts";
import { keptColumns, rowsOf, type Table } from "./tables.ts";

export interface Figures {
  /** How many rows each table has, and a number that another content of them would not have. */
  tables: Record<string, { rows: number; print: string }>;
  /** By kind of account and currency: accounts, their balances, entries and the sum of what was moved. */
  books: Record<string, string>;
  /** By status: rows and units. */
  stock: Record<string, string>;
  /** Differences that the reconciliations of cash and of stock find. */
  differences: { cash: string[]; stock: string[] };
  /** Faults of the books and of the stock themselves; anything here stops a move. */
  faults: string[];
}

/** Reads them in the transaction `tx`, under the settings of a session that both sides have. */
export async function figuresOf(
  tx: postgres.TransactionSql,
  tenant: string,
  tables: Table[],
  step: Step,
): Promise<Figures> {
  const figures: Figures = {
    tables: {},
    books: {},
    stock: {},
    differences: { cash: [], stock: [] },
    faults: [],
  };
  for (const table of tables) {
    // Accounts that were there before may differ; their number may not.
    const print = table.isOfPeople
      ? "'people'"
      : "coalesce(sum(('x' || left(md5(row::text), 15))::bit(60)::bigint), 0)::text";
    const [found] = await step(
      `Comparing ${table.name}`,
      () =>
        tx.unsafe(`select count(*)::int as rows, ${print} as print
      from (${rowsOf(table, keptColumns(table))}) row`),
    );
    figures.tables[table.name] = { rows: found!.rows, print: found!.print };
  }
  figures.books = byKey(
    await step("Adding up the books", () =>
      tx`
    select a.kind || ' ' || a.currency as key,
      format('%s accounts, balance %s, %s entries, moved %s', count(*), sum(a.balance), coalesce(sum(e.entries), 0),
        coalesce(sum(e.moved), 0)) as value
    from money.accounts a
    left join lateral (select count(*) as entries, sum(abs(x.amount)) as moved from money.ledger_entries x
      where x.tenant_id = a.tenant_id and x.account_id = a.id) e on true
    where a.tenant_id = ${tenant} group by 1`),
  );
  figures.stock = byKey(
    await tx`select s.status as key, format('%s rows, %s units', count(*), sum(s.quantity)) as value
    from warehousing.stock s where s.tenant_id = ${tenant} group by 1`,
  );
  figures.differences.cash = lines(
    await step(
      "Reconciling the cash",
      () =>
        tx`select d::text as line from money.cod_differences(${tenant}, 'infinity') d order by 1`,
    ),
  );
  figures.differences.stock = lines(
    await step(
      "Reconciling the stock",
      () =>
        tx`select d::text as line from warehousing.stock_differences(${tenant}, 'infinity') d order by 1`,
    ),
  );
  figures.faults = lines(
    await step(
      "Verifying books and totals",
      () =>
        tx`select d::text as line from money.verify_books() d where d.tenant_id = ${tenant}
      union all select 'tally ' || t::text from private.tallies_verify() t where t.tenant_id = ${tenant}`,
    ),
  );
  return figures;
}

/** Where two sides differ, a line each; none means that they are the same. */
export function differing(before: Figures, after: Figures): string[] {
  const [a, b] = [flat(before), flat(after)];
  return [...new Set([...a.keys(), ...b.keys()])].filter((key) => a.get(key) !== b.get(key))
    .map((key) => `${key}: ${a.get(key) ?? "nothing"} became ${b.get(key) ?? "nothing"}`);
}

function flat(figures: Figures): Map<string, string> {
  const tables = Object.entries(figures.tables).map(([name, { rows, print }]) =>
    [name, `${rows} rows (${print})`] as const
  );
  return new Map([
    ...tables,
    ...Object.entries(figures.books),
    ...Object.entries(figures.stock),
    ["cash differences", figures.differences.cash.join("; ")],
    ["stock differences", figures.differences.stock.join("; ")],
    ["faults", figures.faults.join("; ")],
  ]);
}

function byKey(rows: postgres.RowList<postgres.Row[]>): Record<string, string> {
  return Object.fromEntries(rows.map(({ key, value }) => [key, value]));
}

function lines(rows: postgres.RowList<postgres.Row[]>): string[] {
  return rows.map(({ line }) => line);
}
