-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "money"."payments_to_ask_about";

CREATE INDEX CONCURRENTLY payments_to_ask_about ON money.payments USING btree (created_at) WHERE ((payment_method = 'gateway'::text) AND (status <> 'SUCCESS'::text));
