/**
 * The nightly checks of all tenants, asked about one: books, stock, cash and kept totals. PostgreSQL plans everything inside
 * the database's own functions anew at each call, and some of them read the rows of everybody. A connection has copies of
 * them here that are planned once and read the rows of one tenant; tests/sql/reconciled.test.ts compares the two.
 */
import type postgres from "postgres";
import { openBreaches } from "../prove/invariants.ts";
import { openReader, stack } from "./db.ts";

type Rows = postgres.RowList<postgres.Row[]>;
type Tenant = { id: string };

/** The differences in what is the tenant's, named as the function of the database names them; empty when all is right. */
export const booksOf = (tenant: Tenant): Promise<Rows> =>
  ask("select * from pg_temp.money_verify_books($1::uuid)", [tenant.id]);
export const stockOf = (tenant: Tenant): Promise<Rows> =>
  ask("select * from pg_temp.warehousing_stock_differences($1::uuid, 'infinity')", [tenant.id]);
/** `soon`: as of so much later than now, where what is due later does not count yet. */
export const cashOf = (tenant: Tenant, soon?: string): Promise<Rows> =>
  soon
    ? ask("select * from pg_temp.money_cod_differences($1::uuid, now() + $2::interval)", [
      tenant.id,
      soon,
    ])
    : ask("select * from pg_temp.money_cod_differences($1::uuid, 'infinity')", [tenant.id]);
export const totalsOf = (tenant: Tenant): Promise<Rows> =>
  ask("select * from pg_temp.private_tallies_verify($1::uuid)", [tenant.id]);

/** The breaches of the invariants of the tenant (tests/prove/invariants.ts), by name; empty when all hold. */
export async function breachesIn(tenant: Tenant): Promise<string[]> {
  return (await reader()).breachesOf(tenant.id);
}

/** One connection: copies that are made on it are seen on no other. */
type Session = postgres.Sql | postgres.TransactionSql;

interface Reader {
  sql: postgres.Sql;
  breachesOf(tenant: string): Promise<string[]>;
}

/** By address: a test may move to a stack of its own, whose connection ends with it. */
const readers = new Map<string, Promise<Reader>>();

function reader(): Promise<Reader> {
  const { dbUrl } = stack;
  const open = async (): Promise<Reader> => {
    // The copies end with their session: the next question opens another.
    const sql = openReader({ onclose: () => void readers.delete(dbUrl) });
    await copyChecks(sql);
    return { sql, breachesOf: await openBreaches(sql) };
  };
  let opened = readers.get(dbUrl);
  if (!opened) {
    readers.set(dbUrl, opened = open());
    opened.catch(() => readers.delete(dbUrl));
  }
  return opened;
}

async function ask(statement: string, values: string[]): Promise<Rows> {
  return (await reader()).sql.unsafe(statement, values, { prepare: true });
}

/** A function whose rows one statement says. */
interface SetFunction {
  /** With its schema. */
  name: string;
  args: string;
  result: string;
  body: string;
}

/** The name of the copy of a function. */
const copyOf = (name: string): string => `pg_temp.${name.replace(".", "_")}`;

/** Makes the copies, for this connection alone. */
export async function copyChecks(reader: Session): Promise<void> {
  const all = await reader<SetFunction[]>`
    select n.nspname || '.' || p.proname as name, p.prosrc as body, pg_get_function_arguments(p.oid) as args,
      pg_get_function_result(p.oid) as result
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace join pg_language l on l.oid = p.prolang
    where l.lanname = 'sql' and p.proretset and n.nspname in ('money', 'warehousing', 'delivery', 'storefront')`;
  const functions = new Map(all.map((one) => [one.name, one]));
  const copied = new Set<string>();
  const copy = async (name: string): Promise<void> => {
    if (copied.has(name)) return;
    copied.add(name);
    let { body } = functions.get(name)!;
    for (const called of functions.keys()) {
      if (!body.includes(`${called}(`)) continue;
      await copy(called);
      body = body.replaceAll(`${called}(`, `${copyOf(called)}(`);
    }
    await create(reader, { ...functions.get(name)!, body });
  };
  for (const name of ["money.cod_differences", "warehousing.stock_differences"]) await copy(name);
  await create(reader, ofTenant(functions.get("money.verify_books")!));
  await create(reader, await tallies(reader));
}

/** A copy without rights or settings of its own is one that PostgreSQL puts in the place of its call. */
const create = (reader: Session, { name, args, result, body }: SetFunction) =>
  reader.unsafe(
    `create function ${
      copyOf(name)
    }(${args}) returns ${result} language sql stable as $copy$${body}$copy$`,
  );

/** The check of all books, of those of the tenant alone. */
function ofTenant(check: SetFunction): SetFunction {
  const body = check.body.replace(
    /\b(money\.(?:ledger_entries|ledger_transactions|accounts)) (\w)\b/g,
    "(select * from $1 where tenant_id = tenant) $2",
  );
  return { ...check, args: "tenant uuid", body };
}

/** As private.tallies_verify, which writes a statement for each total, and plans it at each call. */
async function tallies(reader: Session): Promise<SetFunction> {
  const kinds = await reader`
    select k.tally, private.tally_counted(k.tally) as counted, pg_get_function_result('private.tallies_verify()'::regprocedure) as result
    from app.tally_kinds k order by k.tally`;
  const bodies = kinds.map(({ tally, counted }) =>
    `select tenant, '${tally}', coalesce(k.dims, c.dims), coalesce(k.entries, 0)::bigint, coalesce(c.entries, 0),
      coalesce(k.amount, 0), coalesce(c.amount, 0)
    from (select t.dims, sum(t.entries) as entries, sum(t.amount) as amount from app.tallies t
      where t.tally = '${tally}' and t.tenant_id = tenant group by t.dims) k
    full join (${counted.replace(/ c group by /, " c where c.tenant_id = tenant group by ")})
      c (tenant_id, tally, dims, entries, amount) on c.dims = k.dims
    where coalesce(k.entries, 0) <> coalesce(c.entries, 0) or coalesce(k.amount, 0) <> coalesce(c.amount, 0)`
  );
  return {
    name: "private.tallies_verify",
    args: "tenant uuid",
    result: kinds[0]!.result,
    body: bodies.join(" union all "),
  };
}
