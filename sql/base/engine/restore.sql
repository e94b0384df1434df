-- The steps that a dump of another database needs before and after it is loaded into one that the migrations have just built, all
-- in one transaction with session_replication_role = replica, so that no trigger or foreign key acts on rows that were
-- checked when they were written (see docs/operations.md). By hand, by the owner of the tables.

-- Empties every table of ours, whose first rows the dump has as well. Fails where there is a tenant, and where triggers
-- act: logs refuse to be emptied.
create or replace function private.restore_begin() returns void
language plpgsql set search_path = '' as $$
begin
  if exists (select from tenancy.tenants) then
    raise exception 'this database has tenants: a dump is loaded into an empty one only'
      using errcode = 'object_not_in_prerequisite_state';
  end if;
  execute (
    select 'truncate ' || string_agg(format('%I.%I', t.schemaname, t.tablename), ', ') from pg_tables t
    where t.schemaname in ('app', 'private', 'tenancy', 'money', 'delivery', 'warehousing', 'storefront', 'integration', 'public'));
end $$;

-- Makes the numbers of transactions in rows older than all to come, since another server counts its own: an old journal
-- would otherwise be open again in the transaction that has its number here, and a copy kept by `updated_since` miss
-- changes; its cursors of before are refused. Which columns hold them is read from their defaults and types.
create or replace function private.restore_end() returns void
language plpgsql set search_path = '' as $$
declare
  v_column record;
begin
  for v_column in
    select n.nspname as schema, c.relname as name, a.attname as numbered
    from pg_attribute a
    join pg_class c on c.oid = a.attrelid and c.relkind = 'r'
    join pg_namespace n on n.oid = c.relnamespace
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where a.attnum > 0 and not a.attisdropped and n.nspname <> 'pg_catalog'
      and (a.atttypid = 'xid8'::regtype or pg_get_expr(d.adbin, d.adrelid) like '%pg_current_xact_id()%')
  loop
    execute format('update %1$I.%2$I set %3$I = ''1'' where %3$I is not null', v_column.schema, v_column.name, v_column.numbered);
  end loop;
  perform private.timeline_begin(2);
end $$;
