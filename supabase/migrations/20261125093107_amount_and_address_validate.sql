-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
set lock_timeout = '1min';
set statement_timeout = 0;

ALTER TABLE "delivery"."deliveries" VALIDATE CONSTRAINT "deliveries_ordered_cod_amount_check";

ALTER TABLE "money"."payments" VALIDATE CONSTRAINT "payments_check";

ALTER TABLE "money"."payments" VALIDATE CONSTRAINT "payments_type_check";
