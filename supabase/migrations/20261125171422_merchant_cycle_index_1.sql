-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "money"."wallet_holds_days";

CREATE INDEX CONCURRENTLY wallet_holds_days ON money.wallet_holds USING btree (tenant_id, counts_from) INCLUDE (account_id, amount) WHERE (counts_from > created_at);
