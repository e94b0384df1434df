-- A document without one person, for the owner of the project: npm run tenant -- erase calls it for each document of the list
-- supabase/tenant/personal.txt. Every text in which the person's name, street or contact stands becomes the word; an object that holds
-- the person's id or contact gives up its names and contacts; a place that is the person's keeps its city and zone, and one of the company
-- gives up the contact alone. In an object about another person or another delivery the contact alone counts, for names are shared.
-- subject: {person: id or null, ids: [what is the person's], places: [addresses of the company], contact, texts: regular expressions,
-- word, kept: [names of the company's places]}.
create or replace function tenancy.without_person(document jsonb, subject jsonb) returns jsonb
language plpgsql immutable set search_path = '' as $$
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
end $$;

-- A place of one person without what says where it is, but for city, country and zone; a document that is no place, with that done to its
-- dropoff_snapshot. Addresses of the company (places, by their ids) stay. {full_address, ...} or {dropoff_snapshot?, ...} -> the same
create or replace function tenancy.without_place(document jsonb, places text[], word text) returns jsonb
language plpgsql immutable strict set search_path = '' as $$
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
end $$;

-- Nobody calls these but the owner.
revoke execute on function tenancy.without_person(jsonb, jsonb), tenancy.without_place(jsonb, text[], text) from barid_caller;
