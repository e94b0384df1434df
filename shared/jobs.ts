/**
 * Runs background jobs: right after the request that queued them, and from cron for what was left.
 * A kind is `<function>.<job>`; the function that owns a kind has its handler.
 */
import { system } from "./db.ts";
import { describeError, log } from "./log.ts";

export interface Job {
  id: number;
  tenant_id: string | null;
  kind: string;
  payload: Record<string, unknown>;
  attempts: number;
  lease_token: string;
}

/** Does the work of one job. May be run twice; throwing means it is tried again later. */
export type JobHandler = (job: Job) => Promise<void>;

export type JobHandlers = Record<string, JobHandler>;

const batch = 10;
/** A run stops here, well before the runtime's wall-clock limit; cron continues. */
const runMsMax = 60_000;

/** Runs due jobs until none is left or time is up. Answers how many were done and how many failed. */
export async function runJobs(handlers: JobHandlers): Promise<{ done: number; failed: number }> {
  const kinds = `{${Object.keys(handlers).join(",")}}`;
  const stopAt = Date.now() + runMsMax;
  const count = { done: 0, failed: 0 };
  while (Date.now() < stopAt) {
    const jobs = await system<Job[]>(
      "select private.jobs_claim($1::text::text[], $2::text::integer) as answer",
      [
        kinds,
        String(batch),
      ],
    );
    if (jobs.length === 0) break;
    for (const job of jobs) {
      const error = await attempt(handlers[job.kind], job);
      count[error === null ? "done" : "failed"]++;
      await system(
        "select private.job_finish($1::text::bigint, $2::text::uuid, $3::text) as answer",
        [
          String(job.id),
          job.lease_token,
          error,
        ],
      );
    }
  }
  return count;
}

async function attempt(handler: JobHandler, job: Job): Promise<string | null> {
  try {
    await handler(job);
    return null;
  } catch (error) {
    log("warn", "job_failed", {
      job: job.id,
      kind: job.kind,
      attempts: job.attempts,
      ...describeError(error),
    });
    return String(error);
  }
}
