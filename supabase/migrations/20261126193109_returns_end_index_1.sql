-- The table is read as a whole, and used meanwhile. The old index stays until the new one, which forbids less, is there.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts, renaming-column
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "delivery"."return_already_exists_again";

CREATE UNIQUE INDEX CONCURRENTLY return_already_exists_again ON delivery.deliveries USING btree (tenant_id, original_delivery_id) WHERE ((original_delivery_id IS NOT NULL) AND (status <> 'cancelled'::text) AND (NOT returns_part) AND (NOT ((delivery_flow = 'customer_return'::text) AND (status = 'returned'::text))) AND (NOT ((delivery_flow = 'operational_return'::text) AND (status = 'delivered'::text))));

DROP INDEX CONCURRENTLY IF EXISTS "delivery"."return_already_exists";

ALTER INDEX "delivery"."return_already_exists_again" RENAME TO "return_already_exists";
