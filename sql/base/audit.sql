-- The audit log. One row per changed row, written by statement triggers in the same transaction.
-- Updates keep the changed columns only, before and after; inserts keep the new row, deletes the old. When a row was
-- changed last (`updated_at`, `changed`) is never kept: the log says it itself.
create table if not exists app.audit_log (
  id bigint generated always as identity primary key,
  tenant_id uuid,
  actor_id uuid,
  -- The API key that the call came with.
  actor_key_id uuid,
  request_id text,
  -- The client's id of the request, to find it by; never a proof of the caller.
  client_request_id text,
  operation text,
  entity text not null,
  entity_id text,
  action text not null check (action in ('insert', 'update', 'delete')),
  before jsonb,
  after jsonb,
  created_at timestamptz not null default now()
);
create index if not exists audit_log_entity on app.audit_log (tenant_id, entity_id, entity, id);
create index if not exists audit_log_request on app.audit_log (request_id);
create index if not exists audit_log_recent on app.audit_log (tenant_id, created_at desc nulls last, id desc);
create index if not exists audit_log_key on app.audit_log (tenant_id, actor_key_id, created_at desc nulls last, id desc)
  where actor_key_id is not null;
create index if not exists audit_log_actor on app.audit_log (tenant_id, actor_id, created_at desc nulls last, id desc);

-- Records who changed a row, when, and its values before and after. Argument: columns never copied (secrets), comma separated.
create or replace function private.audit() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  -- Read once a statement: thousands of rows may follow.
  v_tenant uuid := app.tenant_id();
  v_actor uuid := app.user_id();
  v_key uuid := app.request_setting('api_key_id')::uuid;
  v_client text := app.request_setting('client_request_id');
  v_request text := app.request_setting('request_id');
  v_operation text := app.request_setting('operation');
  v_hidden text[] := array['updated_at', 'changed'] || coalesce(string_to_array(tg_argv[0], ','), '{}');
  v_entity text := tg_table_schema || '.' || tg_table_name;
begin
  if tg_op = 'INSERT' then
    insert into app.audit_log (tenant_id, actor_id, actor_key_id, request_id, client_request_id, operation, entity, entity_id, action, after)
    select v_tenant, v_actor, v_key, v_request, v_client, v_operation, v_entity,
      coalesce(n.doc ->> 'id', n.doc ->> 'user_id'), 'insert',
      n.doc - v_hidden
    -- Kept apart: flattened, the document of each row would be made for each time it is used.
    from (select to_jsonb(t) as doc from new_rows t offset 0) n;
  elsif tg_op = 'DELETE' then
    insert into app.audit_log (tenant_id, actor_id, actor_key_id, request_id, client_request_id, operation, entity, entity_id, action, before)
    select v_tenant, v_actor, v_key, v_request, v_client, v_operation, v_entity,
      coalesce(o.doc ->> 'id', o.doc ->> 'user_id'), 'delete',
      o.doc - v_hidden
    from (select to_jsonb(t) as doc from old_rows t offset 0) o;
  else
    insert into app.audit_log (tenant_id, actor_id, actor_key_id, request_id, client_request_id, operation, entity, entity_id, action, before, after)
    select v_tenant, v_actor, v_key, v_request, v_client, v_operation, v_entity,
      coalesce(p.was ->> 'id', p.was ->> 'user_id'), 'update',
      c.before, c.after
    from (
      -- Both transition tables list the rows in the order of the update. Paired by grouping, not by a
      -- join: its plan, made for a session's first small change and kept, is a nested loop that takes
      -- longer than the statement timeout for thousands of rows.
      select d.line, (array_agg(d.doc) filter (where d.old))[1] as was, (array_agg(d.doc) filter (where not d.old))[1] as became
      from (
        select true as old, row_number() over () as line, to_jsonb(t) as doc from old_rows t
        union all
        select false, row_number() over (), to_jsonb(t) from new_rows t
      ) d
      group by d.line
    ) p
    cross join lateral (
      select jsonb_object_agg(f.key, p.was -> f.key) as before, jsonb_object_agg(f.key, f.value) as after
      from jsonb_each(p.became) f
      where f.value is distinct from p.was -> f.key and f.key <> all (v_hidden)
    ) c
    where c.after is not null
    order by p.line;
  end if;
  return null;
end $$;
