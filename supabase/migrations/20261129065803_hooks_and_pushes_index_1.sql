-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "integration"."webhook_events_type";

CREATE INDEX CONCURRENTLY webhook_events_type ON integration.webhook_events USING btree (tenant_id, subscription_id, event_type, created_at DESC NULLS LAST, id DESC);
