-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "delivery"."deliveries_found";

CREATE INDEX CONCURRENTLY deliveries_found ON delivery.deliveries USING gin (app.folded((((((((((delivery_code)::text || ' '::text) || barcode) || ' '::text) || COALESCE(external_reference_id, ''::text)) || ' '::text) || COALESCE((recipient ->> 'name'::text), ''::text)) || ' '::text) || COALESCE((recipient ->> 'phone'::text), ''::text))) extensions.gin_trgm_ops);
