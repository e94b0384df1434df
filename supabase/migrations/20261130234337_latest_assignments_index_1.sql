-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "delivery"."assignments_latest";

CREATE INDEX CONCURRENTLY assignments_latest ON delivery.assignments USING btree (tenant_id, assignment_time DESC NULLS LAST, id DESC) INCLUDE (driver_id);
