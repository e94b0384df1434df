-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
set lock_timeout = '1min';
set statement_timeout = 0;

ALTER TABLE "delivery"."outcomes" VALIDATE CONSTRAINT "outcomes_from_status_check";

ALTER TABLE "delivery"."outcomes" VALIDATE CONSTRAINT "outcomes_result_check";
