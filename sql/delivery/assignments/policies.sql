select app.tenant_table('delivery.bulk_assignments', own => '{driver_id}', operations => 'insert');

-- Drivers answer and end their own assignments.
select app.tenant_table('delivery.assignments', own => '{driver_id}', operations => 'insert, update', write_condition => 'true');
select app.audited_by_column('delivery.assignments');

select app.tenant_table('public.delivery_realtime_assignments', own => '{driver_id}', operations => '', audit => false);
select app.touched('public.delivery_realtime_assignments');
select app.followed('delivery.assignments');

-- A driver's app subscribes to its rows through Supabase Realtime, which checks as `authenticated` with the
-- subscriber's token. Reading is all there is: the rows are written by a trigger alone.
drop policy if exists subscribers on public.delivery_realtime_assignments;
create policy subscribers on public.delivery_realtime_assignments for select to authenticated
  using (tenant_id = (select app.tenant_id()) and driver_id = (select app.user_id()) and (select delivery.hears_assignments()));

grant select on public.delivery_realtime_assignments to authenticated;

-- The policy calls these; without usage of the schema nobody else can.
grant execute on function app.tenant_id(), app.user_id(), delivery.hears_assignments() to authenticated;

do $$
begin
  if not exists (select from pg_publication where pubname = 'supabase_realtime') then
    raise notice 'there is no publication supabase_realtime: nobody hears of assignments';
  elsif not exists (select from pg_publication_tables where pubname = 'supabase_realtime'
      and schemaname = 'public' and tablename = 'delivery_realtime_assignments') then
    alter publication supabase_realtime add table public.delivery_realtime_assignments;
  end if;
end $$;

select app.counted('assignments', 'delivery.assignments', '{status,driver_id}', rollup => '{status}');
