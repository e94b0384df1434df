/** Makes the files of a migration out of the statements that lead to the new catalogue. */
import { type Action, type CatalogueObject, isRelation, nameOf, relationOf } from "./difference.ts";
import { lockFirst } from "./locks.ts";

/** A file of a migration: what its name ends with, and its text. */
export interface MigrationPart {
  suffix: string;
  text: string;
}

/** The statements of a migration, and a check of what still needs the objects that it drops. */
export interface Change {
  actions: Action[];
  /** Statements that write reference rows and schedules, which run when the catalogue is new. */
  rows: string[];
  /** True for a view or function that the code of the last release names. */
  isUsed: (name: string) => boolean;
  /** The arguments of a function that goes which functions of before give it by name. */
  givenByName: (name: string) => string[];
}

/**
 * How a statement is marked that a person has to read: it may lose data, hold up those who work meanwhile, or fail on rows
 * that are there. `npm run check` refuses a migration that has such a line.
 */
export const readMark = "-- Read: ";

/**
 * The files, in order: what runs in one transaction; the scans that prove new constraints, which block nobody; each new
 * index of a table that is there, built while the table is written; and the functions that go, when the calls that may still
 * look for them have ended.
 */
export function compose({ actions, rows, isUsed, givenByName }: Change): MigrationPart[] {
  const produced = new Set(actions.flatMap(({ produces }) => produces).map(nameOf));
  const made = new Set(actions.flatMap(({ produces }) => produces).filter(isRelation).map(nameOf));
  for (const replaced of actions.flatMap(({ destroys }) => destroys)) made.delete(nameOf(replaced));
  const isThere = (relation: string | undefined) => relation !== undefined && !made.has(relation);
  const main: string[] = [];
  const validations: string[] = [];
  const indexes: string[] = [];
  const drops: string[] = [];
  for (const action of actions) {
    const [object] = action.produces;
    const table = relationOf(action);
    const concurrent = concurrentIndex(action);
    if (concurrent && isThere(table)) {
      indexes.push(concurrent);
    } else if (
      object?.kind === "constraint" && isThere(table) && /\b(CHECK|FOREIGN KEY)\b/.test(action.sql)
    ) {
      main.push(`${action.sql} NOT VALID;`);
      validations.push(
        `ALTER TABLE ${quoted(object, "table")} VALIDATE CONSTRAINT "${object.name}";`,
      );
    } else {
      const late = isMissedByCalls(action, actions);
      const statement = [
        ...reasons(action, isThere(table), isUsed, (name) => produced.has(name)).map((reason) =>
          readMark + reason
        ),
        ...(late ? [] : lostNames(action, actions, givenByName)).map((argument) =>
          `${readMark}calls under way give the argument ${argument} by its name, which they then miss. Keep the name, or make a function of another name.`
        ),
        `${late ? action.sql.replace("DROP FUNCTION ", "DROP FUNCTION IF EXISTS ") : action.sql};`,
      ].join("\n");
      (late ? drops : main).push(statement);
    }
  }
  return [
    { suffix: "", text: transaction([...lockFirst(actions, isThere), ...main, ...rows]) },
    ...(validations.length > 0 ? [{ suffix: "_validate", text: scan(validations) }] : []),
    ...indexes.map((statement, index) => ({
      suffix: `_index_${index + 1}`,
      text: scan([statement], concurrently),
    })),
    ...(drops.length > 0 ? [{ suffix: "_drops", text: afterCalls(drops) }] : []),
  ];
}

/**
 * True for a function that goes and that a call under way would miss: the body it runs is the one of before. No other
 * function answers the same call then: neither the same one made again, nor one that has a default for each argument more.
 */
function isMissedByCalls({ sql, destroys }: Action, actions: Action[]): boolean {
  if (!sql.startsWith("DROP FUNCTION ")) return false;
  const gone = destroys.find(({ kind }) => kind === "function")!;
  const given = gone.args?.length ?? 0;
  return !actions.some((made) => {
    const [object] = made.produces;
    if (object?.kind !== "function" || nameOf(object) !== nameOf(gone)) return false;
    const taken = object.args?.length ?? 0;
    const needed = taken - (made.sql.split("\n")[0]!.match(/ DEFAULT /g)?.length ?? 0);
    const begins = object.args?.slice(0, given).join() === gone.args?.join();
    return begins && needed <= given;
  });
}

/** The arguments that calls of before give by name, of a function that is made again without an argument of this name. */
function lostNames(
  { sql, destroys }: Action,
  actions: Action[],
  givenByName: Change["givenByName"],
): string[] {
  if (!sql.startsWith("DROP FUNCTION ")) return [];
  const name = nameOf(destroys.find(({ kind }) => kind === "function")!);
  const signatures = actions.filter(({ produces: [object] }) =>
    object?.kind === "function" && nameOf(object) === name
  ).map((made) => made.sql.split("\n")[0]!);
  return givenByName(name).filter((argument) =>
    !signatures.some((signature) => new RegExp(`[(, ]"?${argument}"? `).test(signature))
  );
}

/** Why a person has to read the statement; nothing for one that is safe as it is. */
function reasons(
  action: Action,
  isThere: boolean,
  isUsed: Change["isUsed"],
  isMadeAgain: (name: string) => boolean,
): string[] {
  const { sql, dataLoss, rewriteRisk } = action;
  const used = action.destroys.filter(({ kind }) => ["function", "view"].includes(kind)).map(nameOf)
    .filter((name) => !isMadeAgain(name) && isUsed(name));
  return [
    ...used.map((name) =>
      `functions of the last release call ${name}, which they then miss. Keep it until the next release.`
    ),
    ...(!isThere ? [] : [
      ...(dataLoss !== "none"
        ? [
          "values are lost. Copy them first, in batches; a rename loses them too. Drop what the last release uses one release later.",
        ]
        : []),
      ...(rewriteRisk && !hasFixedDefault(sql)
        ? [
          "the table is rewritten while nobody can use it. Add the column empty, fill it in batches.",
        ]
        : []),
      ...(/ SET NOT NULL$/.test(sql)
        ? [
          "the table is scanned while nobody can use it. Add a check that it is not null, not valid; validate it in a migration of its own; then this.",
        ]
        : []),
      ...(/ ADD COLUMN .* NOT NULL/.test(sql) && !/ (DEFAULT|GENERATED) /.test(sql)
        ? ["this fails as soon as the table has a row."]
        : []),
      ...(/ ADD CONSTRAINT .* (UNIQUE|PRIMARY KEY|EXCLUDE)\b/.test(sql)
        ? [
          "the table is scanned while nobody can write it. Build the index concurrently in a migration before, then add the constraint using it.",
        ]
        : []),
      ...(/ DROP CONSTRAINT /.test(sql) && !action.destroys.map(nameOf).some(isMadeAgain)
        ? [
          "the table that a foreign key names is locked too, as long as this is. Name it in access exclusive mode among the locks above.",
        ]
        : []),
      ...(/^CREATE UNIQUE INDEX/.test(sql)
        ? [
          "the table is scanned while nobody can write it. Build it concurrently in a migration of its own, before what says on conflict.",
        ]
        : []),
    ]),
  ];
}

/** A value that is the same for every row is kept once; PostgreSQL then rewrites nothing. */
function hasFixedDefault(sql: string): boolean {
  return / ADD COLUMN /.test(sql) && !/ GENERATED /.test(sql) &&
    / DEFAULT ('[^']*'(::[\w. []+)?|-?[\d.]+|true|false|now\(\))( |$)/.test(sql);
}

function transaction(statements: string[]): string {
  return `-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

${statements.join("\n\n")}
`;
}

/** Waits until the transactions of before have ended; a new one finds the new functions from its beginning. */
function afterCalls(statements: string[]): string {
  return `-- Written by npm run db:migration. Calls that began before the functions changed may still look for these.
set lock_timeout = '1s';
set statement_timeout = '2min';

do $$
declare
  v_before text[] := array(select l.virtualxid from pg_locks l join pg_stat_activity a using (pid)
    where l.locktype = 'virtualxid' and l.pid <> pg_backend_pid() and a.datname = current_database()
      and a.backend_type is distinct from 'autovacuum worker');
begin
  for v_try in 1..600 loop
    if not exists (select 1 from pg_locks l where l.virtualxid = any (v_before)) then
      return;
    end if;
    perform pg_sleep(0.1);
  end loop;
  raise exception 'transactions of before this migration have been open for a minute: end them, then migrate again'
    using errcode = 'lock_not_available';
end $$;

${statements.join("\n\n")}
`;
}

/** The runner of migrations leaves the transaction out where an index is made so. */
const concurrently =
  `-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
`;

/** A statement that reads a whole table and blocks neither who reads nor who writes it. */
function scan(statements: string[], head = ""): string {
  return `-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
${head}set lock_timeout = '1min';
set statement_timeout = 0;

${statements.join("\n\n")}
`;
}

/** One that was left half-built by an interrupted run is dropped first. */
function concurrentIndex({ sql, produces: [object] }: Action): string | undefined {
  if (object?.kind !== "index" || !sql.startsWith("CREATE INDEX ")) return undefined;
  return `DROP INDEX CONCURRENTLY IF EXISTS ${quoted(object, "name")};\n\n${
    sql.replace("CREATE INDEX ", "CREATE INDEX CONCURRENTLY ")
  };`;
}

const quoted = (object: CatalogueObject, part: "name" | "table") =>
  `"${object.schema}"."${object[part]}"`;
