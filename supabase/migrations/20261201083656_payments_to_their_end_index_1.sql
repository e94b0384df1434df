-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "money"."top_ups_pending";

CREATE INDEX CONCURRENTLY top_ups_pending ON money.payments USING btree (expires_at) WHERE ((type = 'WALLET_TOPUP'::text) AND (status = 'pending'::text));
