-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "warehousing"."inventory_transactions_of_item";

CREATE INDEX CONCURRENTLY inventory_transactions_of_item ON warehousing.inventory_transactions USING btree (tenant_id, item_id, id DESC NULLS LAST);
