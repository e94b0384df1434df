/** Checks that need a Debian machine: the real pg_cron, the linter of PL/pgSQL, a real browser. */
import { existsSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import type { Sql } from "postgres";
import { textOf } from "./files.ts";
import { readFunctions } from "./plpgsql-check.ts";
import { prometheus } from "./prometheus.ts";
import type { StepResult } from "./steps.ts";

export const postgresDir = "/usr/lib/postgresql/15";
export const browser = "/usr/bin/chromium";
const extensionDir = "/usr/share/postgresql/15/extension";

/** Settings with which that server runs the real pg_cron. */
export const cronSettings = {
  shared_preload_libraries: "pg_cron",
  "cron.database_name": "postgres",
  "cron.use_background_workers": "on",
};

/** The jobs that migrations schedule. */
export function scheduledJobs(): string[] {
  return ["sql/cron.sql"].flatMap((file) =>
    [...textOf(file).matchAll(/cron\.schedule\(\s*'(\w+)'/g)].map((match) => match[1]!)
  );
}

const programs = {
  "postgresql-15": `${postgresDir}/bin/postgres`,
  "postgresql-15-cron": `${extensionDir}/pg_cron.control`,
  "postgresql-15-plpgsql-check": `${extensionDir}/plpgsql_check.control`,
  chromium: browser,
  prometheus,
};
export type Program = keyof typeof programs;

/** The packages of Debian that are not installed. */
export function missingPrograms(): Program[] {
  return (Object.keys(programs) as Program[]).filter((name) => !existsSync(programs[name]));
}

/** All our jobs run once at the next full minute by pg_cron itself; then they get their own schedules back. */
export async function everyJobTicks(sql: Sql, expected: string[]): Promise<StepResult> {
  const jobs = await sql<{ jobid: string; jobname: string; schedule: string; active: boolean }[]>`
    select jobid, jobname, schedule, active from cron.job where jobname like 'barid%' order by jobname`;
  const absent = expected.filter((name) => !jobs.some((job) => job.jobname === name && job.active));
  if (absent.length) {
    return {
      failed: 1,
      details: absent.map((name) => `${name} is not scheduled`),
    };
  }
  for (const { jobid } of jobs) await sql`select cron.alter_job(${jobid}, schedule => '* * * * *')`;
  const details: string[] = [];
  for (const deadline = Date.now() + 75_000;;) {
    const runs = await sql<{ jobname: string; status: string; return_message: string }[]>`
      select distinct on (j.jobname) j.jobname, d.status, d.return_message
      from cron.job j join cron.job_run_details d using (jobid)
      where d.status in ('succeeded', 'failed') order by j.jobname, d.runid desc`;
    const failures = runs.filter(({ status }) => status === "failed");
    const waiting = jobs.filter((job) => !runs.some(({ jobname }) => jobname === job.jobname));
    if (waiting.length && Date.now() < deadline) {
      await setTimeout(500);
      continue;
    }
    details.push(...waiting.map(({ jobname }) => `${jobname} did not run within 75 seconds`));
    details.push(...failures.map(({ jobname, return_message }) => `${jobname}: ${return_message}`));
    break;
  }
  for (const { jobid, schedule } of jobs) {
    await sql`select cron.alter_job(${jobid}, schedule => ${schedule})`;
  }
  return { passed: jobs.length - details.length, failed: details.length, details };
}

/** plpgsql_check on every function of ours: no error and no danger that nobody explained. */
export async function functionsAreSound(sql: Sql): Promise<StepResult> {
  const { functions, findings, idleExplanations } = await readFunctions(sql);
  const details = [
    ...findings,
    ...idleExplanations.map((name) => `${name}: nothing is found any more; its explanation can go`),
  ];
  return { passed: functions - details.length, failed: details.length, details };
}
