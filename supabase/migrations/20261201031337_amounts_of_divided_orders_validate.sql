-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
set lock_timeout = '1min';
set statement_timeout = 0;

ALTER TABLE "delivery"."amount_changes" VALIDATE CONSTRAINT "amount_changes_new_delivery_fee_check";

ALTER TABLE "delivery"."amount_changes" VALIDATE CONSTRAINT "amount_changes_old_delivery_fee_check";
