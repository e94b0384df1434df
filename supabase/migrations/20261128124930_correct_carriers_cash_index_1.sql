-- The table is read as a whole, and used meanwhile.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "money"."carrier_cash_taken_once";

CREATE UNIQUE INDEX CONCURRENTLY carrier_cash_taken_once ON money.carrier_collections USING btree (tenant_id, delivery_id) WHERE (status <> 'reversed'::text);
