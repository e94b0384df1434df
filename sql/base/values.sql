-- Small conversions that cores and views share.

-- User text as an ILIKE pattern that matches it anywhere, with %, _ and \ taken literally.
create or replace function app.contains_pattern(search text) returns text
language plpgsql immutable strict parallel safe set search_path = '' as $$
begin
  return '%' || replace(replace(replace(search, '\', '\\'), '%', '\%'), '_', '\_') || '%';
end $$;

-- The same text with ASCII digits for the Arabic-Indic (U+0660) and extended Arabic-Indic (U+06F0) ones.
create or replace function app.ascii_digits(value text) returns text
language plpgsql immutable strict parallel safe set search_path = '' as $$
begin
  return translate(value, '٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹', '01234567890123456789');
end $$;

-- A text as searches compare it, so that it is found from every keyboard: ASCII digits, one letter for those that Arabic, Kurdish and Persian
-- keyboards write differently (ي ی ى, ك ک, ه ة ە, ا أ إ آ) or that people write without their mark (ڵ ڕ ۆ ێ), and no vowel signs, tatweel or
-- invisible joiners. Both what is searched and what is searched for are compared so, case aside.
create or replace function app.folded(value text) returns text
language plpgsql immutable strict parallel safe set search_path = '' as $$
begin
  return translate(value, U&'٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹یىێکةەہۀھأإآٱؤۆڕڵ\0640\064B\064C\064D\064E\064F\0650\0651\0652\0670\200C\200D\200E\200F',
    '01234567890123456789يييكهههههااااوورل');
end $$;

-- The ILIKE patterns of a search term, for a text that is folded as the term is (app.folded).
create or replace function app.contains_patterns(search text) returns text[]
language plpgsql immutable strict parallel safe set search_path = '' as $$
begin
  return array[app.contains_pattern(app.folded(search))];
end $$;

-- The digits of a telephone number and its +, without what people write between and around them: what the telephone dials.
create or replace function app.dialled(value text) returns text
language plpgsql immutable strict parallel safe set search_path = '' as $$
begin
  return regexp_replace(app.ascii_digits(value), '[^0-9+]', '', 'g');
end $$;

-- The ILIKE patterns of a search term for numbers as they are dialled (app.dialled), none when the term is no part of a number. Of a whole
-- number it is what it ends in, since the same one is written with the code of the country (+964 770 …, 00964770…) and without (0770…).
create or replace function app.dialled_patterns(search text) returns text[]
language plpgsql immutable strict parallel safe set search_path = '' as $$
declare
  v_number text := app.dialled(search);
begin
  return case
    when v_number !~ '[0-9]{3}'
      or app.ascii_digits(search) !~ '^[0-9+().\s/\u00a0\u061c\u200b-\u200f\u2010-\u2015\u202a-\u202f\u2066-\u2069\ufeff-]+$' then '{}'
    when v_number ~ '^(\+|00?)[1-9][0-9]{7,13}$' then array[app.contains_pattern(right(v_number, 9))]
    else array[app.contains_pattern(v_number)]
  end;
end $$;

-- The patterns of a search term where telephone numbers are among what is searched, as they are written: of a whole number what it ends in
-- besides, and without the marks around it that other apps copy with it.
create or replace function app.contact_patterns(search text) returns text[]
language plpgsql immutable strict parallel safe set search_path = '' as $$
declare
  v_search text := translate(search, U&'\061C\202A\202B\202C\202D\202E\2066\2067\2068\2069\FEFF', '');
  v_number text := app.dialled(v_search);
begin
  return app.contains_patterns(case v_search when '' then search else v_search end)
    || case when v_number ~ '^(\+|00?)[1-9][0-9]{7,13}$' then app.dialled_patterns(v_search) else '{}' end;
end $$;

-- The patterns a trigram index is asked for ILIKE patterns of the form %…%: rows that match a pattern match one of these, which is for
-- the statement to see to besides, by an expression that the index does not know. Numbers that count up begin alike, so the
-- trigrams of their beginning stand for nearly every row, and to read them costs more than all else: of a pattern that ends
-- in more than six digits the index is asked for the last six.
create or replace function app.index_patterns(patterns text[]) returns text[]
language plpgsql immutable strict parallel safe set search_path = '' as $$
begin
  return array(select distinct coalesce('%' || substring(p.pattern from '[0-9]([0-9]{6}%)$'), p.pattern) from unnest(patterns) p (pattern));
end $$;

-- A uuid from text, or null when it is none. For values that may legitimately be something else.
create or replace function app.as_uuid(value text) returns uuid
language plpgsql immutable strict parallel safe set search_path = '' as $$
begin
  return case when value ~* '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' then value::uuid end;
end $$;

-- An id that a client sent as text, null when there is none. Fails: invalid_uuid {field}.
create or replace function app.parse_uuid(value text, field text) returns uuid
language plpgsql stable set search_path = '' as $$
begin
  if value is null then
    return null;
  end if;
  return coalesce(app.as_uuid(value), app.refuse('invalid_uuid', jsonb_build_object('field', field)));
end $$;

-- The array of uuids in a JSON array, in its order.
create or replace function app.uuids(list jsonb) returns uuid[]
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return array(
    select v.value::uuid from jsonb_array_elements_text(list) with ordinality v (value, position) order by v.position);
end $$;

-- A stored value that should be true or false, or the default when it is anything else.
create or replace function app.boolean_or(value jsonb, fallback boolean) returns boolean
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return case when jsonb_typeof(value) = 'boolean' then value::boolean else fallback end;
end $$;

-- Localized text {en, ar, ku} in the request's language, else English, else whatever there is.
create or replace function app.localized(translations jsonb) returns text
language plpgsql stable set search_path = '' as $$
begin
  return coalesce(
    nullif(translations ->> app.language(), ''),
    nullif(translations ->> 'en', ''),
    (select t.value from jsonb_each_text(translations) t where t.value <> '' order by t.key limit 1));
end $$;

-- Great-circle distance in kilometres (haversine, mean earth radius 6371.0088 km, IUGG).
-- Null when a coordinate is missing.
create or replace function app.distance_km(
  latitude_a double precision, longitude_a double precision, latitude_b double precision, longitude_b double precision
) returns double precision
language plpgsql immutable strict parallel safe set search_path = '' as $$
begin
  return 2 * 6371.0088 * asin(least(1, sqrt(
    sin(radians(latitude_b - latitude_a) / 2) ^ 2
    + cos(radians(latitude_a)) * cos(radians(latitude_b)) * sin(radians(longitude_b - longitude_a) / 2) ^ 2)));
end $$;
