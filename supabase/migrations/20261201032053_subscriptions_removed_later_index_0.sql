-- What the constraint of the next file stands on. The table is read as a whole, and used meanwhile.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "integration"."webhook_subscription_exists_once";

CREATE UNIQUE INDEX CONCURRENTLY webhook_subscription_exists_once ON integration.webhook_subscriptions USING btree (tenant_id, module_id, owner_user_id, removed_at) NULLS NOT DISTINCT;
