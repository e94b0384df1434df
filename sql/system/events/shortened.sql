-- Which lists of an event are longer than lists of events show, with their lengths: {field: count}. The event of a bulk
-- call names up to a thousand deliveries, and a page of such events would be megabytes.
create or replace function integration.shortened(data jsonb) returns jsonb
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return (select coalesce(jsonb_object_agg(e.key, jsonb_array_length(e.value)), '{}') from jsonb_each(data) e
    where case when jsonb_typeof(e.value) = 'array' then jsonb_array_length(e.value) > 100 end);
end $$;

-- The data of an event as lists show it: the first hundred of each list, all else as it is.
create or replace function integration.event_data_shortened(data jsonb) returns jsonb
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return data || (select coalesce(jsonb_object_agg(k.key, jsonb_path_query_array(data -> k.key, '$[0 to 99]')), '{}')
    from jsonb_object_keys(integration.shortened(data)) k (key));
end $$;
