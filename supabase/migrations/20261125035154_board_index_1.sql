-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "delivery"."deliveries_due";

CREATE INDEX CONCURRENTLY deliveries_due ON delivery.deliveries USING btree (tenant_id, LEAST(promised_at, deliver_before), id) INCLUDE (promised_at, deliver_before, pickup_zone_id, dropoff_zone_id) WHERE ((parent_id IS NULL) AND (status = ANY (ARRAY['pending'::text, 'assigned'::text, 'accepted'::text, 'picked_up'::text, 'in_transit'::text, 'failed'::text])) AND ((promised_at IS NOT NULL) OR (deliver_before IS NOT NULL)));
