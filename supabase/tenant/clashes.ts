/** Obstacles to rows that are staged: all of them at once, so that they can be removed before the next attempt. */
import type postgres from "postgres";
import { staged, taken } from "./staging.ts";
import { keptNumbers, quoted, type Table } from "./tables.ts";

/** A line for each thing of another that is the same here, or for each thing that is missing here. */
export async function clashesOf(tx: postgres.TransactionSql, tables: Table[]): Promise<string[]> {
  return [
    ...await clashesOfPeople(tx),
    ...await openPayments(tx),
    ...await clashesOfIndexes(tx, tables),
  ];
}

async function clashesOfPeople(tx: postgres.TransactionSql): Promise<string[]> {
  const found = await tx`
    select format('%s is %s here, and %s in the export', s.email, u.id, s.id) as line
    from pg_temp.moving_auth_users s
    join auth.users u on lower(u.email) = lower(s.email) and u.id <> s.id and u.is_sso_user = s.is_sso_user
    union all
    select format('%s of the export has the account of %s here', s.email, u.email)
    from pg_temp.moving_auth_users s join auth.users u on u.id = s.id and lower(u.email) is distinct from lower(s.email)
    union all
    select format('the phone number of %s is that of %s here', s.email, u.email)
    from pg_temp.moving_auth_users s join auth.users u on u.phone = s.phone and u.id <> s.id
    union all
    select format('the %s account of %s belongs to another person here', i.provider, s.email)
    from pg_temp.moving_auth_identities i
    join pg_temp.moving_auth_users s on s.id = i.user_id
    join auth.identities o on o.provider = i.provider and o.provider_id = i.provider_id and o.user_id <> i.user_id
    order by 1`;
  return found.map(({ line }) => line);
}

/** Payments that a gateway may still report under a number that is another's here. */
async function openPayments(tx: postgres.TransactionSql): Promise<string[]> {
  const found = await tx.unsafe(`
    select s.id, s.gateway_code, s.gateway_order_id from ${staged("money.payments")} s
    where s.status in ('pending', 'FAILED') and s.redirect_url is not null and s.created_at > now() - interval '25 hours'
      and ${taken("money.payments", keptNumbers["money.payments"]!.column)} order by 3`);
  return found.map(({ id, gateway_code, gateway_order_id }) =>
    `payment ${id} is open at ${gateway_code} as ${gateway_order_id}, which is another's number here: export when it has ended`
  );
}

/** Every unique index of the whole installation, whatever it is of; ids of the company are in all of the others. */
async function clashesOfIndexes(tx: postgres.TransactionSql, tables: Table[]): Promise<string[]> {
  const lines: string[] = [];
  const indexes = await tx`
    select i.indexrelid::regclass::text as name, n.nspname || '.' || c.relname as "table",
      pg_get_expr(i.indpred, i.indrelid) as condition,
      array(select pg_get_indexdef(i.indexrelid, k, true) from generate_series(1, i.indnkeyatts) k) as keys
    from pg_index i
    join pg_class c on c.oid = i.indrelid and not c.relispartition
    join pg_namespace n on n.oid = c.relnamespace
    where i.indisunique and not exists (select from pg_attribute a
      where a.attrelid = c.oid and a.attname = 'tenant_id' and a.attnum = any (i.indkey::int2[])) order by 1`;
  for (const { name, table: tableName, condition, keys } of indexes) {
    const table = tables.find((known) => known.name === tableName && !known.isOfPeople);
    const renewed = [table?.numbered, keptNumbers[tableName]?.column];
    if (!table || keys.some((key: string) => renewed.includes(key.replaceAll('"', "")))) continue;
    const columns = keys.map((key: string, place: number) => `${key} as k${place}`).join(", ");
    const from = (source: string) =>
      `select ${columns} from ${source}${condition ? ` where ${condition}` : ""}`;
    const same = keys.map((_: string, place: number) => `t.k${place} = s.k${place}`).join(" and ");
    const found = await tx.unsafe(
      `select to_jsonb(s)::text as key from (${from(staged(tableName))}) s
      where exists (select from (${from(quoted(tableName))}) t where ${same}) limit 20`,
    );
    lines.push(...found.map(({ key }) => `${tableName} has ${key} already (${name})`));
  }
  return lines;
}

/** References of the company's rows to what is not there; triggers would have refused them. */
export async function brokenReferences(
  tx: postgres.TransactionSql,
  tables: Table[],
): Promise<string[]> {
  const lines: string[] = [];
  const references = await tx`
    select f.conname as name, n.nspname || '.' || c.relname as "table", rn.nspname || '.' || r.relname as target,
      array(select a.attname::text from unnest(f.conkey) with ordinality k (num, place)
        join pg_attribute a on a.attrelid = f.conrelid and a.attnum = k.num order by k.place) as columns,
      array(select a.attname::text from unnest(f.confkey) with ordinality k (num, place)
        join pg_attribute a on a.attrelid = f.confrelid and a.attnum = k.num order by k.place) as keys
    from pg_constraint f
    join pg_class c on c.oid = f.conrelid and not c.relispartition
    join pg_namespace n on n.oid = c.relnamespace
    join pg_class r on r.oid = f.confrelid and not r.relispartition
    join pg_namespace rn on rn.oid = r.relnamespace
    where f.contype = 'f' order by 2, 1`;
  for (const { name, table: tableName, target, columns, keys } of references) {
    const table = tables.find((known) => known.name === tableName);
    if (!table) continue;
    const same = keys.map((key: string, place: number) =>
      `t.${quoted(key)} = s.${quoted(columns[place])}`
    );
    const all = columns.map((column: string) => `s.${quoted(column)} is not null`);
    const [found] = await tx.unsafe(`select count(*)::int as count
      from (select * from ${quoted(tableName)} where ${table.condition}) s
      where ${all.join(" and ")} and not exists (select from ${quoted(target)} t where ${
      same.join(" and ")
    })`);
    if (found!.count > 0) lines.push(`${found!.count} rows of ${tableName}: ${name} finds nothing`);
  }
  return lines;
}
