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

-- The name in the log of a row that has neither an id nor a person: the other columns of its primary key, with points between them.
create or replace function private.audit_key(relation oid, doc jsonb) returns text
language plpgsql stable set search_path = '' as $$
begin
  return (
    select string_agg(doc ->> a.attname, '.' order by k.place)
    from pg_catalog.pg_index i
    cross join unnest(i.indkey::smallint[]) with ordinality k (attnum, place)
    join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
    where i.indrelid = relation and i.indisprimary and a.attname <> 'tenant_id');
end $$;

-- Records who changed a row, when, and its values before and after, in the log of the tenant whose row it is: schedules, Auth and
-- those who manage the system change rows of tenants that they do not act in. A membership is named by its person, a row without an
-- id by what it is about. Argument: columns never copied (secrets), comma separated.
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
  v_owner text := case v_entity when 'tenancy.tenants' then 'id' else 'tenant_id' end;
  v_id text := case v_entity when 'tenancy.tenant_users' then 'user_id' else 'id' end;
begin
  if tg_op = 'INSERT' then
    insert into app.audit_log (tenant_id, actor_id, actor_key_id, request_id, client_request_id, operation, entity, entity_id, action, after)
    select coalesce((n.doc ->> v_owner)::uuid, v_tenant), v_actor, v_key, v_request, v_client, v_operation, v_entity,
      coalesce(n.doc ->> v_id, n.doc ->> 'user_id', private.audit_key(tg_relid, n.doc)), 'insert',
      n.doc - v_hidden
    -- Kept apart: flattened, the document of each row would be made for each time it is used.
    from (select to_jsonb(t) as doc from new_rows t offset 0) n;
  elsif tg_op = 'DELETE' then
    insert into app.audit_log (tenant_id, actor_id, actor_key_id, request_id, client_request_id, operation, entity, entity_id, action, before)
    select coalesce((o.doc ->> v_owner)::uuid, v_tenant), v_actor, v_key, v_request, v_client, v_operation, v_entity,
      coalesce(o.doc ->> v_id, o.doc ->> 'user_id', private.audit_key(tg_relid, o.doc)), 'delete',
      o.doc - v_hidden
    from (select to_jsonb(t) as doc from old_rows t offset 0) o;
  else
    insert into app.audit_log (tenant_id, actor_id, actor_key_id, request_id, client_request_id, operation, entity, entity_id, action, before, after)
    select coalesce((p.was ->> v_owner)::uuid, v_tenant), v_actor, v_key, v_request, v_client, v_operation, v_entity,
      coalesce(p.was ->> v_id, p.was ->> 'user_id', private.audit_key(tg_relid, p.was)), 'update',
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
