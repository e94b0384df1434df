-- Small conversions that cores and views share.

-- User text as an ILIKE pattern that matches it anywhere, with %, _ and \ taken literally. Numbers, codes and phones are
-- kept with the digits 0-9, so what has none but Arabic ones (and Latin letters) is looked for with those; names stay as typed.
create or replace function app.contains_pattern(search text) returns text
language plpgsql immutable strict parallel safe set search_path = '' as $$
declare
  v_number text := translate(search, '٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹', '01234567890123456789');
begin
  return '%' || replace(replace(replace(case when v_number ~ '^[ -~]*$' then v_number else search end,
    '\', '\\'), '%', '\%'), '_', '\_') || '%';
end $$;

-- A uuid from text, or null when it is none. For values that may legitimately be something else.
create or replace function app.as_uuid(value text) returns uuid
language plpgsql immutable strict parallel safe set search_path = '' as $$
begin
  return case when value ~* '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' then value::uuid end;
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
    nullif(translations ->> coalesce(app.request_setting('language'), 'en'), ''),
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
