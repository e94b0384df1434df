-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
set lock_timeout = '1min';
set statement_timeout = 0;

ALTER TABLE "money"."payment_gateways" VALIDATE CONSTRAINT "payment_gateways_previous_accounts_check";

ALTER TABLE "money"."payment_gateways" VALIDATE CONSTRAINT "previous_accounts_above_1048576_bytes";

ALTER TABLE "money"."payments" VALIDATE CONSTRAINT "texts_within_bounds";
