-- Writes of a tenant to its market.

-- Opens the tenant's one market, as a draft with the platform's default categories.
-- {store_name, directory_category?, tagline?, settings?, logo_url?, theme_settings?, banners?} -> the market
-- Fails: market_already_exists, store_name_taken, and what require_market_settings fails with.
create or replace function storefront.market_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_market storefront.markets;
  v_broken text;
begin
  if exists (select from storefront.markets m where m.tenant_id = v_tenant) then
    perform app.fail('market_already_exists');
  end if;
  perform storefront.require_market_settings(jsonb_build_object('directory_category', 'general') || input);
  begin
    insert into storefront.markets (tenant_id, store_name, directory_category, tagline, logo_url, settings, theme_settings,
      banners, created_by, updated_by)
    values (v_tenant, input ->> 'store_name', coalesce(input ->> 'directory_category', 'general'),
      coalesce(input -> 'tagline', '{}'), input ->> 'logo_url',
      jsonb_build_object('auto_create_delivery', false, 'currency', (app.currency()).code, 'payment_methods', '[]'::jsonb)
        || app.merge_patch('{}', coalesce(input -> 'settings', '{}')),
      app.merge_patch('{}', coalesce(input -> 'theme_settings', '{}')),
      storefront.banners_normalize(coalesce(input -> 'banners', '[]')), app.user_id(), app.user_id())
    returning * into v_market;
  exception when unique_violation then
    -- The name is unique among all tenants, of whose rows a request sees none: only the index knows.
    get stacked diagnostics v_broken = constraint_name;
    perform app.fail(v_broken, jsonb_build_object('field', 'store_name'));
  end;
  insert into storefront.product_categories (tenant_id, market_id, name, sort_order)
  select v_tenant, v_market.id, c.name, c.position::integer
  from storefront.default_categories() with ordinality c (name, position);
  perform storefront.market_event_emit(v_market, 'created');
  return to_jsonb(v_market);
end $$;

-- Changes what is sent: settings and theme_settings key by key (null removes one), the rest as a whole.
-- An approved market stays open and waits for another look; a rejected or inactive one is a draft again.
-- store_name and status may be sent back unchanged. -> the market
-- Fails: market_not_found, market_field_fixed, and what require_market_settings fails with.
create or replace function storefront.market_update(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_old storefront.markets := storefront.own_market(hold => true);
  v_new storefront.markets := v_old;
begin
  if input ->> 'store_name' <> v_old.store_name then
    perform app.fail('market_field_fixed', '{"field": "store_name"}');
  elsif input ->> 'status' <> v_old.status then
    perform app.fail('market_field_fixed', '{"field": "status"}');
  end if;
  perform storefront.require_market_settings(input);
  v_new.directory_category := coalesce(input ->> 'directory_category', v_old.directory_category);
  v_new.tagline := coalesce(input -> 'tagline', v_old.tagline);
  v_new.logo_url := case when input ? 'logo_url' then input ->> 'logo_url' else v_old.logo_url end;
  v_new.settings := app.merge_patch(v_old.settings, coalesce(input -> 'settings', '{}'));
  v_new.theme_settings := app.merge_patch(v_old.theme_settings, coalesce(input -> 'theme_settings', '{}'));
  v_new.banners := case when input ? 'banners' then storefront.banners_normalize(input -> 'banners') else v_old.banners end;
  if v_new is not distinct from v_old then
    return to_jsonb(v_old);
  end if;
  update storefront.markets m set
    directory_category = v_new.directory_category, tagline = v_new.tagline, logo_url = v_new.logo_url,
    settings = v_new.settings, theme_settings = v_new.theme_settings, banners = v_new.banners, updated_by = app.user_id(),
    status = case when m.status in ('rejected', 'inactive') then 'draft' else m.status end,
    needs_reapproval = m.status = 'approved',
    approved_at = case when m.status <> 'approved' then m.approved_at end,
    approved_by = case when m.status <> 'approved' then m.approved_by end
  where m.tenant_id = v_old.tenant_id
  returning * into v_new;
  perform storefront.market_event_emit(v_new, 'updated');
  return to_jsonb(v_new);
end $$;

-- Hands a draft to the system's administrators, who are notified. {notes?} -> the market
-- Complete is a market with a tagline in one language and a category that is not archived.
-- Fails: market_not_found, invalid_status_transition, market_information_incomplete, market_category_required.
create or replace function storefront.market_submit(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_market storefront.markets := storefront.own_market(hold => true);
begin
  if v_market.status <> 'draft' then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', v_market.status, 'to', 'pending_approval'));
  end if;
  if coalesce(app.localized(v_market.tagline), '') = '' then
    perform app.fail('market_information_incomplete', '{"field": "tagline"}');
  end if;
  if not exists (select from storefront.product_categories c
      where c.tenant_id = v_market.tenant_id and c.market_id = v_market.id and c.archived_at is null) then
    perform app.fail('market_category_required');
  end if;
  update storefront.markets m set status = 'pending_approval', submit_notes = input ->> 'notes', submitted_at = now(),
    updated_by = app.user_id()
  where m.tenant_id = v_market.tenant_id
  returning * into v_market;
  perform tenancy.notify_system_admins('market_submitted', jsonb_build_object('market_id', v_market.id, 'store_name', v_market.store_name));
  perform tenancy.notify_tenant_admins('market_submitted', jsonb_build_object('market_id', v_market.id));
  perform storefront.market_event_emit(v_market, 'submitted');
  return to_jsonb(v_market);
end $$;

-- Opens or shuts an approved market. {publish_status} -> the market
-- Fails: market_not_found, market_not_approved.
create or replace function storefront.market_publish(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_market storefront.markets := storefront.own_market(hold => true);
  v_before text := v_market.publish_status;
begin
  if v_market.status <> 'approved' then
    perform app.fail('market_not_approved');
  end if;
  if v_before <> input ->> 'publish_status' then
    update storefront.markets m set publish_status = input ->> 'publish_status', updated_by = app.user_id()
    where m.tenant_id = v_market.tenant_id
    returning * into v_market;
    perform storefront.market_published_event_emit(v_market, v_before);
  end if;
  return to_jsonb(v_market);
end $$;

-- Takes a market out of use; the next change makes it a draft again. Twice is once. -> the market
-- Fails: market_not_found.
create or replace function storefront.market_deactivate(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_market storefront.markets := storefront.own_market(hold => true);
  v_before text := v_market.publish_status;
begin
  if v_market.status <> 'inactive' then
    update storefront.markets m set status = 'inactive', publish_status = 'unpublished', needs_reapproval = false,
      approved_at = null, approved_by = null, updated_by = app.user_id()
    where m.tenant_id = v_market.tenant_id
    returning * into v_market;
    perform storefront.market_event_emit(v_market, 'deactivated');
    perform storefront.market_published_event_emit(v_market, v_before);
  end if;
  return to_jsonb(v_market);
end $$;
