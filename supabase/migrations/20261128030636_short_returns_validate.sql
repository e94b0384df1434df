-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
set lock_timeout = '1min';
set statement_timeout = 0;

ALTER TABLE "warehousing"."waybill_items" VALIDATE CONSTRAINT "texts_within_bounds";

ALTER TABLE "warehousing"."waybill_items" VALIDATE CONSTRAINT "waybill_items_status_check";
