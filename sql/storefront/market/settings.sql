-- Validation of a market's fields.

-- The words of a market's setting payment_methods: a list of them, or {word: true | {enabled: true}}.
create or replace function storefront.parse_payment_methods(methods jsonb) returns setof text
language plpgsql immutable set search_path = '' as $$
begin
  return query
  select e.value #>> '{}' from jsonb_array_elements(case when jsonb_typeof(methods) = 'array' then methods else '[]' end) e
  union
  select o.key from jsonb_each(case when jsonb_typeof(methods) = 'object' then methods else '{}' end) o
  where o.value = 'true' or o.value -> 'enabled' = 'true';
end $$;

-- The payment methods that a market's settings turn on. A word names one by its code, all of a type by the
-- type; cash and cod say cash on delivery.
create or replace function storefront.payment_methods_on(settings jsonb) returns setof storefront.payment_method_types
language plpgsql stable set search_path = '' as $$
begin
  return query
  select t.* from storefront.payment_method_types t
  where t.is_active and exists (
    select from storefront.parse_payment_methods(settings -> 'payment_methods') w
    where w in (t.code, t.type) or (t.type = 'cash_on_delivery' and w in ('cash', 'cod')))
  order by t.position, t.code;
end $$;

-- Those of them that a customer can pay with now: a gateway is offered once the tenant has set its account up.
create or replace function storefront.payment_methods_offered(settings jsonb) returns setof storefront.payment_method_types
language plpgsql stable set search_path = '' as $$
begin
  return query
  select t.* from storefront.payment_methods_on(settings) t
  where t.gateway_code is null or money.gateway_in_use(t.gateway_code)
  order by t.position, t.code;
end $$;

-- Refuses what a market's fields cannot say. {directory_category?, settings?}
-- Fails: invalid_directory_category, invalid_payment_method, market_currency_differs.
create or replace function storefront.require_market_settings(input jsonb) returns void
language plpgsql stable set search_path = '' as $$
declare
  v_currency text := (app.currency()).code;
begin
  if input ? 'directory_category' and not exists (
      select from tenancy.system_settings s
      cross join lateral jsonb_array_elements(s.value) e
      where s.key = 'storefront.directory_categories' and e.value ->> 'key' = input ->> 'directory_category') then
    perform app.fail('invalid_directory_category', '{"field": "directory_category"}');
  end if;
  if exists (select from storefront.parse_payment_methods(input #> '{settings,payment_methods}') w
      where w not in ('cash', 'cod')
        and not exists (select from storefront.payment_method_types t where t.is_active and w in (t.code, t.type))) then
    perform app.fail('invalid_payment_method', '{"field": "settings.payment_methods"}');
  end if;
  -- Prices are in the tenant's currency; a shop that names another would show them wrong.
  if input #>> '{settings,currency}' <> v_currency then
    perform app.fail('market_currency_differs', jsonb_build_object('field', 'settings.currency', 'currency', v_currency));
  end if;
end $$;

-- The categories a new market begins with.
create or replace function storefront.default_categories() returns setof jsonb
language plpgsql immutable set search_path = '' as $$
begin
  return query
  select c.value from jsonb_array_elements('[
    {"en": "General", "ar": "عام", "ku": "گشتی"},
    {"en": "New arrivals", "ar": "وصل حديثاً", "ku": "تازە گەیشتوو"},
    {"en": "Offers", "ar": "عروض", "ku": "ئۆفەرەکان"}]') with ordinality c (value, position)
  order by c.position;
end $$;

-- Banners as they are kept: each with an id and a place.
create or replace function storefront.banners_normalize(banners jsonb) returns jsonb
language plpgsql volatile set search_path = '' as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('id', gen_random_uuid(), 'is_active', true, 'sort_order', b.position - 1)
      || b.value order by b.position), '[]')
    from jsonb_array_elements(banners) with ordinality b (value, position));
end $$;

-- The market of the caller's tenant, held when it is to be changed. Fails: market_not_found.
create or replace function storefront.own_market(hold boolean default false) returns storefront.markets
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_market storefront.markets;
begin
  if hold then
    select * into v_market from storefront.markets m where m.tenant_id = v_tenant for update;
  else
    select * into v_market from storefront.markets m where m.tenant_id = v_tenant;
  end if;
  if v_market.id is null then
    perform app.fail('market_not_found');
  end if;
  return v_market;
end $$;

-- Tells what happened to a market: an event for other modules.
create or replace function storefront.market_event_emit(market storefront.markets, happened text) returns void
language plpgsql set search_path = '' as $$
begin
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'market.' || happened,
    'source_module', 'storefront', 'entity_type', 'market', 'entity_id', market.id,
    'event_data', jsonb_build_object('market_id', market.id, 'code', market.code, 'store_name', market.store_name,
      'status', market.status, 'publish_status', market.publish_status, 'needs_reapproval', market.needs_reapproval,
      'actor_id', app.user_id()))));
end $$;

-- Tells that a shop was opened or shut (market.published, market.unpublished), whatever did it.
create or replace function storefront.market_published_event_emit(market storefront.markets, before text) returns void
language plpgsql set search_path = '' as $$
begin
  if market.publish_status <> before then
    perform storefront.market_event_emit(market, market.publish_status);
  end if;
end $$;
