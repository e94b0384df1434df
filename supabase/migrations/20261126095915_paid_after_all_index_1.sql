-- The table is read as a whole, and used meanwhile.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "money"."payment_key_used";

CREATE UNIQUE INDEX CONCURRENTLY payment_key_used ON money.payments USING btree (tenant_id, actor_id, type, idempotency_key) WHERE (idempotency_key IS NOT NULL);
