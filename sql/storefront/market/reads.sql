-- A market as its owner reads it.

-- {market_id} -> the market. Fails: market_not_found.
create or replace function storefront.market_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  return app.found((
    -- Administrators of the system who chose no tenant see every market.
    select to_jsonb(m)
    from storefront.markets m
    where m.id = (input ->> 'market_id')::uuid and (v_tenant is null or m.tenant_id = v_tenant)), 'market_not_found');
end $$;

-- The last five things that happened in a market, newest first: [{type, title, subtitle, timestamp}].
create or replace function storefront.recent_activity(market storefront.markets) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('type', a.type, 'title', a.title, 'subtitle', a.subtitle,
      'timestamp', a.happened_at) order by a.happened_at desc, a.id), '[]')
    from (
      (select 'order' as type, o.order_number as title, o.status as subtitle, o.created_at as happened_at, o.id
        from storefront.storefront_orders o
        where o.tenant_id = market.tenant_id and o.market_id = market.id order by o.created_at desc nulls last, o.id desc limit 5)
      union all
      (select 'product', app.localized(p.name), app.localized(c.name), p.created_at, p.id
        from storefront.products p
        left join storefront.product_categories c on c.tenant_id = p.tenant_id and c.id = p.category_id
        where p.tenant_id = market.tenant_id and p.market_id = market.id and p.archived_at is null
        order by p.created_at desc limit 5)
      union all
      (select 'review', app.localized(p.name), r.rating || '/5', r.created_at, r.id
        from storefront.product_reviews r
        join storefront.products p on p.tenant_id = r.tenant_id and p.id = r.product_id
        where r.tenant_id = market.tenant_id order by r.created_at desc limit 5)
      order by 4 desc, 5 limit 5
    ) a);
end $$;

-- The command centre. -> {market, readiness, summary, recent_activity}, all worked out now.
-- Fails: market_not_found.
create or replace function storefront.market_overview(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_market storefront.markets;
  v_tenant uuid := app.tenant_id();
  v_products bigint;
  v_categories bigint;
begin
  select * into v_market from storefront.markets m where m.tenant_id = v_tenant;
  if v_market.id is null then
    perform app.fail('market_not_found');
  end if;
  select count(*) into v_products from storefront.products p
  where p.tenant_id = v_tenant and p.market_id = v_market.id and p.is_active and p.archived_at is null;
  select count(*) into v_categories from storefront.product_categories c
  where c.tenant_id = v_tenant and c.market_id = v_market.id and c.archived_at is null;
  return jsonb_build_object(
    'market', to_jsonb(v_market),
    'readiness', jsonb_build_object(
      'warehouse_created', exists (select from warehousing.warehouses w where w.tenant_id = v_tenant and w.deleted_at is null),
      'store_live', v_market.is_live,
      'payments_enabled', exists (select from storefront.payment_methods_offered(v_market.settings)),
      'delivery_configured', exists (
        select from delivery.delivery_services s where s.tenant_id = v_tenant and s.active and s.deleted_at is null),
      'products_added', v_products > 0,
      'categories_added', v_categories > 0,
      'domain_connected', exists (select from storefront.custom_domains d
        where d.tenant_id = v_tenant and d.market_id = v_market.id and d.status = 'active')),
    'summary', jsonb_build_object(
      'total_products', v_products,
      'total_categories', v_categories,
      'total_customers', (select count(*) from tenancy.tenant_users u
        where u.tenant_id = v_tenant and u.tenant_user_type = 'customer' and u.is_active),
      'total_orders', (app.tally('storefront_orders') ->> 'entries')::bigint),
    'recent_activity', storefront.recent_activity(v_market));
end $$;
