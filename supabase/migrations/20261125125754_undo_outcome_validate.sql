-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
set lock_timeout = '1min';
set statement_timeout = 0;

ALTER TABLE "money"."cod_collections" VALIDATE CONSTRAINT "reversed_cash_was_in_hand";
