-- Marks the caller's notifications as read: those named, or without ids all of them. What was read
-- before keeps its time; other people's are ignored. {notification_ids?: [uuid]} -> {updated_count, unread_count}
create or replace function tenancy.notifications_read(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_ids uuid[] := case when input ->> 'notification_ids' is not null then app.uuids(input -> 'notification_ids') end;
  v_count integer;
begin
  update tenancy.notifications n set read_at = clock_timestamp()
  where n.user_id = app.user_id() and n.read_at is null and (v_ids is null or n.id = any (v_ids));
  get diagnostics v_count = row_count;
  return jsonb_build_object('updated_count', v_count,
    'unread_count', (select count(*) from tenancy.notifications_mine l where l.read_at is null));
end $$;

-- Deletes notifications after 180 days, read or not. A batch a run. Run by cron. -> how many
create or replace function tenancy.notifications_purge() returns bigint
language plpgsql set search_path = '' as $$
declare
  v_count bigint;
begin
  delete from tenancy.notifications n where n.id in (
    select x.id from tenancy.notifications x
    where x.created_at < now() - interval '180 days'
    order by x.created_at limit 50000 for update skip locked);
  get diagnostics v_count = row_count;
  return v_count;
end $$;

-- Nobody calls it but cron.
revoke execute on function tenancy.notifications_purge() from barid_caller;
