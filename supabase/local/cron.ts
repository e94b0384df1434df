import { Cron } from "croner";
import postgres from "postgres";
import { messageOf } from "./failure.ts";
import { sendQueuedRequests } from "./net.ts";

interface Job {
  jobid: string;
  jobname: string | null;
  schedule: string;
  command: string;
  database: string;
  username: string;
  active: boolean;
}

/** The runner of the pg_cron and pg_net stand-ins. */
export interface CronRunner {
  /** Runs the job of that name now and resolves when it has ended, as recorded in cron.job_run_details. */
  runNow(name: string): Promise<{ status: string; message: string }>;
  stop(): Promise<void>;
}

/**
 * Runs the jobs of `cron.job` on their schedules and sends queued pg_net requests after their commit. Without
 * `schedules` jobs run only when asked for, so that a test decides when.
 */
export async function startCron(
  url: string,
  log: (line: string) => void,
  schedules = true,
): Promise<CronRunner> {
  const sql = postgres(url, {
    max: 4,
    onnotice: () => {},
    connection: { application_name: "barid cron" },
  });
  const planned = new Map<string, { job: Job; timer: { stop(): void } }>();
  const running = new Map<string, Promise<{ status: string; message: string }>>();
  let stopped = false;

  const guarded = (what: string, work: () => Promise<unknown>) => () => {
    if (stopped) return;
    work().catch((error) => {
      if (!stopped) log(`${what}: ${messageOf(error)}`);
    });
  };
  const reload = oneAtATime(async () => {
    const jobs = await readJobs(sql);
    for (const [id, { job, timer }] of planned) {
      const now = jobs.find((other) => other.jobid === id);
      if (now?.active && now.schedule === job.schedule) continue;
      timer.stop();
      planned.delete(id);
    }
    for (const job of jobs.filter((candidate) => candidate.active)) {
      const timer = planned.get(job.jobid)?.timer ?? plan(job.schedule, () => tick(job.jobid));
      planned.set(job.jobid, { job, timer });
    }
  });
  const tick = (id: string) => {
    const job = planned.get(id)?.job;
    // A run that takes longer than its interval is not joined by a second one.
    if (job && !running.has(id)) guarded(`cron job ${job.jobname ?? id}`, () => start(job))();
  };
  const start = (job: Job) => {
    const run = runJob(sql, job).finally(() => running.delete(job.jobid));
    running.set(job.jobid, run);
    return run;
  };

  // The third argument runs again after every reconnect, when notifications may have been missed.
  const jobsChanged = guarded("cron", reload);
  const requestsQueued = guarded("pg_net", oneAtATime(() => sendQueuedRequests(sql)));
  if (schedules) await sql.listen("cron_job", jobsChanged, jobsChanged);
  await sql.listen("pg_net", requestsQueued, requestsQueued);
  return {
    async runNow(name) {
      const job = (await readJobs(sql)).find((candidate) => candidate.jobname === name);
      if (!job) throw new Error(`There is no cron job "${name}"`);
      await running.get(job.jobid);
      return start(job);
    },
    async stop() {
      stopped = true;
      for (const { timer } of planned.values()) timer.stop();
      await sql.end({ timeout: 1 });
    },
  };
}

async function readJobs(sql: postgres.Sql): Promise<Job[]> {
  // The stand-in alone has this function. The real pg_cron runs its jobs by itself.
  const [{ ours } = { ours: false }] = await sql<{ ours: boolean }[]>`
    select to_regproc('cron.check_schedule') is not null as ours`;
  return ours ? await sql<Job[]>`select * from cron.job where database = current_database()` : [];
}

function plan(schedule: string, run: () => void): { stop(): void } {
  const seconds = /^\s*(\d+)\s+seconds?\s*$/i.exec(schedule)?.[1];
  // pg_cron reckons in GMT and writes the last day of the month as "$".
  if (!seconds) return new Cron(schedule.trim().replace("$", "L"), { timezone: "UTC" }, run);
  const timer = setInterval(run, Number(seconds) * 1000);
  return { stop: () => clearInterval(timer) };
}

/** As pg_cron: the whole command as one query string on its own session, which is one transaction, as the job's role. */
async function runJob(sql: postgres.Sql, job: Job): Promise<{ status: string; message: string }> {
  const session = await sql.reserve();
  try {
    const [run] = await session<{ runid: string }[]>`
      insert into cron.job_run_details (jobid, job_pid, database, username, command, status, start_time)
      values (${job.jobid}, pg_backend_pid(), ${job.database}, ${job.username}, ${job.command}, 'running',
        clock_timestamp()) returning runid`;
    await session`select set_config('role', ${job.username}, false)`;
    const result = await session.unsafe(job.command).then(
      (rows) => ({ status: "succeeded", message: commandTag(rows) }),
      (error) => ({ status: "failed", message: `ERROR: ${messageOf(error)}` }),
    );
    // The command may have left a transaction open or settings changed; the session serves other jobs too.
    await session.unsafe("rollback");
    await session.unsafe("reset role; reset all; discard temp; select pg_advisory_unlock_all()");
    await session`update cron.job_run_details
      set status = ${result.status}, return_message = ${result.message}, end_time = clock_timestamp()
      where runid = ${run!.runid}`;
    return result;
  } finally {
    session.release();
  }
}

function commandTag(result: unknown): string {
  const last = Array.isArray(result) && Array.isArray(result.at(-1)) ? result.at(-1) : result;
  const { command, count } = last as { command?: string; count?: number };
  return [command, count].filter((part) => part !== undefined && part !== null).join(" ");
}

/** Calls that come while the work is being done lead to one more round of it afterwards, not to one beside it. */
function oneAtATime(work: () => Promise<unknown>): () => Promise<void> {
  let busy = false;
  let again = false;
  return async () => {
    again = true;
    if (busy) return;
    busy = true;
    try {
      while (again) {
        again = false;
        await work();
      }
    } finally {
      busy = false;
    }
  };
}
