-- How often callers may ask (shared/http/rate-limit.ts).

-- Takes one token of a bucket that holds `per_minute` and fills again in a minute (token bucket, as in ITU-T I.371).
-- Null: taken, or not counted since the database takes no changes. Else the whole seconds until there is one.
create or replace function private.rate_take(bucket text, per_minute integer) returns integer
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare
  v_now timestamptz := clock_timestamp();
  v_left double precision;
begin
  if current_setting('transaction_read_only')::boolean then
    return null;
  end if;
  insert into app.rate_buckets as b (bucket, tokens, taken_at) values (rate_take.bucket, per_minute - 1, v_now)
  on conflict (bucket) do update set taken_at = greatest(b.taken_at, v_now), tokens = private.rate_left(b, per_minute, v_now) - 1
    where private.rate_left(b, per_minute, v_now) >= 1;
  if found then
    return null;
  end if;
  select private.rate_left(b, per_minute, v_now) into v_left from app.rate_buckets b where b.bucket = rate_take.bucket;
  return greatest(1, ceil((1 - v_left) * 60 / per_minute));
end $$;

-- The tokens of a bucket at a moment.
create or replace function private.rate_left(b app.rate_buckets, per_minute integer, at timestamptz) returns double precision
language plpgsql immutable set search_path = '' as $$
begin
  return least(per_minute, b.tokens + greatest(0, extract(epoch from at - b.taken_at)) * per_minute / 60);
end $$;

-- Removes buckets that are full again. Run by cron.
create or replace function private.rates_purge() returns bigint
language plpgsql set search_path = '' as $$
declare
  v_count bigint;
begin
  delete from app.rate_buckets where taken_at < now() - interval '2 minutes';
  get diagnostics v_count = row_count;
  return v_count;
end $$;

grant execute on function private.rate_take(text, integer) to barid_api;
