-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "storefront"."carts_untouched";

CREATE INDEX CONCURRENTLY carts_untouched ON storefront.carts USING btree (updated_at) WHERE (status <> 'converted'::text);
