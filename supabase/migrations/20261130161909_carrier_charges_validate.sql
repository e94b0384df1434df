-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
set lock_timeout = '1min';
set statement_timeout = 0;

ALTER TABLE "money"."carrier_remittances" VALIDATE CONSTRAINT "charges_are_of_the_payment";
