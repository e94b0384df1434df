/** Companies that are deleted: the command as tests call it, and a search for what is left of them. */
import type postgres from "postgres";
import { deleteTenant } from "../../supabase/tenant/delete.ts";
import { openPlace, type Place } from "../../supabase/tenant/place.ts";
import type { OurStack } from "./db.ts";
import type { Tenant } from "./people.ts";

/** The project, as its owner's command reaches it. */
export const placeAt = ({ dbUrl, url, secretKey }: Pick<OurStack, "dbUrl" | "url" | "secretKey">) =>
  openPlace({ databaseUrl: dbUrl, url, secretKey });

type Options = Partial<Parameters<typeof deleteTenant>[1]>;

/** The lines of the command, and its failure. */
export async function deleted(place: Place, tenant: Tenant, options: Options = {}) {
  const lines: string[] = [];
  const all = { slug: `t-${tenant.id}`, withOpenItems: false, ...options };
  const failure = await deleteTenant(place, all, (line) => lines.push(line))
    .then(() => undefined, (error: Error) => error.message);
  return { lines, text: lines.join("\n"), failure };
}

/** Every table of the database but the catalogue's, the test's own and the record of deletions. */
export async function everyTable(sql: postgres.Sql): Promise<string[]> {
  const found = await sql`select n.nspname || '.' || c.relname as name
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p') and not c.relispartition and n.nspname !~ '^(pg_|information_schema$|watch$|local$)'
      and n.nspname || '.' || c.relname <> 'tenancy.deleted_tenants' order by 1`;
  return found.map(({ name }) => name);
}

/** A pattern of rows, as text, in which one of these texts stands. */
export const patternOf = (texts: string[]) =>
  texts.map((text) => text.replace(/[^\w@-]/g, "\\$&")).join("|");

/** The tables with rows in which one of these texts stands, in whatever column. */
export async function tracesOf(sql: postgres.Sql, texts: string[]): Promise<string[]> {
  const parts = (await everyTable(sql)).map((table) =>
    `select '${table}' as name, count(*)::int as rows from ${table} t where t::text ~* $1${
      // The event of it names the company's id, as the record does.
      table === "integration.system_events" ? " and event_type <> 'tenant.deleted'" : ""}`
  );
  const found = await sql.unsafe(
    `select * from (${parts.join(" union all ")}) x where rows > 0`,
    [patternOf(texts)],
  );
  return found.map(({ name, rows }) => `${name}: ${rows}`);
}

/** Ids of a company and its people, with the people's addresses and telephones. */
export async function textsOf(
  sql: postgres.Sql,
  tenant: string,
  people?: string[],
): Promise<string[]> {
  const found = await sql`select p.id::text, p.email, p.phone from tenancy.profiles p
    where p.id in (select u.user_id from tenancy.tenant_users u where u.tenant_id = ${tenant})
      and ${people ? sql`p.id = any (${people})` : sql`true`}`;
  return [tenant, ...found.flatMap(({ id, email, phone }) => [id, email, phone])].filter(Boolean);
}
