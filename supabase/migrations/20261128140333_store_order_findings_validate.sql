-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
set lock_timeout = '1min';
set statement_timeout = 0;

ALTER TABLE "money"."payments" VALIDATE CONSTRAINT "payments_check1";

ALTER TABLE "storefront"."storefront_orders" VALIDATE CONSTRAINT "storefront_orders_refund_due_amount_check";
