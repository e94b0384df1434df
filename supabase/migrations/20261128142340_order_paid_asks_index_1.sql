-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "money"."carrier_collections_delivery";

CREATE INDEX CONCURRENTLY carrier_collections_delivery ON money.carrier_collections USING btree (tenant_id, delivery_id);
