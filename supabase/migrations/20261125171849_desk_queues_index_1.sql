-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "money"."wallet_holds_on_bank";

CREATE INDEX CONCURRENTLY wallet_holds_on_bank ON money.wallet_holds USING btree (tenant_id, reference_type, reference_id) WHERE ((release = 'on_bank'::text) AND (step = 1));
