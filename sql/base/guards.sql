-- Helpers that protect a table: row-level security, audit, append-only. Each feature's policies.sql calls them.

-- Starts (or, with audit => false, stops) writing app.audit_log rows for the changes of a table. `hidden`: columns that are
-- never copied to the log.
create or replace function app.audited(target regclass, audit boolean default true, hidden text default '') returns void
language plpgsql set search_path = '' as $$
declare
  v_event text;
begin
  foreach v_event in array array['insert', 'update', 'delete'] loop
    execute format('drop trigger if exists audit_%s on %s', v_event, target);
    if audit then
      execute format(
        'create trigger audit_%1$s after %1$s on %2$s referencing %3$s for each statement execute function private.audit(%4$L)',
        v_event, target,
        case v_event when 'insert' then 'new table as new_rows' when 'delete' then 'old table as old_rows'
          else 'old table as old_rows new table as new_rows' end,
        hidden);
    end if;
  end loop;
end $$;

-- Keeps the rows that a schedule removes at their end out of the log, which would have them once more: of deletions, only those of a request
-- are written. For tables with so many that the log would grow by more than they shrink. Called after app.tenant_table, with the same `hidden`.
create or replace function app.purged(target regclass, hidden text default '') returns void
language plpgsql set search_path = '' as $$
begin
  execute format('drop trigger if exists audit_delete on %s', target);
  execute format('create trigger audit_delete after delete on %s referencing old table as old_rows for each statement
    when (app.request_setting(''request_id'') is not null) execute function private.audit(%L)', target, hidden);
end $$;

revoke execute on function app.purged(regclass, text) from barid_caller;

-- Lets a trigger function of the table's own, private.audit_<schema>_<table>, write the rows of updates that private.audit writes of
-- other tables: it compares columns, where that makes documents of all of them. For wide tables with an id whose rows are changed many
-- at a time. Called after app.tenant_table, with the same `hidden`.
create or replace function app.audited_by_column(target regclass, hidden text default '') returns void
language plpgsql set search_path = '' as $$
declare
  v_function text := (
    select 'audit_' || n.nspname || '_' || c.relname from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.oid = target);
  -- A value of JSON that is null and no value at all are the same in a document.
  v_changed text[] := array(
    select format(case when a.atttypid = 'jsonb'::regtype
      then 'case when coalesce(n.%1$I, ''null'') <> coalesce(o.%1$I, ''null'') then jsonb_build_object(%1$L, {}.%1$I) else ''{}'' end'
      else 'case when n.%1$I is distinct from o.%1$I then jsonb_build_object(%1$L, {}.%1$I) else ''{}'' end' end, a.attname)
    from pg_catalog.pg_attribute a
    where a.attrelid = target and a.attnum > 0 and not a.attisdropped
      and a.attname <> all (array['updated_at', 'changed'] || string_to_array(hidden, ','))
    order by a.attnum);
begin
  execute format($f$
    create or replace function private.%1$I() returns trigger
    language plpgsql security definer set search_path = '' as $b$
    declare
      v_tenant uuid := app.tenant_id();
      v_actor uuid := app.user_id();
      v_key uuid := app.request_setting('api_key_id')::uuid;
      v_client text := app.request_setting('client_request_id');
      v_request text := app.request_setting('request_id');
      v_operation text := app.request_setting('operation');
    begin
      insert into app.audit_log (tenant_id, actor_id, actor_key_id, request_id, client_request_id, operation, entity, entity_id, action, before, after)
      select v_tenant, v_actor, v_key, v_request, v_client, v_operation, %2$L, c.id, 'update', c.before, c.after
      from (
        -- Both list the rows in the order of the update. A full join is never a nested loop: see private.audit.
        select o.line, o.id::text as id,
          %3$s as before,
          %4$s as after
        from (select row_number() over () as line, t.* from old_rows t) o
        full join (select row_number() over () as line, t.* from new_rows t) n on n.line = o.line
        offset 0
      ) c
      where c.after <> '{}'
      order by c.line;
      return null;
    end $b$
    $f$, v_function, target::text,
    replace(array_to_string(v_changed, E'\n          || '), '{}.', 'o.'), replace(array_to_string(v_changed, E'\n          || '), '{}.', 'n.'));
  execute format('revoke execute on function private.%I() from public, barid_caller', v_function);
  execute format('drop trigger if exists audit_update on %s', target);
  execute format('create trigger audit_update after update on %s referencing old table as old_rows new table as new_rows
    for each statement execute function private.%I()', target, v_function);
end $$;

revoke execute on function app.audited_by_column(regclass, text) from barid_caller;

-- Protects a tenant table: row-level security enabled and forced, policies, grants.
--   own              columns that hold user ids. A caller who does not see the whole tenant reaches a row only if one
--                    of these columns is their id. Null: every member of the tenant reaches every row; '{}': only
--                    callers who see the whole tenant reach rows.
--   operations       what is granted besides select: 'insert, update, delete', 'insert', or '' for nothing.
--   write_condition  SQL condition that a caller must meet to write a row that they reach; 'true' for no condition.
--                    It stands in separate restrictive policies, so it still holds if a feature replaces `tenant`.
--   audit            write app.audit_log rows for changes; false for append-only tables, which are logs themselves.
--   hidden           columns that are never copied to the audit log.
create or replace function app.tenant_table(
  target regclass, own text[] default null, operations text default 'insert, update, delete',
  audit boolean default true, hidden text default '', write_condition text default 'app.sees_tenant()'
) returns void
language plpgsql set search_path = '' as $$
declare
  v_rule text := 'tenant_id = (select app.tenant_id())';
begin
  if own is not null then
    v_rule := v_rule || ' and ((select app.sees_tenant())'
      || coalesce((select string_agg(format(' or %I = (select app.user_id())', c), '') from unnest(own) c), '') || ')';
  end if;
  execute format('alter table %s enable row level security', target);
  execute format('alter table %s force row level security', target);
  execute format('drop policy if exists tenant on %s', target);
  execute format('create policy tenant on %s for all to barid_caller using (%s) with check (%s)', target, v_rule, v_rule);
  execute format('drop policy if exists write_insert on %s', target);
  execute format('create policy write_insert on %s as restrictive for insert to barid_caller with check ((select %s))',
    target, write_condition);
  -- `using (true)`: every caller who reaches a row may lock it; only those who meet the condition may change it.
  execute format('drop policy if exists write_update on %s', target);
  execute format('create policy write_update on %s as restrictive for update to barid_caller using (true) with check ((select %s))',
    target, write_condition);
  execute format('drop policy if exists write_delete on %s', target);
  execute format('create policy write_delete on %s as restrictive for delete to barid_caller using ((select %s))',
    target, write_condition);
  execute format('revoke all on %s from public, barid_caller', target);
  execute format('grant select on %s to barid_caller', target);
  if operations <> '' then
    execute format('grant %s on %s to barid_caller', operations, target);
  end if;
  perform app.audited(target, audit, hidden);
end $$;

-- Denies all direct access to a table that is reached only through SECURITY DEFINER functions. Row-level security
-- without policies denies already; the explicit policy documents it.
create or replace function app.deny_table(target regclass) returns void
language plpgsql set search_path = '' as $$
begin
  execute format('alter table %s enable row level security', target);
  execute format('alter table %s force row level security', target);
  execute format('drop policy if exists deny_all on %s', target);
  execute format('create policy deny_all on %s for all to barid_caller using (false)', target);
end $$;

-- Refuses to change or remove rows of a log.
create or replace function private.refuse_change() returns trigger
language plpgsql set search_path = '' as $$
begin
  raise exception 'rows of %.% are never changed or removed', tg_table_schema, tg_table_name
    using errcode = 'integrity_constraint_violation';
end $$;

-- Makes a table append-only: rows can be inserted, never changed or removed, not even by the table's owner. `once` names
-- columns that one later update may set, all at the same time: those that mark the row as reversed.
create or replace function app.append_only(target regclass, once text[] default '{}') returns void
language plpgsql set search_path = '' as $$
declare
  v_changed text := case when cardinality(once) = 0 then 'true' else format(
    'not old.%I is null or to_jsonb(old) - %L::text[] is distinct from to_jsonb(new) - %L::text[]', once[1], once, once) end;
begin
  execute format('drop trigger if exists append_only on %s', target);
  execute format('create trigger append_only before update on %s for each row when (%s) execute function private.refuse_change()',
    target, v_changed);
  execute format('drop trigger if exists append_only_delete on %s', target);
  execute format('create trigger append_only_delete before delete on %s for each row execute function private.refuse_change()', target);
  execute format('drop trigger if exists append_only_truncate on %s', target);
  execute format('create trigger append_only_truncate before truncate on %s for each statement execute function private.refuse_change()', target);
end $$;

-- Sets updated_at, and fails unless the row is still the version that the caller expected (private.version_expect).
-- With an argument it also sets `changed`, the id of the last writing transaction: the cursor of incremental reads
-- (shared/api/cursor.ts).
create or replace function private.touch() returns trigger
language plpgsql set search_path = '' as $$
begin
  if current_setting('app.expected_version', true) <> '' then
    perform private.version_held(current_setting('app.expected_version')::jsonb, to_jsonb(old), tg_relid);
  end if;
  new.updated_at := clock_timestamp();
  if tg_nargs > 0 then
    new.changed := pg_current_xact_id()::text::bigint;
  end if;
  return new;
end $$;

-- Keeps updated_at current on every update.
create or replace function app.touched(target regclass) returns void
language plpgsql set search_path = '' as $$
begin
  execute format('drop trigger if exists touch on %s', target);
  execute format('create trigger touch before update on %s for each row execute function private.touch()', target);
end $$;

-- Keeps updated_at and changed current: for tables with a column `changed`, whose lists say what changed since.
create or replace function app.followed(target regclass) returns void
language plpgsql set search_path = '' as $$
begin
  execute format('drop trigger if exists touch on %s', target);
  execute format('create trigger touch before update on %s for each row execute function private.touch(''followed'')', target);
end $$;
