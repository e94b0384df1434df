-- Takes `quantity` numbers of a tenant's counter at once and answers the first. In order and without
-- holes: the row stays locked until the transaction ends, and a rollback gives the numbers back.
create or replace function app.take_numbers(counter text, quantity integer default 1) returns bigint
language plpgsql set search_path = '' as $$
#variable_conflict use_column
declare
  v_first bigint;
begin
  insert into app.counters as c (tenant_id, counter, value)
  values (app.tenant_id(), take_numbers.counter, take_numbers.quantity)
  on conflict (tenant_id, counter) do update set value = c.value + excluded.value
  returning c.value - take_numbers.quantity + 1 into v_first;
  return v_first;
end $$;

-- Locks a counter until the transaction ends. One that nobody has taken a number of has no row to lock: it is made, unless `make`
-- is false, as for a dry run, which leaves nothing behind.
create or replace function app.lock_numbers(counter text, make boolean) returns void
language plpgsql set search_path = '' as $$
#variable_conflict use_column
begin
  if make then
    insert into app.counters (tenant_id, counter) values (app.tenant_id(), lock_numbers.counter) on conflict do nothing;
  end if;
  perform from app.counters c where c.tenant_id = app.tenant_id() and c.counter = lock_numbers.counter for no key update;
end $$;

-- A number with zeros in front, up to so many digits. One that has more stays whole; lpad alone would cut it.
create or replace function app.padded(number bigint, digits integer) returns text
language plpgsql immutable set search_path = '' as $$
begin
  return lpad(number::text, greatest(digits, length(number::text)), '0');
end $$;

-- A settings group of the caller's tenant, {} when it was never saved.
create or replace function app.settings(module text, group_key text) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  return coalesce((
    select s.settings from tenancy.tenant_settings s
    where s.tenant_id = v_tenant and s.module = settings.module and s.group_key = settings.group_key), '{}');
end $$;

-- A column of a row of the caller's tenant as it was before its first change after a moment, by the audit log: JSON null where the row was made
-- since, null where the column was not changed. For functions that say whose log may be read.
create or replace function app.value_before(entity text, entity_id text, field text, moment timestamptz) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  return (
    select coalesce(l.before -> field, 'null') from app.audit_log l
    where l.tenant_id = v_tenant and l.entity_id = value_before.entity_id and l.entity = value_before.entity
      and l.created_at > moment and (l.action = 'insert' or l.before ? field)
    order by l.id limit 1);
end $$;
revoke execute on function app.value_before(text, text, text, timestamptz) from barid_caller;

-- A settings group of the caller's tenant as it was at a moment, by the audit log; without a moment as it is. SECURITY DEFINER: a driver
-- reads no audit log. A moment that is not past is now.
create or replace function app.settings_at(module text, group_key text, moment timestamptz) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_changed timestamptz;
  v_settings jsonb;
begin
  select s.settings, s.updated_at into v_settings, v_changed from tenancy.tenant_settings s
  where s.tenant_id = v_tenant and s.module = settings_at.module and s.group_key = settings_at.group_key;
  if v_changed > moment then
    v_settings := coalesce(app.value_before('tenancy.tenant_settings', module || '.' || group_key, 'settings', moment), v_settings);
  end if;
  return coalesce(nullif(v_settings, 'null'), '{}');
end $$;

-- The tenant's currency and the decimals it rounds to: setting general.currency {currency_code, decimals}, IQD when unset.
-- Without decimals: 0 for IQD (cash practice), else the exponent of ISO 4217, and 2 for a code that it does not have.
create or replace function app.currency(out code text, out decimals integer)
language plpgsql stable set search_path = '' as $$
declare
  v_chosen jsonb := app.settings('general', 'currency');
begin
  code := coalesce(v_chosen ->> 'currency_code', 'IQD');
  decimals := coalesce((v_chosen ->> 'decimals')::integer, case when code = 'IQD' then 0 end,
    (select c.exponent from tenancy.currencies c where c.code = currency.code), 2);
end $$;

-- Keeps the tenant's currency, and its decimals, as they are until the transaction ends: what begins in it now is there for who changes
-- it, who passes true. Called before the currency is read. Held for many at once, so that nobody waits but for a change.
create or replace function app.keep_currency(changing boolean default false) returns void
language plpgsql set search_path = '' as $$
declare
  v_key bigint := hashtextextended('currency ' || app.tenant_id(), 0);
begin
  if changing then
    perform pg_advisory_xact_lock(v_key);
  else
    perform pg_advisory_xact_lock_shared(v_key);
  end if;
end $$;

-- The tenant's time zone: setting general.timezone {name}, UTC when unset or unknown. The name is tried and not looked up:
-- pg_timezone_names reads hundreds of files each time somebody asks for it. Names that PostgreSQL reads as abbreviations, which have no
-- summer time, are those of the zones that they stand for.
create or replace function app.timezone() returns text
language plpgsql stable set search_path = '' as $$
declare
  v_name text := app.settings('general', 'timezone') ->> 'name';
begin
  v_name := case v_name when 'WET' then 'Europe/Lisbon' when 'CET' then 'Europe/Brussels' when 'MET' then 'Europe/Brussels'
    when 'EET' then 'Europe/Athens' else v_name end;
  if v_name is null then
    return 'UTC';
  end if;
  perform now() at time zone v_name;
  return v_name;
exception
  when invalid_parameter_value then
    return 'UTC';
end $$;

-- A time as sentences say it, on the clock of the tenant: 18:36, with its day where that is another one than today.
create or replace function app.clock(value timestamptz) returns text
language plpgsql stable strict set search_path = '' as $$
declare
  v_zone text := app.timezone();
begin
  return to_char(value at time zone v_zone,
    case (value at time zone v_zone)::date when (now() at time zone v_zone)::date then 'HH24:MI' else 'YYYY-MM-DD HH24:MI' end);
end $$;

-- A time of ISO 8601 as clients send it; without an offset it is local time of the tenant. The colon in the pattern keeps the end of a
-- plain date from being read as an offset.
create or replace function app.instant(value text) returns timestamptz
language plpgsql stable strict set search_path = '' as $$
begin
  return case when value ~* ':[0-9.]+ ?(Z|[+-]\d\d(:?\d\d)?)$' then value::timestamptz
    else value::timestamp at time zone app.timezone() end;
end $$;

-- When a day of the tenant's calendar begins: the first moment at which its clock shows that day. Where clocks go back over midnight the
-- first hour of the day comes twice, and PostgreSQL means the second.
create or replace function app.day_begins(day date) returns timestamptz
language plpgsql stable set search_path = '' as $$
declare
  v_zone text := app.timezone();
  v_at timestamptz := day::timestamp at time zone v_zone;
begin
  return case when ((v_at - interval '1 hour') at time zone v_zone)::date = day then v_at - interval '1 hour' else v_at end;
end $$;

-- Where a filter's lower end begins: an instant as it is, a day at its start in the tenant's time zone.
create or replace function app.day_start(value text) returns timestamptz
language plpgsql stable set search_path = '' as $$
begin
  return case when length(value) = 10 then app.day_begins(value::date) else app.instant(value) end;
end $$;

-- The day, YYYY-MM-DD in the tenant's time zone, that a day or an instant falls on.
create or replace function app.day_of(value text) returns text
language plpgsql stable set search_path = '' as $$
begin
  return case when length(value) = 10 then value else ((app.instant(value) at time zone app.timezone())::date)::text end;
end $$;

-- Until when something is promised: an instant as it is, a day until it ends in the tenant's time zone, the last one that can be answered
-- until it ends everywhere.
create or replace function app.promised_until(value text) returns timestamptz
language plpgsql stable strict set search_path = '' as $$
begin
  return least(app.day_end(value) - interval '1 microsecond', '9999-12-31 23:59:59.999999+00');
end $$;

-- The upper end of a filter, exclusive: of a day the start of the next one, of an instant a microsecond later, so that both are included.
create or replace function app.day_end(value text) returns timestamptz
language plpgsql stable set search_path = '' as $$
begin
  return case when length(value) = 10 then app.day_begins(value::date + 1)
    else app.instant(value) + interval '1 microsecond' end;
end $$;
