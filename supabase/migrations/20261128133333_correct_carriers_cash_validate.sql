-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
set lock_timeout = '1min';
set statement_timeout = 0;

ALTER TABLE "money"."carrier_collections" VALIDATE CONSTRAINT "carrier_cash_state";

ALTER TABLE "money"."carrier_collections" VALIDATE CONSTRAINT "carrier_collections_status_check";

ALTER TABLE "money"."carrier_remittances" VALIDATE CONSTRAINT "carrier_remittances_kind_check";

ALTER TABLE "money"."carrier_remittances" VALIDATE CONSTRAINT "texts_within_bounds";
