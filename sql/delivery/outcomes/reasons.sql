-- The reasons for attempts that do not deliver, as drivers choose them.

-- The reasons that hold, in their order. {kind?} -> [{value, label, label_translations, kind, counts, needs{photo, note, place}}]
-- label is in the language asked for.
create or replace function delivery.attempt_reasons_read(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(jsonb_agg(r.reason || jsonb_build_object('label', app.localized(r.reason -> 'label'), 'label_translations', r.reason -> 'label')
      order by r.position), '[]')
    from jsonb_array_elements(tenancy.attempt_settings() -> 'reasons') with ordinality r (reason, position)
    where not input ? 'kind' or r.reason ->> 'kind' = input ->> 'kind');
end $$;
