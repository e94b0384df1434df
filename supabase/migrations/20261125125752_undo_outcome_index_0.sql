-- Before the functions that say on conflict. The table is read as a whole, and used meanwhile.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "money"."cash_already_taken";

CREATE UNIQUE INDEX CONCURRENTLY cash_already_taken ON money.cod_collections USING btree (tenant_id, delivery_id, collection_stage) NULLS NOT DISTINCT WHERE (reversed_at IS NULL);
