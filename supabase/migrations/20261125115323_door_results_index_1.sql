-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "delivery"."deliveries_overnight";

CREATE INDEX CONCURRENTLY deliveries_overnight ON delivery.deliveries USING btree (overnight_notice_at) WHERE (overnight_notice_at IS NOT NULL);
