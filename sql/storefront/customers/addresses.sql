-- Addresses of a store's customers.

-- How an open market can be paid: what it turned on, and of the gateways those the tenant has set up. {market_id} -> [{id, code, type, gateway_code?, name}]
-- Fails: market_not_found.
create or replace function storefront.payment_methods_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_settings jsonb;
begin
  select m.settings into v_settings from storefront.markets m
  where m.tenant_id = v_tenant and m.id = (input ->> 'market_id')::uuid;
  if v_settings is null then
    perform app.fail('market_not_found');
  end if;
  return (
    select coalesce(jsonb_agg(jsonb_build_object('id', t.id, 'code', t.code, 'type', t.type, 'name', app.localized(t.name))
      || case when t.gateway_code is null then '{}' else jsonb_build_object('gateway_code', t.gateway_code) end
      order by t.position, t.code), '[]')
    from storefront.payment_methods_offered(v_settings) t);
end $$;

-- Adds to the caller's address book; the first address, or one that says so, is the default.
-- {title?, full_address, city?, country?, latitude?, longitude?, contact_info?, is_default?} -> the address
create or replace function storefront.customer_address_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_user uuid := app.user_id();
  v_address jsonb := delivery.address_create(input - 'is_default');
  v_default boolean;
begin
  -- Of two first addresses at once one is the default: the membership makes them take turns.
  perform tenancy.lock_member();
  v_default := app.boolean_or(input -> 'is_default', false) or not exists (
    select from storefront.customer_addresses a where a.tenant_id = v_tenant and a.user_id = v_user and a.is_default);
  if v_default then
    update storefront.customer_addresses a set is_default = false where a.tenant_id = v_tenant and a.user_id = v_user and a.is_default;
  end if;
  insert into storefront.customer_addresses (tenant_id, user_id, address_id, is_default)
  values (v_tenant, v_user, (v_address ->> 'id')::uuid, v_default);
  return v_address || jsonb_build_object('is_default', v_default);
end $$;
