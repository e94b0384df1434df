-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
set lock_timeout = '1min';
set statement_timeout = 0;

ALTER TABLE "delivery"."deliveries" VALIDATE CONSTRAINT "notice_of_postponed";

ALTER TABLE "delivery"."deliveries" VALIDATE CONSTRAINT "parts_are_delivered";

ALTER TABLE "delivery"."deliveries" VALIDATE CONSTRAINT "returns_are_made_at_doors";

ALTER TABLE "delivery"."delivery_items" VALIDATE CONSTRAINT "delivery_items_tenant_id_returned_item_id_fkey";

ALTER TABLE "delivery"."delivery_items" VALIDATE CONSTRAINT "delivery_items_unit_price_check";
