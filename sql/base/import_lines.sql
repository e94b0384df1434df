-- Refuses an amount that a file writes with exactly three digits after its point, which may be thousands or decimals, unless the currency has
-- three decimals. Fails: too_many_decimals.
create or replace function app.require_clear_amount(field text) returns void
language plpgsql stable set search_path = '' as $$
declare
  v_currency record := app.currency();
begin
  if v_currency.decimals < 3 then
    perform app.fail('too_many_decimals', jsonb_build_object('field', field, 'currency', v_currency.code, 'decimals', v_currency.decimals,
      'text_key', 'amount_may_be_thousands'));
  end if;
end $$;

-- Makes one thing of each line of a file by the core that makes a single one, all or none.
-- core: area.noun_verb; made: where in its answer the id stands. input {lines [{line, input, unclear?: a field, see
-- app.require_clear_amount}], dry_run, refused?: lines that were refused before}; common: what every line's input gets as well.
-- -> {ids in the order of the lines, errors: the first 100 [{line, code, state, constraint, params}], error_count}
-- A dry run makes everything, rolls it back and reports. Fails: import_has_errors (errors, error_count).
-- Lines run together in one subtransaction; one that fails is recorded, those before it run again, and the rest continues
-- after it. So no line runs more than twice, and a file without faults needs no subtransaction of its own per line.
create or replace function app.import_lines(core text, made text[], input jsonb, common jsonb default '{}') returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_lines jsonb[] := array(select l.line from jsonb_array_elements(input -> 'lines') with ordinality l (line, position) order by l.position);
  v_call text := format('select %I.%I($1) #>> $2', split_part(core, '.', 1), split_part(core, '.', 2));
  v_from integer := 1;
  v_to integer := cardinality(v_lines);
  v_at integer;
  v_id text;
  v_new text[];
  v_ids text[] := '{}';
  v_errors jsonb[] := '{}';
  v_constraint text;
  v_detail text;
  v_answer jsonb;
begin
  begin
    while v_from <= cardinality(v_lines) loop
      begin
        v_new := '{}';
        v_at := v_from;
        while v_at <= v_to loop
          if v_lines[v_at] ? 'unclear' then
            perform app.require_clear_amount(v_lines[v_at] ->> 'unclear');
          end if;
          execute v_call into v_id using (v_lines[v_at] -> 'input') || common, made;
          v_new := v_new || v_id;
          v_at := v_at + 1;
        end loop;
        v_ids := v_ids || v_new;
        v_from := v_to + 2;
        v_to := cardinality(v_lines);
      exception when sqlstate 'RULE0' or integrity_constraint_violation or data_exception then
        get stacked diagnostics v_constraint = constraint_name, v_detail = pg_exception_detail;
        v_errors := v_errors || jsonb_build_object('line', v_lines[v_at] -> 'line', 'code', sqlerrm, 'state', sqlstate,
          'constraint', v_constraint,
          'params', case when sqlstate = 'RULE0' then v_detail::jsonb - 'language' else '{}' end);
        v_to := v_at - 1;
      end;
    end loop;
    -- A dry run would miss constraints that wait for the commit.
    set constraints all immediate;
    if (input ->> 'dry_run')::boolean then
      raise exception using errcode = 'UNDO0', message = 'dry run';
    end if;
  exception when sqlstate 'UNDO0' then
    null;
  end;
  -- A line that ran twice may have failed twice, since others write meanwhile.
  select jsonb_build_object('ids', v_ids, 'error_count', count(*), 'errors', coalesce(jsonb_agg(e.error order by e.line) filter (where e.number <= 100), '[]'))
  into v_answer
  from (
    select u.line, u.error, row_number() over (order by u.line) as number from (
      select distinct on (x.line) x.line, x.error
      from (select (n.error ->> 'line')::integer as line, n.error from unnest(v_errors) n (error)) x order by x.line
    ) u
  ) e;
  if not (input ->> 'dry_run')::boolean
    and (v_answer ->> 'error_count')::integer + coalesce((input ->> 'refused')::integer, 0) > 0 then
    perform app.fail('import_has_errors', v_answer - 'ids');
  end if;
  return v_answer;
end $$;
