/**
 * Runs background jobs: right after the request that queued them, and from cron for what was left and what comes due.
 * A kind is `<function>.<job>`; the function that owns a kind has its handler.
 */
import { system } from "./db.ts";
import { type Clock, theClock } from "../runtime/clock.ts";
import { triggerWebhookDispatch } from "../outbound/webhook-dispatch.ts";
import { keepAlive } from "../runtime/background.ts";
import { describeError, log, traced, traceFields } from "../runtime/log.ts";
import { continueTrace } from "../runtime/trace-context.ts";

export interface Job {
  id: number;
  tenant_id: string | null;
  kind: string;
  payload: Record<string, unknown>;
  attempts: number;
  lease_token: string;
  /** Of the request that queued it; see `storedTrace`. */
  trace_context?: string | null;
}

/** Does the work of one job. May be run twice; throwing means it is tried again later. */
export type JobHandler = (job: Job) => Promise<void>;

export type JobHandlers = Record<string, JobHandler>;

const batch = 10;
/** A run stops here, well before the runtime's time limit; cron continues. */
const maxRunMs = 60_000;
/** While clients wait, a job begins only this long after the one before it. */
const maxPauseMs = 1_000;
const lookMs = 10;

/** The counts of a run: jobs that ended well, and attempts that failed. */
export interface JobStats {
  done: number;
  failed: number;
}

interface Run {
  /** Somebody asked while it was under way: what was queued meanwhile is looked for once more. */
  again: boolean;
  /** Of a run that stays for what comes due. */
  clock?: Clock;
  /** Ends its rest. */
  wake(): void;
  ended: Promise<JobStats>;
}

const runs = new Map<string, Run>();
let serving = 0;

/** Does a request's work; background jobs of this process give way until it is done. */
export async function trackRequest<T>(work: () => Promise<T>): Promise<T> {
  serving++;
  try {
    return await work();
  } finally {
    serving--;
  }
}

/**
 * Runs due jobs until none is left or time is up. One run at a time in a process for the same kinds:
 * a call while one is under way waits for that one, which then looks once more. With a `clock` the run stays for the
 * jobs that come due while it may, and does each when its time has come.
 */
export function runJobs(handlers: JobHandlers, clock?: Clock): Promise<JobStats> {
  const kinds = kindsOf(handlers);
  const underWay = runs.get(kinds);
  if (underWay) {
    underWay.again = true;
    underWay.wake();
    return underWay.ended;
  }
  const run = { again: false, clock, wake: () => {} } as Run;
  runs.set(kinds, run);
  // The log lines of jobs do not belong to the request that started the run.
  return run.ended = traced({}, () => drainQueue(handlers, kinds, run));
}

/** Begins a run that stays until cron, which asks each minute, asks again; after the one that is under way. */
export async function stayForJobs(
  handlers: JobHandlers,
  clock: Clock = theClock,
): Promise<JobStats> {
  if (runs.has(kindsOf(handlers))) await runJobs(handlers);
  return await runJobs(handlers, clock);
}

const kindsOf = (handlers: JobHandlers) => `{${Object.keys(handlers).join(",")}}`;

async function drainQueue(handlers: JobHandlers, kinds: string, run: Run): Promise<JobStats> {
  const { now } = run.clock ?? theClock;
  const stopAt = now() + maxRunMs;
  const count = { done: 0, failed: 0 };
  try {
    while (now() < stopAt) {
      run.again = false;
      const jobs = await system<Job[]>(
        "select private.jobs_claim($1::text::text[], $2::text::integer) as answer",
        [kinds, String(batch)],
      );
      if (jobs.length === 0 && !run.again && !await comesDue(kinds, run, stopAt)) break;
      for (const job of jobs) {
        await yieldToRequests();
        const place = traceFields(continueTrace(job.trace_context));
        const trace = { job: job.id, kind: job.kind, tenant: job.tenant_id, ...place };
        count[await traced(trace, () => work(handlers[job.kind], job)) ? "done" : "failed"]++;
      }
    }
    return count;
  } finally {
    // Before the promise is settled: nobody may join a run that has looked for the last time.
    runs.delete(kinds);
  }
}

/** Rests until the next job is due or somebody asks; false when the run need not stay for one. */
async function comesDue(kinds: string, run: Run, stopAt: number): Promise<boolean> {
  if (!run.clock) return false;
  const dueMs = await system<number | null>(
    "select to_jsonb(private.jobs_due_ms($1::text::text[])) as answer",
    [kinds],
  );
  // Asked for while we looked: not yet the end.
  if (run.again) return true;
  if (dueMs === null || run.clock.now() + dueMs >= stopAt) return false;
  const woken = new Promise<void>((resolve) => (run.wake = resolve));
  await run.clock.rest(dueMs, woken);
  return true;
}

/** Lets requests go first: returns when none is under way, or after a short while all the same. */
async function yieldToRequests(): Promise<void> {
  for (let waited = 0; serving > 0 && waited < maxPauseMs; waited += lookMs) {
    await new Promise((resolve) => setTimeout(resolve, lookMs));
  }
}

/** Attempts a job and writes down how it ended; true when it is done. Events that it wrote are sent at once. */
async function work(handler: JobHandler, job: Job): Promise<boolean> {
  const error = await attempt(handler, job);
  const { status, events } = await system<{ status: string | null; events: boolean }>(
    `select jsonb_build_object('status', private.job_finish($1::text::bigint, $2::text::uuid, $3::text),
      'events', integration.events_waiting(array[$4::text]::uuid[])) as answer`,
    [String(job.id), job.lease_token, error, job.tenant_id],
  );
  if (events) keepAlive(triggerWebhookDispatch());
  if (status === "dead") log("error", "job_dead", { error });
  return error === null;
}

async function attempt(handler: JobHandler, job: Job): Promise<string | null> {
  try {
    await handler(job);
    return null;
  } catch (error) {
    log("warn", "job_failed", { attempts: job.attempts, ...describeError(error) });
    return String(error);
  }
}
