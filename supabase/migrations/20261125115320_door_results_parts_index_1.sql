-- The table is read as a whole, and used meanwhile.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "delivery"."return_of_all_exists";

CREATE UNIQUE INDEX CONCURRENTLY return_of_all_exists ON delivery.deliveries USING btree (tenant_id, original_delivery_id) WHERE ((original_delivery_id IS NOT NULL) AND (status <> 'cancelled'::text) AND (NOT returns_part));
