-- Releases for a later day, by that day.
create index if not exists wallet_holds_days on money.wallet_holds (tenant_id, counts_from) include (account_id, amount) where counts_from > created_at;
