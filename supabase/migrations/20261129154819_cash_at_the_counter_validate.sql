-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
set lock_timeout = '1min';
set statement_timeout = 0;

ALTER TABLE "money"."cash_transfers" VALIDATE CONSTRAINT "cash_has_a_desk";

ALTER TABLE "money"."cash_transfers" VALIDATE CONSTRAINT "cash_transfer_kind";

ALTER TABLE "money"."cash_transfers" VALIDATE CONSTRAINT "cash_transfers_tenant_id_payment_id_fkey";

ALTER TABLE "money"."cash_transfers" VALIDATE CONSTRAINT "cash_transfers_to_owner_type_check";

ALTER TABLE "money"."cash_transfers" VALIDATE CONSTRAINT "desk_has_its_user";

ALTER TABLE "money"."cash_transfers" VALIDATE CONSTRAINT "expense_says_for_what";

ALTER TABLE "money"."cash_transfers" VALIDATE CONSTRAINT "payout_has_receipt";

ALTER TABLE "money"."cash_transfers" VALIDATE CONSTRAINT "texts_within_bounds";

ALTER TABLE "money"."cash_transfers" VALIDATE CONSTRAINT "wallet_has_its_payment";
