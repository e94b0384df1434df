-- Settings of a tenant: module -> group -> {settings}.

-- Groups as clients read them. {groups?: [[module, group], ...]}; without: all that were ever saved, and
-- transfer_manifest, which is always shown with what holds (defaults included) and the default service. The group attempts
-- is shown with what holds, too. What drivers earn and how much cash they may have with them is no business of customers and institutions:
-- for these it stays out.
create or replace function tenancy.settings_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_open boolean := app.sees_tenant() or app.grants() && '{type:driver}';
begin
  return (
    with wanted as (
      select g ->> 0 as module, g ->> 1 as group_key from jsonb_array_elements(input -> 'groups') g
      union
      select s.module, s.group_key from tenancy.tenant_settings s where s.tenant_id = app.tenant_id() and not input ? 'groups'
      union
      select 'delivery', 'transfer_manifest' where not input ? 'groups'
    ), shown as (
      select w.module, w.group_key, case
        when w.module = 'delivery' and w.group_key = 'transfer_manifest' then tenancy.manifest_settings() || coalesce((
          select jsonb_build_object('default_delivery_service',
            jsonb_build_object('id', s.id, 'name', app.localized(s.name), 'code', s.code))
          from delivery.delivery_services s
          where s.id = (tenancy.manifest_settings() ->> 'default_delivery_service_id')::uuid and s.deleted_at is null), '{}')
        when w.module = 'delivery' and w.group_key = 'attempts' then tenancy.attempt_settings()
        when not v_open and w.module = 'delivery' and w.group_key = 'cod' then '{}'
        when not v_open and w.module = 'general' and w.group_key = 'driver'
          then app.settings(w.module, w.group_key) - '{mode,percentage,per_delivery}'::text[]
        else app.settings(w.module, w.group_key) end as settings
      from wanted w
    )
    select coalesce(jsonb_object_agg(m.module, m.groups), '{}')
    from (
      select s.module, jsonb_object_agg(s.group_key, jsonb_build_object('settings', s.settings)) as groups
      from shown s group by s.module
    ) m);
end $$;

-- Merges patches into their groups; null removes a key. {patches: [{module, group, settings}]}
-- -> the groups as settings_get shows them; general.currency with `kept_amounts` where its code became another (tenancy.kept_amounts).
-- Patches of different keys of one group, sent at the same moment, both hold: the second waits and merges into what the first made of it.
-- Fails: invalid_reference, manifest_workflow_required, delivery_service_not_available, currency_in_use, too_many_decimals.
create or replace function tenancy.settings_save(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_currency record;
  v_now record;
  v_before jsonb := tenancy.manifest_settings();
  v_return_service text := tenancy.return_service();
  v_amounts jsonb;
  v_groups jsonb;
  v_saved jsonb;
begin
  perform private.version_alone();
  select jsonb_agg(jsonb_build_array(p ->> 'module', p ->> 'group')) into v_groups
  from jsonb_array_elements(input -> 'patches') p;
  perform app.keep_currency(v_groups @> '[["general", "currency"]]');
  v_currency := app.currency();
  v_amounts := tenancy.setting_amounts();
  insert into tenancy.tenant_settings as s (tenant_id, module, group_key, settings, updated_by)
  select app.tenant_id(), p ->> 'module', p ->> 'group', app.merge_patch('{}', p -> 'settings'), app.user_id()
  from jsonb_array_elements(input -> 'patches') p
  order by p ->> 'module', p ->> 'group'
  on conflict (tenant_id, module, group_key) do update set updated_by = excluded.updated_by,
    settings = app.merge_patch(s.settings, (
      select q -> 'settings' from jsonb_array_elements(input -> 'patches') q
      where q ->> 'module' = excluded.module and q ->> 'group' = excluded.group_key));
  perform tenancy.require_references(input -> 'patches');
  if v_groups @> '[["delivery", "transfer_manifest"]]' then
    perform tenancy.require_workflow();
    perform tenancy.require_default_service(v_before);
  end if;
  if v_groups @> '[["general", "delivery"]]' then
    perform tenancy.require_return_service(v_return_service);
  end if;
  v_now := app.currency();
  if (v_now.code, v_now.decimals) <> (v_currency.code, v_currency.decimals) then
    perform tenancy.currency_changed(v_currency.code);
    v_amounts := '{}';
  end if;
  perform tenancy.require_coins_of_settings(v_amounts);
  v_saved := tenancy.settings_get(jsonb_build_object('groups', v_groups));
  return case when v_now.code = v_currency.code then v_saved
    else jsonb_set(v_saved, '{general,currency,kept_amounts}', tenancy.kept_amounts()) end;
end $$;

-- The amounts of money among the settings, by their field: {"delivery.cod.settings.cash_ceiling": 500000}.
create or replace function tenancy.setting_amounts() returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(jsonb_object_agg(a.module || '.' || a.group_key || '.settings.' || a.path, v.value), '{}')
    from (values
      ('delivery', 'cod', 'cash_ceiling'),
      ('delivery', 'payouts', 'minimum'),
      ('delivery', 'payouts', 'keep'),
      ('general', 'driver', 'per_delivery.base_amount')) a (module, group_key, path)
    cross join lateral (select app.settings(a.module, a.group_key) #> string_to_array(a.path, '.') as value) v
    where jsonb_typeof(v.value) = 'number');
end $$;

-- Refuses amounts among the settings that have more decimals than the currency; those that are as they were in `before` pass.
-- Fails: too_many_decimals.
create or replace function tenancy.require_coins_of_settings(before jsonb) returns void
language plpgsql stable set search_path = '' as $$
declare
  v_currency record := app.currency();
  v_field text;
begin
  select s.key into v_field from jsonb_each(tenancy.setting_amounts()) s
  where s.value is distinct from before -> s.key and s.value::numeric <> round(s.value::numeric, v_currency.decimals)
  order by s.key limit 1;
  if v_field is not null then
    perform app.fail('too_many_decimals', jsonb_build_object('field', v_field, 'currency', v_currency.code, 'decimals', v_currency.decimals));
  end if;
end $$;

-- The amounts that keep their numbers where the currency becomes another: settings, and how many services, products and carriers are priced.
-- -> [{field, count}]
create or replace function tenancy.kept_amounts() returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('field', k.field, 'count', k.count) order by k.field), '[]')
    from (
      select s.key as field, 1::bigint as count from jsonb_each(tenancy.setting_amounts()) s where s.value::numeric > 0
      union all
      select 'delivery_services.default_price', count(*) from delivery.delivery_services s
      where s.tenant_id = v_tenant and s.deleted_at is null and s.default_price > 0
      union all
      select 'delivery_services.price_per_km', count(*) from delivery.delivery_services s
      where s.tenant_id = v_tenant and s.deleted_at is null and s.price_per_km > 0
      union all
      select 'products.variants.price', count(*) from storefront.product_variants v
      where v.tenant_id = v_tenant and v.archived_at is null and v.price > 0
      union all
      select 'carriers.configuration.default_price', count(*) from integration.tenant_carriers c
      where c.tenant_id = v_tenant and c.default_price > 0
    ) k where k.count > 0);
end $$;

-- Drivers need one way to make a manifest. Checked on what holds, so a default counts.
-- Fails: manifest_workflow_required.
create or replace function tenancy.require_workflow() returns void
language plpgsql stable set search_path = '' as $$
declare
  v_settings jsonb := tenancy.manifest_settings();
begin
  if not ((v_settings ->> 'allow_driver_create_manifest_from_form')::boolean
      or (v_settings ->> 'allow_driver_scan_institution_qr')::boolean
      or (v_settings ->> 'allow_driver_scan_item_barcode')::boolean) then
    perform app.fail('manifest_workflow_required', '{"field": "delivery.transfer_manifest.settings"}');
  end if;
end $$;

-- The default service of manifests must be one they can use: switched on, and among those made available when
-- any are named. Checked when one of the two settings changes: what became of a service since then is in the way
-- of nobody who changes something else. Called after require_references, which holds the service.
-- Fails: delivery_service_not_available.
create or replace function tenancy.require_default_service(before jsonb) returns void
language plpgsql stable set search_path = '' as $$
declare
  v_now jsonb := tenancy.manifest_settings();
  v_default text := v_now ->> 'default_delivery_service_id';
  v_available jsonb := v_now -> 'available_delivery_service_ids';
  v_new boolean := v_default is distinct from before ->> 'default_delivery_service_id';
begin
  if (v_new and exists (select from delivery.delivery_services s where s.id = v_default::uuid and not s.active))
    or ((v_new or v_available <> before -> 'available_delivery_service_ids')
      and v_available <> '[]' and not v_available ? v_default) then
    -- A list without the default that is kept already: it is the default that is in the way.
    perform app.fail('delivery_service_not_available', case when v_new
      then '{"field": "delivery.transfer_manifest.settings.default_delivery_service_id"}'
      else '{"field": "delivery.transfer_manifest.settings.available_delivery_service_ids", "text_key": "default_service_left_out"}' end::jsonb);
  end if;
end $$;

-- The service of returns that name none, as the setting has it: an id; null: there is none.
create or replace function tenancy.return_service() returns text
language plpgsql stable set search_path = '' as $$
begin
  return app.settings('general', 'delivery') #>> '{return_requests,default_delivery_service_id}';
end $$;

-- The service of returns that name none must be switched on; whether it allows returns is asked where one is ordered, since those that are made at
-- a door do not ask. Checked when it becomes another than `before`: what became of a service since then is in the way of nobody who changes
-- something else. Called after require_references, which holds the service.
-- Fails: delivery_service_not_available.
create or replace function tenancy.require_return_service(before text) returns void
language plpgsql stable set search_path = '' as $$
declare
  v_now text := tenancy.return_service();
begin
  if v_now is distinct from before and exists (select from delivery.delivery_services s where s.id = app.as_uuid(v_now) and not s.active) then
    perform app.fail('delivery_service_not_available',
      '{"field": "general.delivery.settings.return_requests.default_delivery_service_id"}');
  end if;
end $$;

-- Ids named by patches must exist in the tenant. Services and the warehouse are held until the end, so that none is deleted
-- while a setting begins to name it. [{module, group, settings}]. Fails: invalid_reference.
create or replace function tenancy.require_references(patches jsonb) returns void
language plpgsql set search_path = '' as $$
declare
  v_missing text;
begin
  with named as (
    select n.module || '.' || n.group_key || '.settings.' || n.path as field, n.thing, i.id
    from (values
      ('delivery', 'transfer_manifest', 'default_delivery_service_id', 'service'),
      ('delivery', 'transfer_manifest', 'available_delivery_service_ids', 'service'),
      ('delivery', 'assignment_change_settings', 'default_driver_id', 'driver'),
      ('general', 'delivery', 'return_requests.default_delivery_service_id', 'service'),
      ('general', 'warehouse', 'default_warehouse_id', 'warehouse'),
      ('general', 'currency', 'currency_code', 'currency'),
      ('general', 'timezone', 'name', 'timezone')) n (module, group_key, path, thing)
    join jsonb_array_elements(patches) p on p ->> 'module' = n.module and p ->> 'group' = n.group_key
    cross join lateral (select p -> 'settings' #> string_to_array(n.path, '.') as value) v
    cross join lateral jsonb_array_elements_text(
      case jsonb_typeof(v.value) when 'array' then v.value when 'string' then jsonb_build_array(v.value) else '[]' end) i (id)
  ), held as (
    select s.id from delivery.delivery_services s
    where s.deleted_at is null and s.id in (select app.as_uuid(n.id) from named n where n.thing = 'service')
    order by s.id for share
  ), held_warehouses as (
    select w.id from warehousing.warehouses w
    where w.deleted_at is null and w.id in (select app.as_uuid(n.id) from named n where n.thing = 'warehouse')
    for key share
  )
  select n.field into v_missing
  from named n
  where not case n.thing
    when 'service' then app.as_uuid(n.id) in (select h.id from held h)
    when 'driver' then exists (select from delivery.drivers d where d.user_id = app.as_uuid(n.id) and d.status = 'active')
    when 'warehouse' then app.as_uuid(n.id) in (select h.id from held_warehouses h)
    when 'currency' then exists (select from tenancy.currencies c where c.code = n.id) and not exists (
      select from tenancy.system_settings y
      where y.key = 'currencies.enabled' and jsonb_typeof(y.value) = 'array' and not y.value ? n.id)
    -- Documents know no other names of time zones than those of the world.
    else exists (select from pg_catalog.pg_timezone_names z
      where z.name = n.id and z.name !~ '^((posix|right)/|(Factory|localtime|posixrules)$)') end
  order by n.field limit 1;
  if v_missing is not null then
    perform app.fail('invalid_reference', jsonb_build_object('field', v_missing));
  end if;
end $$;

-- True when something is sold for more decimals than the currency has that is saved now: nobody can pay that.
create or replace function tenancy.prices_need_coins() returns boolean
language plpgsql stable set search_path = '' as $$
declare
  v_decimals integer := (app.currency()).decimals;
begin
  return exists (
    select from storefront.product_variants v
    where v.tenant_id = app.tenant_id() and v.archived_at is null
      and (v.price <> round(v.price, v_decimals) or v.compare_at_price <> round(v.compare_at_price, v_decimals)));
end $$;

-- True while money has moved in the currency, or is due in it: cash of a delivery under way could not be remitted in another one, an order's price
-- would become another, and with other decimals what is to be paid has no coin, and a gateway's notice another amount.
create or replace function tenancy.currency_in_use(code text) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return exists (select from money.accounts a where a.tenant_id = app.tenant_id() and a.currency = code and a.version > 0)
    or exists (select from delivery.deliveries d
      where d.tenant_id = app.tenant_id() and d.currency = code and d.status not in ('delivered', 'returned', 'cancelled'))
    or exists (select from storefront.storefront_orders o
      where o.tenant_id = app.tenant_id() and o.currency = code and o.status not in ('delivered', 'completed', 'cancelled'))
    -- A top-up that may still be paid, as long as its gateway is asked about it (money.payments_reconcile).
    or exists (select from money.payments p
      where p.tenant_id = app.tenant_id() and p.currency = code and p.type = 'WALLET_TOPUP' and p.status in ('pending', 'FAILED')
        and p.payment_method = 'gateway' and p.created_at > now() - interval '72 hours' and p.final_answer_at is null);
end $$;

-- After settings were saved in which the currency is another than `before`, or has other decimals. Drivers, institutions and customers get their
-- wallets in a new one, and shops name it as that of their prices. Fails: currency_in_use.
create or replace function tenancy.currency_changed(before text) returns void
language plpgsql set search_path = '' as $$
declare
  v_code text := (app.currency()).code;
begin
  if tenancy.currency_in_use(before) or tenancy.prices_need_coins() then
    perform app.fail('currency_in_use', jsonb_build_object('field', 'general.currency.settings.'
      || case when v_code <> before then 'currency_code' else 'decimals' end));
  end if;
  if v_code = before then
    return;
  end if;
  perform money.account_of('wallet', u.tenant_user_type, u.user_id, v_code)
  from tenancy.tenant_users u
  where u.tenant_id = app.tenant_id() and u.tenant_user_type in ('driver', 'institution', 'customer');
  update storefront.markets m set settings = m.settings || jsonb_build_object('currency', v_code)
  where m.tenant_id = app.tenant_id() and m.settings ->> 'currency' <> v_code;
end $$;
