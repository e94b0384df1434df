-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "storefront"."orders_refund_due";

CREATE INDEX CONCURRENTLY orders_refund_due ON storefront.storefront_orders USING btree (tenant_id, created_at DESC NULLS LAST, id DESC) WHERE (refund_due_amount > (0)::numeric);
