/** The way from the database that the migrations make to the one that `sql/` makes. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type postgres from "postgres";
import { root } from "../../../supabase/local/paths.ts";
import type { Change } from "./compose.ts";
import { byMigrations, bySources, withWorkshop } from "./databases.ts";
import { type Action, difference } from "./difference.ts";
import { differingRows, referenceRows, rowStatements } from "./reference-rows.ts";

/** The statements; `isUsed` says whether the code of the last release names a view or a function. */
export function changeOf(isUsed: Change["isUsed"]): Promise<Change> {
  return withWorkshop(async (workshop) => {
    const before = await workshop.database("by_migrations", byMigrations);
    const after = await workshop.database("by_sources", bySources);
    const rows = differingRows(await referenceRows(before.sql), await referenceRows(after.sql));
    const actions = await difference(before.url, after.url);
    return {
      actions,
      rows: [
        ...rows.flatMap(({ table, gone, added }) => rowStatements(table, gone, added)),
        ...await schedules(before.sql, after.sql),
      ],
      isUsed,
      givenByName: await namedArguments(before.sql, actions),
    };
  });
}

/** The arguments that functions of a database give others by name (`f(a => 1)`), of those that the statements drop. */
async function namedArguments(
  sql: postgres.Sql,
  actions: Action[],
): Promise<Change["givenByName"]> {
  const dropped = actions.flatMap(({ destroys }) => destroys)
    .filter(({ kind }) => kind === "function").map(({ schema, name }) => `${schema}.${name}`);
  const found = await sql<{ name: string; argument: string }[]>`
    select distinct f.name, f.argument
    from (
      select n.nspname || '.' || p.proname as name, unnest(p.proargnames) as argument
      from pg_proc p join pg_namespace n on n.oid = p.pronamespace
      where n.nspname || '.' || p.proname = any (${dropped})) f
    where exists (select from pg_proc c where c.prosrc ~ ('\\m' || replace(f.name, '.', '\\.') || '\\(') and c.prosrc ~ ('\\m' || f.argument || '\\s*=>'))
    order by 1, 2`;
  return (name) => found.filter((one) => one.name === name).map(({ argument }) => argument);
}

/** The jobs that are scheduled no more, and the file that schedules the others when one of them differs. */
async function schedules(before: postgres.Sql, after: postgres.Sql): Promise<string[]> {
  const jobsOf = async (sql: postgres.Sql) => {
    const jobs = await sql<{ name: string; job: string }[]>`
      select jobname as name, schedule || ' ' || command as job from cron.job where jobname like 'barid%'`;
    return new Map(jobs.map(({ name, job }) => [name, job]));
  };
  const [old, now] = [await jobsOf(before), await jobsOf(after)];
  const gone = [...old.keys()].filter((name) => !now.has(name)).sort();
  const differs = [...now].some(([name, job]) => old.get(name) !== job);
  return [
    ...(gone.length === 0 ? [] : [`do $$
begin
  if to_regclass('cron.job') is not null then
    perform cron.unschedule(jobid) from cron.job where jobname in (${
      gone.map((name) => `'${name}'`).join(", ")
    });
  end if;
end $$;`]),
    ...(differs ? [readFileSync(join(root, "sql", "cron.sql"), "utf8").trim()] : []),
  ];
}
