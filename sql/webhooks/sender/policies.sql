alter table integration.sender_watch enable row level security;
alter table integration.sender_watch force row level security;
drop policy if exists nobody on integration.sender_watch;
create policy nobody on integration.sender_watch for all to barid_caller using (false);
