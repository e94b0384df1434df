/** The tables with a company's rows, read from the catalogue: one that is added later is exported without being named here. */
import type postgres from "postgres";
import { Failure } from "../local/failure.ts";

export interface Table {
  /** With its schema. */
  name: string;
  /** The company's rows: a condition on them. `moving_people` is a temporary table of ids. */
  condition: string;
  /** All but those that the database generates from others. */
  columns: string[];
  /** Numbered by the installation, and referred to by nothing: given anew where the rows arrive. */
  numbered?: string;
  /** The numbers of transactions, which another server counts anew: written by a default, or of their type. */
  stamped: string[];
  /** References to people which are emptied when the person is removed. */
  emptied: string[];
  /** Of people: an account that is there already stays as it is. */
  isOfPeople: boolean;
}

/** Columns whose numbers the installation gives and the company shows: kept unless the number is taken. */
export const keptNumbers: Readonly<Record<string, { column: string; sequence: string }>> = {
  "storefront.markets": { column: "code", sequence: "storefront.markets_code_seq" },
  "money.payments": { column: "gateway_order_id", sequence: "money.gateway_order_ids" },
};

/** Columns that refer to a number which is given anew: staging.ts writes what they refer to here. */
export const followers: Readonly<Record<string, string>> = {
  "delivery.outcomes": "last_move_id",
  "integration.webhook_subscriptions": "from_position",
};

/** Tables with rows of companies that are not exported, and why. */
export const leftOut: Readonly<Record<string, string>> = {
  "app.jobs":
    "an export waits until none is open; what was done needs no copy, and one that died is repaired first",
  "app.tallies": "counted anew from the rows",
  "app.tenant_timelines": "begun anew: cursors of changes of before are refused",
  "tenancy.active_tenants": "made anew: this company for everybody who has chosen none there",
};

/** Tables without `tenant_id`, and whose they are. */
export const ofTheInstallation: Readonly<Record<string, string>> = {
  "app.rate_buckets": "requests of one minute",
  "app.tally_kinds": "a migration writes it",
  "app.timelines": "when each project was set back to an earlier moment",
  "delivery.road_distances": "distances that the routing service answers again",
  "delivery.status_broadcasts": "empty but for what is being committed",
  "integration.carriers": "a migration writes it",
  "integration.event_types": "a migration writes it",
  "integration.metric_counts": "counts of the project, not of a company",
  "integration.sender_watch": "of the running sender",
  "storefront.payment_method_types": "a migration writes it",
  "tenancy.currencies": "a migration writes it",
  "tenancy.deleted_tenants": "which companies were deleted from each project",
  "tenancy.modules": "a migration writes it",
  "tenancy.permissions": "a migration writes it",
  "tenancy.role_permissions": "a migration writes it",
  "tenancy.roles": "a migration writes it",
  "tenancy.system_settings": "the administrator of each project sets them",
  "tenancy.system_users": "the administrators of each project are its own",
  "tenancy.wizard_runs": "openings of companies, which end within minutes",
};

const people: Record<string, string> = {
  "auth.users": "id",
  "auth.identities": "user_id",
  "tenancy.profiles": "id",
};

/** Rows of a company in tables that have no `tenant_id`. */
const special = (tenant: string): Record<string, string> => ({
  "tenancy.tenants": `id = '${tenant}'`,
  // A call that is repeated after the move is answered as it was.
  "app.idempotency_keys": `scope like '${tenant}/%'`,
  ...Object.fromEntries(
    Object.entries(people).map(([table, column]) => [
      table,
      `${column} in (select id from pg_temp.moving_people)`,
    ]),
  ),
});

const schemas = "app private tenancy money delivery warehousing storefront integration public"
  .split(" ");

/** The tables with what is exported of a company. Fails as allTenantTables() does. */
export async function tenantTables(tx: postgres.TransactionSql, tenant: string): Promise<Table[]> {
  return (await allTenantTables(tx, tenant)).filter(({ name }) => !(name in leftOut));
}

/** Every table with rows of the company. Fails on one that nobody decided about, before anything is written. */
export async function allTenantTables(
  tx: postgres.TransactionSql,
  tenant: string,
): Promise<Table[]> {
  const found = await tx<
    (Omit<Table, "condition" | "isOfPeople"> & { is_tenants: boolean })[]
  >`select n.nspname || '.' || c.relname as name,
      array_agg(a.attname::text order by a.attnum) filter (where a.attgenerated = '') as columns,
      max(a.attname::text) filter (where a.attidentity <> '') as numbered,
      coalesce(array_agg(a.attname::text) filter (
        where pg_get_expr(d.adbin, d.adrelid) like '%pg_current_xact_id()%' or a.atttypid = 'xid8'::regtype), '{}') as stamped,
      coalesce(array_agg(a.attname::text) filter (where exists (
        select from pg_constraint f where f.conrelid = c.oid and f.contype = 'f' and f.confdeltype = 'n'
          and f.confrelid = 'tenancy.profiles'::regclass and f.conkey = array[a.attnum])), '{}') as emptied,
      bool_or(a.attname = 'tenant_id') as is_tenants
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where c.relkind in ('r', 'p') and not c.relispartition
      and (n.nspname = any (${schemas}) or n.nspname || '.' || c.relname = any (${
    Object.keys(people)
  }))
    group by n.nspname, c.relname, c.oid order by 1`;
  const conditions = special(tenant);
  const unknown = found.filter(({ name, is_tenants }) =>
    !(is_tenants || name in conditions || name in ofTheInstallation || name in leftOut)
  );
  if (unknown.length > 0) {
    const names = unknown.map(({ name }) => name).join(", ");
    throw new Failure(
      `Whose rows are in ${names}? supabase/tenant/tables.ts has to say so before a company is moved or deleted.`,
    );
  }
  return found.filter(({ name, is_tenants }) => is_tenants || name in conditions).map((
    { numbered, ...table },
  ) => ({
    ...table,
    condition: conditions[table.name] ?? `tenant_id = '${tenant}'`,
    ...(numbered && numbered !== keptNumbers[table.name]?.column && { numbered }),
    isOfPeople: table.name in people,
  }));
}

/** A name in double quotes, with its schema's. */
export function quoted(name: string): string {
  return name.split(".").map((part) => `"${part.replaceAll('"', '""')}"`).join(".");
}

/** The statement that reads the company's rows of a table as they are exported. */
export function rowsOf(table: Table, columns = table.columns): string {
  const values = columns.map((column) =>
    table.emptied.includes(column)
      ? `case when ${quoted(column)} in (select id from pg_temp.moving_people) then ${
        quoted(column)
      } end as ${quoted(column)}`
      : quoted(column)
  );
  return `select ${values.join(", ")} from ${quoted(table.name)} where ${table.condition}`;
}

/** Columns that are the same on both sides. */
export function keptColumns({ name, columns, numbered, stamped }: Table): string[] {
  const differing = [numbered, ...stamped, keptNumbers[name]?.column, followers[name]];
  return columns.filter((column) => !differing.includes(column));
}
