-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
set lock_timeout = '1min';
set statement_timeout = 0;

ALTER TABLE "delivery"."performance_state" VALIDATE CONSTRAINT "texts_within_bounds";

ALTER TABLE "money"."merchant_payouts" VALIDATE CONSTRAINT "texts_within_bounds";
