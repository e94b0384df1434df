/**
 * Judges every event that Barid's own code writes to the shared database by the catalogue (`integration.event_types`): its
 * type, who tells it of what kind of thing, and its fields with their types. What is not as the catalogue says is kept in a
 * table of the watch; each file of tests asks for it when it ends, and fails with the name of the event and of the field.
 *
 * Whose an event is shows in what wrote it: with a function of ours on the stack it is Barid's own, unless that function is
 * the one that publishes what others ask for. Tests write rows of their own without any function.
 */
import type postgres from "postgres";

/** Puts the watch into a database, where it sees each statement that writes events. */
export async function watchEvents(sql: postgres.Sql): Promise<void> {
  await sql.unsafe(`
    create schema watch;
    create table watch.untrue_events (id bigint generated always as identity primary key, wrong text not null, written_by text not null);

    create function watch.has_type(value jsonb, type text) returns boolean
    language plpgsql immutable set search_path = '' as $$
    declare
      v_kind text := jsonb_typeof(value);
      v_text text := value #>> '{}';
    begin
      if v_kind = 'null' then
        return type like '%?';
      end if;
      return case rtrim(type, '?')
        when 'uuid' then v_kind = 'string' and v_text ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
        when 'timestamp' then v_kind = 'string' and v_text ~ '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d'
        when 'integer' then v_kind = 'number' and v_text ~ '^-?\\d+$'
        else v_kind = rtrim(type, '?') end;
    end $$;

    create function watch.wrong_with(e integration.system_events) returns setof text
    language plpgsql stable set search_path = '' as $$
    declare
      k integration.event_types;
    begin
      select * into k from integration.event_types t where t.event_type = e.event_type;
      if not found then
        return next 'is not in the catalogue';
        return;
      end if;
      if k.source_module <> e.source_module then
        return next format('comes from %s, not %s', e.source_module, k.source_module);
      end if;
      if k.entity_type <> e.entity_type then
        return next format('is about a thing of the kind %s, not %s', e.entity_type, k.entity_type);
      end if;
      return query
      select case when d.key is null then format('has a field %s that is not declared: %s', g.key, g.value)
        when g.key is null then format('has no field %s', d.key)
        else format('has %s in %s, which is declared as %s', g.value, d.key, d.value) end
      from jsonb_each(e.event_data) g full join jsonb_each_text(k.event_data) d on d.key = g.key
      where d.key is null or g.key is null or not watch.has_type(g.value, d.value)
      order by 1;
    end $$;

    create function watch.events() returns trigger
    language plpgsql security definer set search_path = '' as $$
    declare
      v_stack text;
    begin
      get diagnostics v_stack = pg_context;
      if v_stack !~ 'function (app|private|tenancy|money|delivery|warehousing|storefront|integration)\\.'
          or v_stack ~ 'function integration\\.event_publish\\(' then
        return null;
      end if;
      insert into watch.untrue_events (wrong, written_by)
      select distinct format('%s %s', n.event_type, w.wrong), v_stack from new_rows n cross join watch.wrong_with(n) w (wrong);
      return null;
    end $$;
    create trigger watch after insert on integration.system_events referencing new table as new_rows
      for each statement execute function watch.events();`);
}

/** The findings since the last call; each is returned once. */
export async function untrueEvents(sql: postgres.Sql): Promise<string[]> {
  const seen = await sql`delete from watch.untrue_events returning wrong, written_by`;
  return [...new Map(seen.map((row) => [row.wrong, `${row.wrong}\n${row.written_by}`])).values()];
}
