-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "integration"."carrier_shipments_status";

CREATE INDEX CONCURRENTLY carrier_shipments_status ON integration.carrier_shipments USING btree (tenant_id, status, created_at DESC NULLS LAST, id DESC);
