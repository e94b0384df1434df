-- The interface of pg_net in plain SQL. A request is a row; it leaves after the commit, because the notification
-- that wakes the sender (supabase/local/net.ts) is only delivered then.

create schema net;

create unlogged table net.http_request_queue (
  id bigint generated always as identity primary key,
  method text not null check (method in ('GET', 'POST', 'DELETE')),
  url text not null,
  headers jsonb not null,
  body bytea,
  timeout_milliseconds integer not null
);

create unlogged table net._http_response (
  id bigint,
  status_code integer,
  content_type text,
  headers jsonb,
  content text,
  timed_out boolean,
  error_msg text,
  created timestamptz not null default now()
);
create index on net._http_response (created);

create function net.url_with_params(url text, params jsonb)
returns text language plpgsql immutable set search_path = pg_catalog as $$
declare
  v_query text;
begin
  select string_agg(net.url_encode(p.key) || '=' || net.url_encode(coalesce(p.value, '')), '&')
  into v_query from jsonb_each_text(params) p;
  if v_query is null then
    return url;
  end if;
  return url || case when position('?' in url) > 0 then '&' else '?' end || v_query;
end $$;

create function net.url_encode(value text)
returns text language sql immutable set search_path = pg_catalog as $$
  select coalesce(string_agg(
    case when c ~ '^[A-Za-z0-9_.~-]$' then c
      else upper(regexp_replace(encode(convert_to(c, 'UTF8'), 'hex'), '(..)', '%\1', 'g')) end, '' order by n), '')
  from regexp_split_to_table(value, '') with ordinality as s(c, n)
$$;

create function net.enqueue(method text, url text, headers jsonb, body bytea, timeout_milliseconds integer)
returns bigint language plpgsql security definer set search_path = pg_catalog as $$
declare
  v_id bigint;
begin
  insert into net.http_request_queue (method, url, headers, body, timeout_milliseconds)
  values (method, url, headers, body, timeout_milliseconds) returning id into v_id;
  notify pg_net;
  return v_id;
end $$;

create function net.http_get(
  url text,
  params jsonb default '{}',
  headers jsonb default '{}',
  timeout_milliseconds integer default 5000
)
returns bigint language sql set search_path = pg_catalog as $$
  select net.enqueue('GET', net.url_with_params(url, params), headers, null, timeout_milliseconds)
$$;

create function net.http_post(
  url text,
  body jsonb default '{}',
  params jsonb default '{}',
  headers jsonb default '{"Content-Type": "application/json"}',
  timeout_milliseconds integer default 5000
)
returns bigint language plpgsql set search_path = pg_catalog as $$
declare
  v_headers jsonb := headers;
begin
  if not exists (select from jsonb_object_keys(headers) k where lower(k) = 'content-type') then
    v_headers := headers || '{"Content-Type": "application/json"}';
  end if;
  return net.enqueue(
    'POST', net.url_with_params(url, params), v_headers, convert_to(body::text, 'UTF8'), timeout_milliseconds
  );
end $$;

create function net.http_delete(
  url text,
  params jsonb default '{}',
  headers jsonb default '{}',
  timeout_milliseconds integer default 5000
)
returns bigint language sql set search_path = pg_catalog as $$
  select net.enqueue('DELETE', net.url_with_params(url, params), headers, null, timeout_milliseconds)
$$;

grant usage on schema net to public;
revoke execute on all functions in schema net from public;
