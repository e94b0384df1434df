-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "delivery"."deliveries_unassigned";

CREATE INDEX CONCURRENTLY deliveries_unassigned ON delivery.deliveries USING btree (tenant_id, pickup_zone_id, created_at) WHERE ((status = 'pending'::text) AND (carrier_type = 'internal'::text) AND (delivery_flow <> 'pnd_parent'::text));
