-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "money"."payment_gateways_account_id";

CREATE INDEX CONCURRENTLY payment_gateways_account_id ON money.payment_gateways USING btree (gateway_code, ((settings ->> 'account_id'::text)));

DROP INDEX CONCURRENTLY IF EXISTS "money"."payment_gateways_account";
