-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "delivery"."deliveries_dialled";

CREATE INDEX CONCURRENTLY deliveries_dialled ON delivery.deliveries USING gin (app.dialled((recipient ->> 'phone'::text)) extensions.gin_trgm_ops) WHERE ((recipient ->> 'phone'::text) ~ '[^0-9+]'::text);
