-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
set lock_timeout = '1min';
set statement_timeout = 0;

ALTER TABLE "tenancy"."api_keys" VALIDATE CONSTRAINT "own_scope_alone";
