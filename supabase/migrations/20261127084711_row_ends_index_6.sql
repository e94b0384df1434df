-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "tenancy"."notifications_created";

CREATE INDEX CONCURRENTLY notifications_created ON tenancy.notifications USING btree (created_at);
