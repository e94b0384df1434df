/** `npm run tenant -- import`: brings what an export wrote into another project, whole or not at all. */
import type postgres from "postgres";
import { Failure, messageOf } from "../local/failure.ts";
import { brokenReferences, clashesOf } from "./clashes.ts";
import { schemaOf, summary } from "./export.ts";
import { differing, figuresOf } from "./figures.ts";
import { removeFiles, requireFiles, uploadFiles } from "./files.ts";
import { type Manifest, readManifest, type StoredFile } from "./folder.ts";
import type { ImportOptions } from "./options.ts";
import { type Place, sessionSettings } from "./place.ts";
import { type Step, stepsSaidBy } from "./progress.ts";
import { addWhatFollows, analyzeWritten, putInPlace, requireOneTenant, stage } from "./staging.ts";
import { type Table, tenantTables } from "./tables.ts";

/** Ends the transaction of a dry run. */
class Enough extends Error {}

/**
 * Imports as the command line says. One transaction for the rows; files are put before its end and removed when it
 * fails or is `stopped`. Fails with everything that stands in the way.
 */
export async function importTenant(
  place: Place,
  { from, dryRun }: Omit<ImportOptions, "command">,
  print: (line: string) => void,
  stopped?: AbortSignal,
): Promise<void> {
  const manifest = await readManifest(from);
  const put: StoredFile[] = [];
  let keys: string[] = [];
  let cancelled = Promise.resolve();
  const said = stepsSaidBy(print);
  const step: Step = (name, work) => {
    stopped?.throwIfAborted();
    return said(name, work);
  };
  try {
    await place.sql.begin(async (tx) => {
      const [{ pid }] = await tx`select pg_backend_pid() as pid` as [{ pid: number }];
      stopped?.addEventListener("abort", () => {
        cancelled = place.cancel(pid).catch((error) => print(messageOf(error)));
      });
      await tx.unsafe(`${sessionSettings} set local session_replication_role = replica`);
      await requireAlone(tx);
      await requireFree(tx, manifest);
      const tables = await tenantTables(tx, manifest.tenant.id);
      await stage(tx, from, manifest, tables, step);
      await requireOneTenant(tx, manifest.tenant.id, tables);
      refuse(await step("Looking for what clashes", () => clashesOf(tx, tables)));
      if (dryRun) await step("Reading the files", () => requireFiles(from, manifest.files));
      else {
        await step(
          "Storing the files",
          () => uploadFiles(place, from, manifest.files, put, stopped),
        );
      }
      await putInPlace(tx, manifest, tables, step);
      await step("Writing what follows", () => addWhatFollows(tx, manifest));
      await analyzeWritten(tx, manifest, step);
      await verify(tx, manifest, tables, step);
      for (const line of summary(manifest.figures, manifest.files.length)) print(line);
      keys = await keysOfNobody(tx, manifest.tenant.id);
      if (dryRun) throw new Enough();
    });
  } catch (error) {
    if (error instanceof Enough) return print("Nothing was written.");
    // A cancel that comes late would end the next statement of this connection.
    await cancelled;
    // A connection that breaks at the commit does not say how that ended.
    const [kept] = put.length === 0 ? [] : await place.sql`
      select from tenancy.tenants t where t.id = ${manifest.tenant.id}`;
    if (!kept) {
      for (const name of await removeFiles(place, put)) print(`Storage still has ${name}`);
    }
    throw stopped?.aborted && !kept
      ? new Failure("Stopped. Nothing was kept.", { cause: error })
      : error;
  }
  for (const line of whatIsNext(manifest, keys)) print(line);
}

/** Fails while another import runs: of two, neither sees what the other has put. */
export async function requireAlone(tx: postgres.TransactionSql): Promise<void> {
  const key = "hashtextextended('import a tenant', 0)";
  const [{ alone }] = await tx.unsafe(`select pg_try_advisory_xact_lock(${key}) as alone`) as [
    { alone: boolean },
  ];
  if (alone) return;
  const [other] = await tx.unsafe(`select a.pid, to_char(a.xact_start, 'HH24:MI:SS') as since
    from pg_locks l join pg_stat_activity a on a.pid = l.pid
    where l.locktype = 'advisory' and l.granted and l.objsubid = 1
      and l.database = (select d.oid from pg_database d where d.datname = current_database())
      and l.classid::bigint = (${key} >> 32) & 4294967295 and l.objid::bigint = ${key} & 4294967295`);
  throw new Failure(
    other
      ? `Another import runs since ${other.since} (UTC), as process ${other.pid} of the database. One whose command was stopped ends ` +
        `within seconds, or by: select pg_terminate_backend(${other.pid});`
      : "Another import has just ended: once more.",
  );
}

async function requireFree(
  tx: postgres.TransactionSql,
  { tenant, schema }: Manifest,
): Promise<void> {
  const here = await schemaOf(tx);
  if (here !== schema) {
    throw new Failure(
      `The export has schema ${schema}, this database ${here}: bring both to one release.`,
    );
  }
  const found = await tx`select t.id, t.slug from tenancy.tenants t
    where t.id = ${tenant.id} or t.slug = ${tenant.slug}`;
  refuse(found.map(({ id, slug }) => `This project has the company ${slug} (${id}) already.`));
}

/** Both sides have to say the same. */
async function verify(
  tx: postgres.TransactionSql,
  manifest: Manifest,
  tables: Table[],
  step: Step,
): Promise<void> {
  await tx`create temporary table moving_people on commit drop as
    select s.id from pg_temp.moving_auth_users s`;
  const found = await figuresOf(tx, manifest.tenant.id, tables, step);
  refuse([
    ...await step("Looking for broken references", () => brokenReferences(tx, tables)),
    ...differing(manifest.figures, found),
  ]);
}

function refuse(lines: string[]): void {
  if (lines.length > 0) throw new Failure(lines.join("\n"));
}

/** The names of API keys that have lost their maker, an administrator of the project they came from: they answer nothing. */
async function keysOfNobody(tx: postgres.TransactionSql, tenant: string): Promise<string[]> {
  const keys = await tx`select k.name from tenancy.api_keys k
    where k.tenant_id = ${tenant} and k.created_by is null and k.revoked_at is null and k.expires_at > now()
    order by k.name`;
  return keys.map(({ name }) => name);
}

function whatIsNext({ tenant, sealed_with }: Manifest, keys: string[]): string[] {
  return [
    `${tenant.slug} is here, ${tenant.status} as it was exported. What is next (docs/operations.md, Move a company):`,
    ...(sealed_with.length > 0
      ? [`- BARID_SECRETS_KEY has to contain the keys ${sealed_with.join(", ")}`]
      : []),
    "- API keys work here with the address of this project; everybody signs in again",
    ...(keys.length > 0
      ? [
        `- these were made by an administrator of the other project, and stop until one of the company takes them over: ${
          keys.join(", ")
        }`,
      ]
      : []),
    "- gateways, carriers and custom domains need the address of this project",
    "- npm run tenant -- compare, where it was, names what was written there after the export",
    "- then activate it here, and archive it where it was",
  ];
}
