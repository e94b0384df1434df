-- Which events there are, for those who subscribe to them.

-- The types of events that Barid writes. {module?}
-- -> {event_types: [{event_type, module, entity_type, event_data: {field: type}}]}, by module and name
-- The module is the one whose subscription hears of it; null: the subscription of whichever module it is about, so these are
-- of every module that is asked for. A merchant gets the types that merchants are sent, with their fields.
create or replace function integration.event_types_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_merchant boolean := integration.subscription_owner() is not null;
begin
  return (
    select jsonb_build_object('event_types', coalesce(jsonb_agg(jsonb_build_object('event_type', t.event_type, 'module', t.module,
      'entity_type', t.entity_type, 'event_data', t.event_data) order by t.module collate "C" nulls last, t.event_type collate "C"), '[]'))
    from (
      select e.event_type, e.entity_type, case when v_merchant then e.merchant_fields else e.event_data end as event_data,
        case when e.source_module is not null then integration.module_of(e.event_type, e.source_module) end as module
      from integration.event_types e where not v_merchant or e.merchant_fields is not null) t
    where input ->> 'module' is null or t.module is null or t.module = input ->> 'module');
end $$;

-- Whose subscriptions the caller keeps: a merchant their own, by their id; null: a person who sees the company those of the company.
create or replace function integration.subscription_owner() returns uuid
language plpgsql stable set search_path = '' as $$
begin
  return case when not app.sees_tenant() then app.user_id() end;
end $$;

-- The types of events that were published for the caller's tenant and that Barid itself does not write. SECURITY DEFINER: under the
-- policies every event of the tenant would be read; so each type there is costs one look into the index of types.
create or replace function private.published_types() returns text[]
language plpgsql stable security definer set search_path = '' as $$
begin
  return array(
    with recursive types (event_type) as (
      select min(e.event_type) from integration.system_events e
      union all
      select (select min(e.event_type) from integration.system_events e where e.event_type > t.event_type)
      from types t where t.event_type is not null)
    select t.event_type from types t
    where not exists (select from integration.event_types k where k.event_type = t.event_type)
      and exists (select from integration.system_events e where e.event_type = t.event_type and e.tenant_id = app.tenant_id()));
end $$;
grant execute on function private.published_types() to barid_caller;

-- True for the system and for those who manage it.
create or replace function integration.may_publish() returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return app.has_permission('manage:system') or 'service' = any (app.grants());
end $$;

-- The module that an event belongs to: cash on delivery has one of its own; what is nobody's own belongs to webhooks.
create or replace function integration.module_of(event_type text, source_module text) returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return case when event_type ~ '^(cod[._]|cash_)' or source_module = 'cod' then 'cod'
    when source_module in ('delivery', 'warehousing', 'storefront', 'carriers') then source_module
    else 'webhooks' end;
end $$;

-- True when a subscription's list names this type: in full, by its family (delivery.*), or everything (*).
create or replace function integration.wants(event_types text[], event_type text) returns boolean
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return event_types && array['*', event_type, split_part(event_type, '.', 1) || '.*'];
end $$;

-- The types that were sent, each once; null when none were.
create or replace function integration.event_types_of(input jsonb) returns text[]
language plpgsql immutable set search_path = '' as $$
begin
  return (
    select array_agg(distinct t.value) from jsonb_array_elements_text(input -> 'event_types') t);
end $$;
