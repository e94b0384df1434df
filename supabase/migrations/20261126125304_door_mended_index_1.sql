-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "delivery"."deliveries_going_back";

CREATE INDEX CONCURRENTLY deliveries_going_back ON delivery.deliveries USING btree (tenant_id, original_delivery_id) WHERE ((delivery_flow = 'operational_return'::text) AND (status <> ALL (ARRAY['delivered'::text, 'cancelled'::text])));
