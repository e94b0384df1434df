/** `npm run tenant -- export`: one company's rows, people and files in a folder, as they were at one moment. */
import type postgres from "postgres";
import { version } from "../../shared/runtime/version.ts";
import { Failure } from "../local/failure.ts";
import { downloadFiles, namesOfFiles } from "./files.ts";
import { type Figures, figuresOf } from "./figures.ts";
import { type Manifest, newFolder, writeManifest, writeRows } from "./folder.ts";
import type { ExportOptions } from "./options.ts";
import { collectPeople } from "./people.ts";
import { type Place, sessionSettings } from "./place.ts";
import { stepsSaidBy } from "./progress.ts";
import { keptNumbers, quoted, rowsOf, tenantTables } from "./tables.ts";

/** Exports as the command line says. Fails with what stands in the way; the manifest is written last. */
export async function exportTenant(
  place: Place,
  { slug, to, dryRun, whileActive }: Omit<ExportOptions, "command">,
  print: (line: string) => void,
): Promise<void> {
  const step = stepsSaidBy(print);
  await place.sql.begin("isolation level repeatable read", async (tx) => {
    await tx.unsafe(sessionSettings);
    const [tenant] = await tx`select t.id, t.slug, t.status from tenancy.tenants t
      where t.slug = ${slug}`;
    if (!tenant) throw new Failure(`This project has no company "${slug}".`);
    const tables = await tenantTables(tx, tenant.id);
    await collectPeople(tx, tables);
    const figures = await figuresOf(tx, tenant.id, tables, step);
    const names = await namesOfFiles(tx, tenant.id);
    const obstacles = [
      ...(whileActive || ["suspended", "archived"].includes(tenant.status) ? [] : [
        `${slug} is ${tenant.status}: suspend it first (POST /tenants/${tenant.id}/suspend), or --while-active.`,
      ]),
      ...await deletionUnderWay(tx, tenant.id),
      ...await openJobs(tx, tenant.id),
      ...figures.faults.map((fault) => `The books are wrong, which a move would hide: ${fault}`),
    ];
    for (const line of summary(figures, names.length)) print(line);
    if (obstacles.length > 0) throw new Failure(obstacles.join("\n"));
    if (dryRun || !to) return print("Nothing was written.");
    newFolder(to);
    const written: Manifest["tables"] = [];
    for (const table of tables) {
      written.push({
        name: table.name,
        columns: table.columns,
        sha256: await step(
          `Writing ${table.name}`,
          () => copyRows(tx, rowsOf(table), to, table.name),
        ),
      });
    }
    await writeManifest(to, {
      format: 1,
      version,
      schema: await schemaOf(tx),
      exported_at: new Date().toISOString(),
      tenant: { id: tenant.id, slug, status: tenant.status },
      timeline: await timelineOf(tx, tenant.id),
      sealed_with: await sealedWith(tx, tenant.id),
      last_numbers: await lastNumbers(tx),
      tables: written,
      files: await step("Fetching the files", () => downloadFiles(place, to, names)),
      figures,
    });
    print(`Written to ${to}. It holds people's data: keep it as you keep a backup.`);
  });
}

/** Writes the rows of a query into the file of a table; answers the digest of its bytes. */
export async function copyRows(
  tx: postgres.TransactionSql,
  query: string,
  folder: string,
  table: string,
): Promise<string> {
  const copy = await tx.unsafe(`copy (${query}) to stdout`).readable();
  const digest = await writeRows(folder, table, copy);
  // The driver pauses its socket while the stream is full, and resumes it where more is read. A stream that is full as it ends is
  // read no more: without this, nothing more would be heard from the database.
  copy._read(0);
  return digest;
}

/** The version of the database's schema. */
export async function schemaOf(tx: postgres.TransactionSql): Promise<string> {
  const [{ schema }] = await tx`select private.schema_version() as schema`;
  return schema;
}

/** The parts of a company in lines for the operator. */
export function summary(figures: Figures, files: number): string[] {
  const filled = Object.values(figures.tables).filter(({ rows }) => rows > 0);
  const rows = filled.reduce((sum, table) => sum + table.rows, 0);
  const { cash, stock } = figures.differences;
  return [
    `Rows: ${rows} in ${filled.length} tables`,
    `People: ${figures.tables["tenancy.profiles"]!.rows}`,
    `Files: ${files}`,
    ...Object.entries(figures.books).sort().map(([name, line]) => `Books, ${name}: ${line}`),
    ...Object.entries(figures.stock).sort().map(([name, line]) => `Stock, ${name}: ${line}`),
    `Differences that move as they are: ${cash.length} of cash, ${stock.length} of stock`,
  ];
}

async function deletionUnderWay(tx: postgres.TransactionSql, tenant: string): Promise<string[]> {
  const found =
    await tx`select from tenancy.deleted_tenants d where d.id = ${tenant} and d.ended_at is null`;
  return found.map(() => "Its deletion has begun: it is not whole any more.");
}

async function openJobs(tx: postgres.TransactionSql, tenant: string): Promise<string[]> {
  const found = await tx`select j.kind, j.status, count(*)::int as count,
      to_char(max(j.run_at) filter (where j.run_at > now()) at time zone 'UTC', 'YYYY-MM-DD HH24:MI') as due
    from app.jobs j
    where j.tenant_id = ${tenant} and j.status <> 'done' group by 1, 2 order by 1, 2`;
  return found.map(({ kind, status, count, due }) =>
    status === "dead"
      ? `${count} dead jobs ${kind} would stay behind: docs/operations.md (Dead jobs).`
      : `${count} jobs ${kind} are ${status}${
        due ? `, the last from ${due} UTC on` : ""
      }: wait until they are done.`
  );
}

async function timelineOf(tx: postgres.TransactionSql, tenant: string): Promise<string> {
  const [{ timeline }] = await tx`select private.timeline_of(${tenant})::text as timeline`;
  return timeline;
}

/** The keys of BARID_SECRETS_KEY that the company's credentials need, by name. */
async function sealedWith(tx: postgres.TransactionSql, tenant: string): Promise<string[]> {
  const found = await tx`
    select distinct split_part(s.sealed, '.', 2) as key from integration.sealed_texts() s
    where s.tenant_id = ${tenant} order by 1`;
  return found.map(({ key }) => key);
}

async function lastNumbers(tx: postgres.TransactionSql): Promise<Record<string, string>> {
  const last: Record<string, string> = {};
  for (const { sequence } of Object.values(keptNumbers)) {
    const [row] = await tx.unsafe(`select last_value::text as last from ${quoted(sequence)}`);
    last[sequence] = row!.last;
  }
  return last;
}
