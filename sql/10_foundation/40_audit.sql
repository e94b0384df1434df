-- Who changed what. One row per changed row, written by statement triggers in the same transaction.
-- Updates keep the changed columns only, before and after; inserts keep the new row, deletes the old.
create table if not exists app.audit_log (
  id bigint generated always as identity primary key,
  tenant_id uuid,
  actor_id uuid,
  request_id text,
  operation text,
  entity text not null,
  entity_id text,
  action text not null check (action in ('insert', 'update', 'delete')),
  before jsonb,
  after jsonb,
  created_at timestamptz not null default now()
);
create index if not exists audit_log_entity on app.audit_log (tenant_id, entity, entity_id, id);
create index if not exists audit_log_request on app.audit_log (request_id);

-- Trigger arguments: 1 = expression columns never copied (secrets), comma separated.
create or replace function private.audit() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  v_hidden text[] := array['updated_at'] || coalesce(string_to_array(tg_argv[0], ','), '{}');
  v_entity text := tg_table_schema || '.' || tg_table_name;
begin
  if tg_op = 'INSERT' then
    insert into app.audit_log (tenant_id, actor_id, request_id, operation, entity, entity_id, action, after)
    select app.tenant_id(), app.user_id(), app.request_setting('request_id'), app.request_setting('operation'),
      v_entity, coalesce(n.doc ->> 'id', n.doc ->> 'user_id'), 'insert', jsonb_strip_nulls(n.doc - v_hidden)
    from (select to_jsonb(t) as doc from new_rows t) n;
  elsif tg_op = 'DELETE' then
    insert into app.audit_log (tenant_id, actor_id, request_id, operation, entity, entity_id, action, before)
    select app.tenant_id(), app.user_id(), app.request_setting('request_id'), app.request_setting('operation'),
      v_entity, coalesce(o.doc ->> 'id', o.doc ->> 'user_id'), 'delete', jsonb_strip_nulls(o.doc - v_hidden)
    from (select to_jsonb(t) as doc from old_rows t) o;
  else
    insert into app.audit_log (tenant_id, actor_id, request_id, operation, entity, entity_id, action, before, after)
    select app.tenant_id(), app.user_id(), app.request_setting('request_id'), app.request_setting('operation'),
      v_entity, coalesce(c.key ->> 'id', c.key ->> 'user_id'), 'update', c.before, c.after
    from (
      select o.doc as key,
        (select jsonb_object_agg(b.key, b.value) from jsonb_each(o.doc) b
          where n.doc -> b.key is distinct from b.value and b.key <> all (v_hidden)) as before,
        (select jsonb_object_agg(a.key, a.value) from jsonb_each(n.doc) a
          where o.doc -> a.key is distinct from a.value and a.key <> all (v_hidden)) as after
      from (select row_number() over () as line, to_jsonb(t) as doc from old_rows t) o
      join (select row_number() over () as line, to_jsonb(t) as doc from new_rows t) n using (line)
    ) c
    where c.after is not null;
  end if;
  return null;
end $$;
