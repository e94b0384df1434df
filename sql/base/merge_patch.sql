-- JSON Merge Patch (RFC 7396): objects merge key by key, null removes a key, everything else replaces.
create or replace function app.merge_patch(target jsonb, patch jsonb) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
  if jsonb_typeof(patch) is distinct from 'object' then
    return patch;
  end if;
  return (
    select coalesce(jsonb_object_agg(m.key, m.value), '{}')
    from (
      select t.key, t.value from jsonb_each(case when jsonb_typeof(target) = 'object' then target else '{}' end) t
      where not patch ? t.key
      union all
      select p.key, app.merge_patch(case when jsonb_typeof(target) = 'object' then target -> p.key end, p.value)
      from jsonb_each(patch) p where p.value <> 'null'
    ) m);
end $$;
