-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "money"."payment_webhook_events_ending";

CREATE INDEX CONCURRENTLY payment_webhook_events_ending ON money.payment_webhook_events USING btree (created_at) WHERE ((outcome = 'ignored'::text) OR (raw_body IS NOT NULL));
