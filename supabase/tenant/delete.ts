/** `npm run tenant -- delete`: removes one company for good. Stopped at any point, the same command continues. */
import { hostname, userInfo } from "node:os";
import type postgres from "postgres";
import { Failure, messageOf } from "../local/failure.ts";
import { endDeletion, removeTraces } from "./deletion-end.ts";
import { removePeople } from "./deletion-people.ts";
import { type Plan, planLines, planOf } from "./deletion-plan.ts";
import { removeRows } from "./deletion-rows.ts";
import { exportTenant } from "./export.ts";
import { namesOfFiles, removeNamed } from "./files.ts";
import type { DeleteOptions } from "./options.ts";
import { type Place, sessionSettings } from "./place.ts";
import { removeStrayFiles } from "./stray-files.ts";

const again = "The deletion has begun: the same command continues it.";

type Print = (line: string) => void;

/** Deletes as the command line says. Without `confirm` it shows what would be removed; what stands in the way fails. */
export async function deleteTenant(
  place: Place,
  options: Omit<DeleteOptions, "command">,
  print: Print,
): Promise<void> {
  const { id, confirm: typed } = options;
  if (id && await removeStrayFiles(place, { id, confirm: typed }, print)) return;
  const plan = await inTransaction(place, (tx) => planOf(tx, options));
  for (const line of planLines(plan)) print(line);
  const { name, confirm, keep } = { name: plan.slug ?? plan.id, ...options };
  if (confirm === undefined) {
    return print(`Nothing was removed. --confirm ${name} removes all of this for good.`);
  }
  if (confirm !== name) {
    throw new Failure(`--confirm says ${confirm}, and this is ${name}. Nothing was removed.`);
  }
  if (plan.endedAt) return await lookAgain(place, plan, print);
  refuse(plan, options);
  if (keep) await keepExport(place, plan, keep, print);
  await begin(place, plan, options.by ?? `${userInfo().username}@${hostname()}`);
  await removeAll(place, plan.id, print);
  for (const line of whatIsNext(plan)) print(line);
}

async function removeAll(place: Place, id: string, print: Print): Promise<void> {
  try {
    await removeRows(place, id, print);
    print(`Files removed: ${await removeFiles(place, id)}`);
    print(`Accounts removed: ${await removePeople(place, id)}`);
    await endDeletion(place, id, print);
  } catch (error) {
    throw new Failure(`${messageOf(error)}\n${again}`, { cause: error });
  }
}

function refuse({ obstacles, open }: Plan, { withOpenItems }: { withOpenItems: boolean }): void {
  const lines = [
    ...obstacles,
    ...(open.length > 0 && !withOpenItems
      ? ["What is open would be lost: settle it, or --with-open-items."]
      : []),
  ];
  if (lines.length > 0) throw new Failure([...lines, "Nothing was removed."].join("\n"));
}

async function keepExport(place: Place, plan: Plan, to: string, print: Print): Promise<void> {
  if (plan.begunAt) {
    throw new Failure("Its rows are being removed already: there is no whole company to export.");
  }
  await exportTenant(place, { slug: plan.slug!, to, dryRun: false, whileActive: false }, print);
}

/** Writes down that the deletion began, and whom it removes: from now on its rows no longer say it. */
async function begin(place: Place, plan: Plan, by: string): Promise<void> {
  if (plan.begunAt) return;
  await inTransaction(place, async (tx) => {
    const [tenant] = await tx`select from tenancy.tenants t
      where t.id = ${plan.id} and t.status = 'archived' for update`;
    if (!tenant) throw new Failure("The company is not archived any more. Nothing was removed.");
    await tx`insert into tenancy.deleted_tenants (id, run_by, row_counts, file_count, person_count, leaving)
      values (${plan.id}, ${by}, ${
      tx.json(plan.rows)
    }, ${plan.files}, ${plan.leaving.length}, ${plan.leaving})
      on conflict (id) where ended_at is null do nothing`;
  });
}

async function removeFiles(place: Place, tenant: string): Promise<number> {
  const names = await inTransaction(place, (tx) => namesOfFiles(tx, tenant));
  await removeNamed(place, names);
  const left = await inTransaction(place, (tx) => namesOfFiles(tx, tenant));
  if (left.length > 0) {
    const [{ bucket, path }] = left as [typeof left[0]];
    throw new Failure(
      `Storage still has ${left.length} files, such as ${bucket}/${path}.`,
    );
  }
  return names.length;
}

/** Removes what came after the end: files by addresses for uploads that were given before. */
async function lookAgain(place: Place, { id }: Plan, print: Print): Promise<void> {
  await removeRows(place, id, print);
  print(`Files removed: ${await removeFiles(place, id)}`);
  await inTransaction(place, (tx) => removeTraces(tx, id, []));
  print("Nothing is left of it.");
}

function whatIsNext({ id, slug }: Plan): string[] {
  return [
    `${slug} is deleted. What is left is one row of tenancy.deleted_tenants, without its name.`,
    "- backups have it until they expire: docs/operations.md (Delete a company)",
    `- an address for uploads is good for two hours: npm run tenant -- delete --id ${id} --confirm ${id} removes what came by one since`,
  ];
}

function inTransaction<T>(
  place: Place,
  work: (tx: postgres.TransactionSql) => Promise<T>,
): Promise<T> {
  return place.sql.begin(async (tx) => {
    await tx.unsafe(sessionSettings);
    return await work(tx);
  }) as Promise<T>;
}
