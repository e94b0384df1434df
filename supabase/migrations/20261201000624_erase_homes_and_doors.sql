-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION tenancy.without_person(document jsonb, subject jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
declare
  v_word jsonb := subject -> 'word';
  v_person text := subject ->> 'person';
  v_about text := coalesce(document ->> 'delivery_id', case when document ? 'full_name' then document ->> 'id' end);
  v_texts text;
  v_theirs boolean;
  v_company boolean := coalesce(document ? 'full_address' and subject -> 'places' ? (document ->> 'id'), false);
  -- Theirs, whatever it is called: its street may be no more than a city.
  v_home boolean := coalesce(document ? 'full_address' and subject -> 'ids' ? (document ->> 'id'), false);
  v_place boolean;
begin
  if jsonb_typeof(document) = 'string' then
    return case when document #>> '{}' ~* (subject ->> 'texts') then v_word else document end;
  elsif jsonb_typeof(document) = 'array' then
    return (select coalesce(jsonb_agg(tenancy.without_person(e.value, subject) order by e.place), '[]')
      from jsonb_array_elements(document) with ordinality e (value, place));
  elsif jsonb_typeof(document) <> 'object'
      or not (document::text ~* (subject ->> 'texts') or v_home or coalesce(strpos(document::text, '"id": "' || v_person || '"') > 0, false)) then
    return document;
  end if;
  v_texts := case when v_about is null or subject -> 'ids' ? v_about then subject ->> 'texts' else subject ->> 'contact' end;
  v_theirs := coalesce(document ->> 'id' = v_person, false) or exists (select from jsonb_each(document) f
    where jsonb_typeof(f.value) = 'string' and f.value #>> '{}' ~* (subject ->> 'contact'));
  v_place := v_home or document ? 'full_address' and not v_company and document::text ~* v_texts;
  return (
    select jsonb_object_agg(f.key, case
      when f.key in ('city', 'country') or v_company and f.key = 'full_address' and f.value::text !~* (subject ->> 'contact') then f.value
      when v_place and f.key in ('title', 'contact_info') then '{}'
      when v_place and f.key = 'full_address' then v_word
      when v_place and f.key in ('latitude', 'longitude', 'lat', 'lng', 'long') then 'null'
      when f.key = 'recipient' and jsonb_typeof(f.value) = 'object' and f.value::text ~* v_texts
        then jsonb_build_object('name', v_word, 'phone', null)
      when f.key = 'contact_info' and f.value::text ~* (subject ->> 'contact') then '{}'
      when f.key in ('phone', 'email', 'avatar', 'avatar_url') and (v_theirs or f.value::text ~* v_texts) then 'null'
      when v_theirs and f.key in ('name', 'full_name', 'first_name', 'last_name') and jsonb_typeof(f.value) = 'string'
        and not coalesce(subject -> 'kept' ? (f.value #>> '{}'), false) then v_word
      else tenancy.without_person(f.value, subject || jsonb_build_object('texts', v_texts)) end)
    from jsonb_each(document) f);
end $function$;

CREATE OR REPLACE FUNCTION tenancy.without_place(document jsonb, places text[], word text)
 RETURNS jsonb
 LANGUAGE plpgsql
 IMMUTABLE STRICT
 SET search_path TO ''
AS $function$
begin
  if jsonb_typeof(document) <> 'object' or coalesce(document ->> 'id' = any (places), false) then
    return document;
  elsif document ? 'full_address' then
    return (
      select jsonb_object_agg(f.key, case
        when f.key = 'full_address' then to_jsonb(word)
        when f.key in ('title', 'contact_info') then '{}'
        when f.key in ('latitude', 'longitude', 'lat', 'lng', 'long') then 'null'
        else f.value end)
      from jsonb_each(document) f);
  end if;
  return document || case when document ? 'dropoff_snapshot'
    then jsonb_build_object('dropoff_snapshot', tenancy.without_place(document -> 'dropoff_snapshot', places, word)) else '{}' end;
end $function$;

REVOKE ALL ON FUNCTION "tenancy"."without_place"(jsonb, text[], text) FROM "barid_caller";

REVOKE ALL ON FUNCTION "tenancy"."without_place"(jsonb, text[], text) FROM PUBLIC;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201000624';
end $$;

grant execute on function private.schema_version() to barid_api;
