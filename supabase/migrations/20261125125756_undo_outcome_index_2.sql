-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "money"."cod_collections_reversed";

CREATE INDEX CONCURRENTLY cod_collections_reversed ON money.cod_collections USING btree (tenant_id, collected_at DESC NULLS LAST, id DESC) WHERE (reversed_at IS NOT NULL);
