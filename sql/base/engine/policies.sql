select app.tenant_table('app.counters', writes => 'insert, update', audit => false, writers => 'true');

-- No request reads these; the definers in `private` do. A policy that admits nobody says so.
alter table app.idempotency_keys enable row level security;
alter table app.idempotency_keys force row level security;
drop policy if exists nobody on app.idempotency_keys;
create policy nobody on app.idempotency_keys for all to barid_caller using (false);
alter table app.jobs enable row level security;
alter table app.jobs force row level security;
drop policy if exists nobody on app.jobs;
create policy nobody on app.jobs for all to barid_caller using (false);
alter table app.rate_buckets enable row level security;
alter table app.rate_buckets force row level security;
drop policy if exists nobody on app.rate_buckets;
create policy nobody on app.rate_buckets for all to barid_caller using (false);
