-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "integration"."webhook_subscriptions_removed";

CREATE INDEX CONCURRENTLY webhook_subscriptions_removed ON integration.webhook_subscriptions USING btree (tenant_id) WHERE (removed_at IS NOT NULL);
