select app.tenant_table('app.counters', operations => 'insert, update', audit => false, write_condition => 'true');

-- Reached only through SECURITY DEFINER functions.
select app.deny_table('app.idempotency_keys');
select app.deny_table('app.jobs');
select app.deny_table('app.rate_buckets');
select app.deny_table('app.timelines');
select app.deny_table('app.tenant_timelines');
