/** Every metric there is: its type, its unit and what it means. Alerts and the dashboard (docs/monitoring) stand on these names. */

export interface Family {
  type: "counter" | "gauge" | "histogram" | "info";
  unit?: "seconds";
  help: string;
}

/** By name, which a counter's series end with `_total` and those of a histogram with `_bucket`, `_count` and `_sum`. */
export const families: Readonly<Record<string, Family>> = {
  barid_build: {
    type: "info",
    help: "The version of the functions that answered and the schema of the database.",
  },
  barid_http_requests: {
    type: "counter",
    help: "Requests answered, by function, operation (as log lines name it) and status code.",
  },
  barid_http_request_duration_seconds: {
    type: "histogram",
    unit: "seconds",
    help: "Time until a request was answered, by function.",
  },
  barid_database_pool_wait_seconds: {
    type: "histogram",
    unit: "seconds",
    help: "Time that a statement waited for a connection of its process.",
  },
  barid_database_pool_timeouts: {
    type: "counter",
    help: "Statements that got no connection in time; the request was refused with 503.",
  },
  barid_log_requests_folded: {
    type: "counter",
    help: "Requests without a log line of their own, counted in lines requests_folded.",
  },
  barid_jobs: {
    type: "gauge",
    help: "Background jobs that are not done, by kind and status (queued, running, dead).",
  },
  barid_jobs_oldest_due_age_seconds: {
    type: "gauge",
    unit: "seconds",
    help: "How long the job that waits longest has been due; 0: none is.",
  },
  barid_webhooks_waiting: {
    type: "gauge",
    help: "Deliveries of webhooks that are still to be attempted, to active subscriptions.",
  },
  barid_webhooks_oldest_due_age_seconds: {
    type: "gauge",
    unit: "seconds",
    help:
      "How long what waits longest for the sender has been due, to subscribers that do not fail; 0: nothing is.",
  },
  barid_webhook_subscriptions_failing: {
    type: "gauge",
    help: "Active subscriptions whose last attempt failed.",
  },
  barid_payments_unmatched: {
    type: "gauge",
    help: "Reports of gateways about money that fits no payment and that nobody has resolved.",
  },
  barid_cash_mismatch_tenants: {
    type: "gauge",
    help:
      "Tenants whose cash and books differed last night; events marked as processed do not count.",
  },
  barid_stock_mismatch_tenants: {
    type: "gauge",
    help:
      "Tenants whose stock and movements differed last night; events marked as processed do not count.",
  },
  barid_cron_job_last_success_timestamp_seconds: {
    type: "gauge",
    unit: "seconds",
    help: "When a scheduled job succeeded last, in seconds since 1970.",
  },
  barid_cron_job_interval_seconds: {
    type: "gauge",
    unit: "seconds",
    help: "How much time passes between two runs of a scheduled job, at most.",
  },
  barid_cron_job_failed: {
    type: "gauge",
    help: "1: the last run of a scheduled job failed; 0: it succeeded.",
  },
};
