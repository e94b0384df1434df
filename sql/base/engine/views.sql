drop view if exists private.open_accounts cascade;

-- The accounts that may act: not those that Auth has deleted softly, nor, for as long, those that it bans. A view, since each request joins it.
create view private.open_accounts with (security_invoker = true) as
select a.id from auth.users a where a.deleted_at is null and (a.banned_until is null or a.banned_until <= now());
