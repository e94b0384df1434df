-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
set lock_timeout = '1min';
set statement_timeout = 0;

ALTER TABLE "app"."jobs" VALIDATE CONSTRAINT "jobs_trace_context_check";

ALTER TABLE "integration"."system_events" VALIDATE CONSTRAINT "texts_within_bounds";

ALTER TABLE "integration"."webhook_events" VALIDATE CONSTRAINT "texts_within_bounds";
