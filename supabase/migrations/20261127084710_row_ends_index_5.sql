-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "storefront"."custom_domains_archived";

CREATE INDEX CONCURRENTLY custom_domains_archived ON storefront.custom_domains USING btree (disconnected_at) WHERE (status = 'archived'::text);
