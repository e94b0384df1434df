/** The rows of an export in temporary tables, where they are looked at before any is in its place. */
import type postgres from "postgres";
import { Failure } from "../local/failure.ts";
import { type Manifest, readRows } from "./folder.ts";
import type { Step } from "./progress.ts";
import { keptNumbers, quoted, type Table } from "./tables.ts";

/** The temporary table with the rows that go into this one. */
export function staged(table: string): string {
  return `pg_temp.${quoted(`moving_${table.replace(".", "_")}`)}`;
}

/**
 * Reads every table of the export. Fails unless the export has exactly the tables and columns of this database; of
 * Auth's tables, which are the platform's, columns that only one side has are left out.
 */
export async function stage(
  tx: postgres.TransactionSql,
  folder: string,
  manifest: Manifest,
  tables: Table[],
  step: Step,
): Promise<void> {
  const names = manifest.tables.map(({ name }) => name).sort();
  if (names.join() !== tables.map(({ name }) => name).sort().join()) {
    throw new Failure("The export has other tables than this database.");
  }
  for (const table of tables) {
    const written = manifest.tables.find(({ name }) => name === table.name)!;
    const unknown = written.columns.filter((column) => !table.columns.includes(column));
    if (!table.name.startsWith("auth.") && (unknown.length > 0 || lacks(table, written.columns))) {
      throw new Failure(`The export has other columns of ${table.name} than this database.`);
    }
    await tx.unsafe(
      `create temporary table ${staged(table.name).replace("pg_temp.", "")} on commit drop as
        select ${table.columns.map(quoted).join(", ")} ${
        unknown.map((column) => `, null::text as ${quoted(column)}`).join("")
      }
        from ${quoted(table.name)} with no data`,
    );
    const copy = `copy ${staged(table.name)} (${
      written.columns.map(quoted).join(", ")
    }) from stdin`;
    await step(`Reading ${table.name}`, async () => {
      await readRows(folder, written, await tx.unsafe(copy).writable());
    });
    table.columns = table.columns.filter((column) => written.columns.includes(column));
    await tx.unsafe(`analyze ${staged(table.name)}`);
  }
}

/** Whether every row is of this company, where rows name one. */
export async function requireOneTenant(
  tx: postgres.TransactionSql,
  tenant: string,
  tables: Table[],
) {
  for (const { name, columns } of tables) {
    const column = name === "tenancy.tenants" ? "id" : "tenant_id";
    if (!columns.includes(column)) continue;
    const [strange] = await tx.unsafe(
      `select from ${staged(name)} where ${column} is distinct from '${tenant}' limit 1`,
    );
    if (strange) throw new Failure(`The export has rows of another company in ${name}.`);
  }
}

/**
 * Puts the rows in their places. Numbers of the installation are given anew in the order of the old ones, those of
 * transactions become older than all to come, and accounts that are there already stay as they are.
 */
export async function putInPlace(
  tx: postgres.TransactionSql,
  manifest: Manifest,
  tables: Table[],
  step: Step,
): Promise<void> {
  await tx`create temporary table new_people on commit drop as
    select s.id from pg_temp.moving_auth_users s
    where not exists (select from auth.users u where u.id = s.id)`;
  await keepNumbers(tx, manifest);
  for (const table of tables) {
    const { name, columns, numbered, stamped } = table;
    const written = columns.filter((column) => column !== numbered);
    const values = written.map(quoted).map((column, place) =>
      stamped.includes(written[place]!)
        ? `case when ${column} is not null then '1' else ${column} end`
        : column
    );
    const id = name === "auth.identities" ? "user_id" : "id";
    const condition = table.isOfPeople ? ` where ${id} in (select id from pg_temp.new_people)` : "";
    const order = numbered ? ` order by ${quoted(numbered)}` : "";
    await step(`Writing ${name}`, () =>
      tx.unsafe(
        `insert into ${quoted(name)} (${written.map(quoted).join(", ")}) overriding system value
        select ${values.join(", ")} from ${staged(name)}${condition}${order}`,
      ));
  }
}

/**
 * Has the planner count what was written, or it takes tables with new rows for empty ones, and figures of a small company take minutes.
 * Auth's tables are the platform's, which counts them itself.
 */
export async function analyzeWritten(
  tx: postgres.TransactionSql,
  { figures }: Manifest,
  step: Step,
): Promise<void> {
  const filled = Object.keys(figures.tables)
    .filter((name) => figures.tables[name]!.rows > 0 && !name.startsWith("auth."));
  for (const name of [...filled, "app.tallies"]) {
    await step(`Counting ${name}`, () => tx.unsafe(`analyze ${quoted(name)}`));
  }
}

/**
 * Writes what follows from the rows: the events that webhooks begin after, the move that ended an attempt, kept totals,
 * the company's timeline, whom it has left behind, the company that tokens name.
 */
export async function addWhatFollows(
  tx: postgres.TransactionSql,
  { tenant: { id: tenant }, timeline }: Manifest,
): Promise<void> {
  await tx`update integration.webhook_subscriptions s set from_position = coalesce((
      select max(e.position) from pg_temp.moving_integration_system_events o
      join integration.system_events e on e.id = o.id where o.position <= s.from_position), 0)
    where s.tenant_id = ${tenant}`;
  // A move after an outcome forbids its undo; the moves of a delivery are as many here, in the same order.
  await tx`with moves_there as (
      select h.id, h.delivery_id, row_number() over (partition by h.delivery_id order by h.id) as place
      from pg_temp.moving_delivery_delivery_status_history h
    ), moves_here as (
      select h.id, h.delivery_id, row_number() over (partition by h.delivery_id order by h.id) as place
      from delivery.delivery_status_history h where h.tenant_id = ${tenant}
    )
    update delivery.outcomes o set last_move_id = h.id
    from moves_there m join moves_here h using (delivery_id, place)
    where o.tenant_id = ${tenant} and m.id = o.last_move_id and m.delivery_id = o.delivery_id`;
  await tx`select private.tenant_timeline_begin(${tenant}, ${timeline})`;
  const kinds = await tx`select private.tally_counted(k.tally) as counted from app.tally_kinds k`;
  for (const { counted } of kinds) {
    await tx.unsafe(`insert into app.tallies (tenant_id, tally, dims, entries, amount)
      select * from (${counted}) c (tenant_id, tally, dims, entries, amount) where c.tenant_id = '${tenant}'`);
  }
  await tx`update tenancy.profiles p set left_tenants = tenancy.left_tenants_of(p.id)
    where p.id in (select u.user_id from tenancy.tenant_users u where u.tenant_id = ${tenant})
      and p.left_tenants is distinct from tenancy.left_tenants_of(p.id)`;
  await tx`insert into tenancy.active_tenants (user_id, tenant_id)
    select u.user_id, u.tenant_id from tenancy.tenant_users u
    where u.tenant_id = ${tenant} and u.is_active
      and not exists (select from tenancy.system_users s where s.user_id = u.user_id)
    on conflict do nothing`;
}

/**
 * Numbers that the company shows stay; one that is taken here becomes a new one. Later numbers are larger than all that
 * were given on either side, so that a gateway never hears of one twice.
 */
async function keepNumbers(tx: postgres.TransactionSql, { last_numbers }: Manifest): Promise<void> {
  for (const [table, { column, sequence }] of Object.entries(keptNumbers)) {
    // Ahead of what others take meanwhile: a sequence that is set never goes back.
    await tx.unsafe(`select setval('${sequence}', ${last_numbers[sequence]} + 100)
      from ${quoted(sequence)} where last_value <= ${last_numbers[sequence]}`);
    await tx.unsafe(`update ${staged(table)} s
      set ${quoted(column)} = nextval('${sequence}')::text::${
      table === "money.payments" ? "text" : "bigint"
    }
      where ${taken(table, column)}`);
  }
}

/** Of staged rows `s`: whether their number is somebody else's here. */
export function taken(table: string, column: string): string {
  const same = table === "money.payments" ? " and t.gateway_code = s.gateway_code" : "";
  return `exists (select from ${quoted(table)} t where t.${quoted(column)} = s.${
    quoted(column)
  }${same})`;
}

function lacks(table: Table, columns: string[]): boolean {
  return table.columns.some((column) => !columns.includes(column));
}
