-- Counters of the assignments of the company, or of who is asked for own ones alone. Recently: within a day, of all that the
-- caller may see. -> {totalAssignments, pendingAssignments, completedAssignments, recentlyAddedCount}
create or replace function delivery.assignment_stats() returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_recent bigint := (select count(*) from delivery.assignments a
    where a.tenant_id = v_tenant and a.assignment_time >= now() - interval '24 hours');
begin
  if app.sees_tenant() then
    return (
      select jsonb_build_object('totalAssignments', coalesce(sum((s.kept ->> 'entries')::bigint), 0),
        'pendingAssignments', coalesce(sum((s.kept ->> 'entries')::bigint) filter (where s.status = 'pending'), 0),
        'completedAssignments', coalesce(sum((s.kept ->> 'entries')::bigint) filter (where s.status = 'completed'), 0),
        'recentlyAddedCount', v_recent)
      from jsonb_each(app.tally_by('assignments', 'status')) s (status, kept));
  end if;
  return (
    select jsonb_build_object('totalAssignments', count(*), 'pendingAssignments', count(*) filter (where a.status = 'pending'),
      'completedAssignments', count(*) filter (where a.status = 'completed'), 'recentlyAddedCount', v_recent)
    from delivery.assignments a where a.tenant_id = v_tenant and a.driver_id = app.user_id());
end $$;

grant execute on function delivery.assignment_stats() to barid_caller;
