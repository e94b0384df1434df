-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
set lock_timeout = '1min';
set statement_timeout = 0;

ALTER TABLE "delivery"."deliveries" VALIDATE CONSTRAINT "notice_of_postponed";

ALTER TABLE "delivery"."deliveries" VALIDATE CONSTRAINT "returns_are_made_at_doors";
