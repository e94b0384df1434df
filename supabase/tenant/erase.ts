/** `npm run tenant -- erase`: takes one person out of what a company keeps. Stopped at any point, the same command continues. */
import { hostname, userInfo } from "node:os";
import { setTimeout as wait } from "node:timers/promises";
import type postgres from "postgres";
import { Failure, messageOf } from "../local/failure.ts";
import { removeFrom } from "./deletion-rows.ts";
import { endAccount, endErasure, removeMessages } from "./erasure-end.ts";
import { removeNamed } from "./files.ts";
import type { EraseOptions } from "./options.ts";
import { changeOf, logOf, placeOf, type Target, targetsOf } from "./personal.ts";
import { keepSubject, personFiles } from "./person-files.ts";
import { openMatters } from "./person-open.ts";
import { type Place, sessionSettings } from "./place.ts";
import { type Asked, type Subject, subjectOf, tenantOf } from "./subject.ts";

type Print = (line: string) => void;

export interface ErasurePlan {
  subject: Subject;
  /** The record of an erasure that was begun before. */
  record?: string;
  booksUntil?: string;
  rows: Record<string, number>;
  files: { bucket: string; path: string }[];
  /** An account or a membership that ends. */
  account: boolean;
  open: string[];
}

/** Books are kept as long as a law asks; the rest is not. */
const isBooks = ({ table }: Target) => table.startsWith("money.");
/** How often rows that others hold are asked for again, a second apart. */
const attempts = 60;

/** Erases as the command line says. Without `confirm` it shows what would be; open matters fail. */
export async function erasePerson(
  place: Place,
  options: Omit<EraseOptions, "command">,
  print: Print,
): Promise<void> {
  const { slug, confirm, keepBooksUntil, by } = options;
  const asked = askedOf(options);
  const plan = await inTransaction(place.sql, (tx) => planOf(tx, slug, asked, keepBooksUntil));
  for (const line of planLines(plan)) print(line);
  if (isEmpty(plan)) {
    if (plan.record && !plan.booksUntil) await endErasure(place, plan.subject, plan.record);
    return print("Nothing more is to be erased.");
  }
  const name = Object.values(asked)[0]!;
  if (confirm === undefined) {
    return print(`Nothing was erased. --confirm ${name} erases all of this for good.`);
  }
  if (confirm !== name) {
    throw new Failure(`--confirm says ${confirm}, and this is ${name}. Nothing was erased.`);
  }
  if (plan.open.length > 0) {
    const more = plan.record ? "Nothing more" : "Nothing";
    throw new Failure(`What is open needs the name: settle it first. ${more} was erased.`);
  }
  await eraseAll(place, plan, by ?? `${userInfo().username}@${hostname()}`, print);
}

/** The person as the command line names them, without the options that it leaves out. */
export const askedOf = ({ person, phone, email }: Asked): Asked => ({
  ...(person && { person }),
  ...(phone && { phone }),
  ...(email && { email }),
});

async function planOf(
  tx: postgres.TransactionSql,
  slug: string,
  asked: Asked,
  keepBooksUntil?: string,
): Promise<ErasurePlan> {
  const tenant = await tenantOf(tx, slug);
  const [record] = await tx`select e.id, e.subject, e.books_until::text from tenancy.erasures e
    where e.tenant_id = ${tenant} and e.ended_at is null and e.subject -> 'asked' = ${
    tx.json({ ...asked })
  }`;
  const subject = await subjectOf(tx, tenant, asked, record?.subject);
  const targets = await targetsOf(tx);
  await keepSubject(tx, targets, subject);
  const until = record ? record.books_until : keepBooksUntil;
  const [{ later }] = await tx`select coalesce(${
    until ?? null
  }::date > current_date, false) as later` as [
    { later: boolean },
  ];
  const booksUntil: string | undefined = later ? until : undefined;
  const all = targets.filter((target) => !(booksUntil && isBooks(target)));
  const files = await personFiles(tx, all, subject);
  subject.files = [
    ...new Set([...subject.files ?? [], ...files.map(({ bucket, path }) => `${bucket}/${path}`)]),
  ];
  const [account] =
    await tx`select from tenancy.tenant_users m join auth.users u on u.id = m.user_id
    where m.tenant_id = ${tenant} and m.user_id = ${subject.person ?? null}
      and case when m.user_id = any (${subject.sets
      .account!}) then u.deleted_at is null else m.left_at is null end`;
  return {
    subject,
    ...(record && { record: record.id }),
    ...(booksUntil && { booksUntil }),
    rows: await countRows(tx, all, subject),
    files,
    account: account !== undefined,
    open: await openMatters(tx, record ? sinceThen(subject, record.subject) : subject),
  };
}

/** The rows that have come since an erasure was begun: what is older has lost the name already. */
function sinceThen(subject: Subject, before: Subject): Subject {
  const sets = Object.entries(subject.sets).map(([name, ids]) => {
    const known = new Set(before.sets[name]);
    return [name, ids.filter((id) => !known.has(id))];
  });
  return { ...subject, sets: Object.fromEntries(sets) };
}

/** How many rows of each table change; one that several lines name is one. */
async function countRows(tx: postgres.TransactionSql, targets: Target[], subject: Subject) {
  const selects: Record<string, string[]> = {};
  for (const { table, condition } of changesOf(targets, subject)) {
    (selects[table] ??= []).push(`select ${placeOf} from ${table} t where ${condition}`);
  }
  const rows: Record<string, number> = {};
  for (const [table, some] of Object.entries(selects)) {
    const [found] = await tx.unsafe(
      `select count(*)::int as rows from (${some.join(" union ")}) r`,
    );
    if (found!.rows > 0) rows[table] = found!.rows;
  }
  return rows;
}

/** Each change, in the order of the list; the log of a table's rows before those by which it is found go. */
function changesOf(targets: Target[], subject: Subject) {
  return targets.flatMap((target) => {
    const log = logOf(target, subject);
    return [
      ...(log ? [{ table: "app.audit_log", ...log }] : []),
      { table: target.table, ...changeOf(target, subject) },
    ];
  });
}

const isEmpty = ({ rows, files, account }: ErasurePlan) =>
  Object.keys(rows).length === 0 && files.length === 0 && !account;

function planLines(
  { subject, record, booksUntil, rows, files, account, open }: ErasurePlan,
): string[] {
  return [
    ...(record ? ["The erasure has begun. What is left:"] : []),
    ...Object.entries(rows).sort().map(([table, count]) => `  ${table}: ${count} rows`),
    `Files: ${files.length}`,
    ...(account && subject.sets.account!.length > 0 ? ["Account: ends"] : []),
    ...(subject.person && subject.sets.account!.length === 0
      ? ["Account and profile: another company has them, and they stay; the membership ends"]
      : []),
    booksUntil
      ? `Books (money): kept until ${booksUntil}; then the same command erases them`
      : "Books (money): the name goes, amounts stay; --keep-books-until <date> keeps it where a law asks for it",
    ...open.map((line) => `Open: ${line}`),
  ];
}

async function eraseAll(place: Place, plan: ErasurePlan, by: string, print: Print): Promise<void> {
  const { subject, booksUntil } = plan;
  try {
    const id = await begin(place.sql, plan, by);
    await endAccount(place, subject);
    const targets = await inTransaction(place.sql, targetsOf);
    await eraseRows(place, targets.filter((one) => !(booksUntil && isBooks(one))), plan, print);
    await removeNamed(place, plan.files.map((file) => ({ ...file, type: "" })));
    print(`Files removed: ${plan.files.length}`);
    await removeMessages(place, subject);
    if (booksUntil) {
      return print(`The books keep the name until ${booksUntil}: give the command again then.`);
    }
    await endErasure(place, subject, id);
    print("Erased.");
    print("- backups have the person until they expire: docs/operations.md (Erase a person)");
  } catch (error) {
    throw new Failure(
      `${messageOf(error)}\nThe erasure has begun: the same command continues it.`,
      {
        cause: error,
      },
    );
  }
}

/** Writes down that the erasure began, or what has come to one that was begun; answers the id of its record. */
async function begin(sql: postgres.Sql, plan: ErasurePlan, by: string): Promise<string> {
  const { subject, rows, files, booksUntil } = plan;
  if (plan.record) {
    await sql`update tenancy.erasures e set subject = ${sql.json(subject as never)}
      where e.id = ${plan.record} and e.ended_at is null`;
    return plan.record;
  }
  const [record] =
    await sql`insert into tenancy.erasures (tenant_id, run_by, row_counts, file_count, books_until, subject)
    values (${subject.tenant}, ${by}, ${sql.json(rows)}, ${files.length}, ${booksUntil ?? null}, ${
      sql.json(subject as never)
    }) returning id`;
  return record!.id;
}

/** Rows that others hold are left and asked for again: neither waits for the other. A table is told once its last line is done. */
async function eraseRows(
  { sql }: Place,
  targets: Target[],
  { subject, rows }: ErasurePlan,
  print: Print,
): Promise<void> {
  const changes = changesOf(targets, subject);
  const last = new Map(changes.map(({ table }, place) => [table, place]));
  const changed = new Map<string, number>();
  for (let attempt = 1;; attempt++) {
    const left = new Set<string>();
    for (const [place, { table, condition, change }] of changes.entries()) {
      const { count, held } = await removeFrom(sql, table, condition, change);
      if (count > 0) changed.set(table, (changed.get(table) ?? 0) + count);
      if (held > 0) left.add(table);
      const most = changed.get(table);
      if (most && place === last.get(table) && !left.has(table)) {
        // Two lines may change one row: it was counted once before.
        print(`${table}: ${Math.min(most, rows[table] ?? most)} rows erased`);
        changed.delete(table);
      }
    }
    if (left.size === 0) return;
    if (attempt === attempts) {
      throw new Failure(
        `Others hold or write rows in ${[...left].join(", ")}: look who works with them.`,
      );
    }
    await wait(1000);
  }
}

export function inTransaction<T>(
  sql: postgres.Sql,
  work: (tx: postgres.TransactionSql) => Promise<T>,
): Promise<T> {
  return sql.begin(async (tx) => {
    await tx.unsafe(sessionSettings);
    return await work(tx);
  }) as Promise<T>;
}
