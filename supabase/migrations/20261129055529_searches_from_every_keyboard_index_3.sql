-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "warehousing"."inventory_counts_found";

CREATE INDEX CONCURRENTLY inventory_counts_found ON warehousing.inventory_counts USING gin (app.folded(notes) extensions.gin_trgm_ops) WHERE (notes IS NOT NULL);
