-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
set lock_timeout = '1min';
set statement_timeout = 0;

ALTER TABLE "money"."merchant_statements" VALIDATE CONSTRAINT "merchant_statements_hash_check";

ALTER TABLE "money"."merchant_statements" VALIDATE CONSTRAINT "texts_within_bounds";
