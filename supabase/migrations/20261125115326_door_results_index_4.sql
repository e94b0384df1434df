-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "delivery"."delivery_items_returned";

CREATE INDEX CONCURRENTLY delivery_items_returned ON delivery.delivery_items USING btree (tenant_id, returned_item_id) WHERE (returned_item_id IS NOT NULL);
