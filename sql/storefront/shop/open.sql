-- The door of the public shop. SECURITY DEFINER, because the visitor has no tenant yet and sees no market.

-- Enters a live market, named by its store name or its active domain: from here on row-level security shows
-- the request what is on sale there, and nothing else of its tenant. Answers what the shop needs to know of
-- the tenant besides. Fails: market_not_found, which says the same of a market that is not there, not open,
-- or of a tenant that may not be used now.
create or replace function storefront.open_shop(
  store_name text default null, domain text default null, out market_id uuid, out tenant_id uuid, out currency text
)
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare
  v_caller text := coalesce(app.tenant_id()::text, '');
  v_language text;
begin
  if open_shop.store_name is not null then
    select m.id, m.tenant_id into market_id, tenant_id
    from storefront.markets m
    join tenancy.tenants t on t.id = m.tenant_id
    where lower(m.store_name) = lower(open_shop.store_name) and m.is_live and app.is_effective(t);
  else
    select m.id, m.tenant_id into market_id, tenant_id
    from storefront.custom_domains d
    join storefront.markets m on m.tenant_id = d.tenant_id and m.id = d.market_id
    join tenancy.tenants t on t.id = m.tenant_id
    where d.custom_domain = open_shop.domain and d.status = 'active' and m.is_live and app.is_effective(t);
  end if;
  if market_id is null then
    perform app.fail('market_not_found');
  end if;
  perform set_config('app.shop_tenant_id', tenant_id::text, true);
  -- The currency is a setting of the tenant, which is read as the tenant for this one moment.
  perform set_config('app.tenant_id', tenant_id::text, true);
  currency := (app.currency()).code;
  perform set_config('app.tenant_id', v_caller, true);
  -- The shop's language where the visitor asked for none.
  v_language := (select s.settings ->> 'default' from tenancy.tenant_settings s
    where s.tenant_id = open_shop.tenant_id and s.module = 'general' and s.group_key = 'language');
  if v_language is not null and app.request_setting('language_asked') is null then
    perform set_config('app.language', v_language, true), set_config('app.shop_language', v_language, true);
  end if;
end $$;

-- Makes the signed-in caller a customer of the tenant whose live market this is, with a wallet in its
-- currency. A member stays what they are; one who left comes back as a customer, unless the company had shut them out.
-- -> {tenant_id, market_id, tenant_user_type, joined}
-- Fails: forbidden (nobody is signed in, or the person was shut out), market_not_found.
create or replace function storefront.join_shop(store_name text) returns jsonb
language plpgsql security definer set search_path = '' as $$
declare
  v_user uuid := app.user_id();
  v_caller text := coalesce(app.tenant_id()::text, '');
  v_shop record;
  v_joined boolean;
  v_member tenancy.tenant_users;
begin
  if v_user is null then
    perform app.fail('forbidden');
  end if;
  v_shop := storefront.open_shop(join_shop.store_name);
  -- Log, event and wallet belong to the tenant that is joined; the answer is remembered under the key of a
  -- caller who was in none.
  perform set_config('app.tenant_id', v_shop.tenant_id::text, true);
  insert into tenancy.tenant_users (tenant_id, user_id, tenant_user_type) values (v_shop.tenant_id, v_user, 'customer')
  on conflict (tenant_id, user_id) do update set tenant_user_type = 'customer', is_business = excluded.is_business,
    employee_id = excluded.employee_id, is_active = true, left_at = null
  where tenant_users.left_at is not null and not tenant_users.was_shut_out;
  v_joined := found;
  select * into v_member from tenancy.tenant_users u where u.tenant_id = v_shop.tenant_id and u.user_id = v_user;
  if not v_member.is_active then
    perform app.fail('forbidden');
  end if;
  if v_joined then
    insert into tenancy.tenant_user_roles (tenant_id, user_id, role_key) values (v_shop.tenant_id, v_user, 'customer')
    on conflict do nothing;
    perform money.account_of('wallet', 'customer', v_user, v_shop.currency);
    perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'customer.joined', 'source_module', 'storefront',
      'entity_type', 'customer', 'entity_id', v_user,
      'event_data', jsonb_build_object('customer_id', v_user, 'market_id', v_shop.market_id, 'actor_id', v_user))));
  end if;
  perform set_config('app.tenant_id', v_caller, true);
  return jsonb_build_object('tenant_id', v_shop.tenant_id, 'market_id', v_shop.market_id,
    'tenant_user_type', v_member.tenant_user_type, 'joined', v_joined);
end $$;

grant execute on function storefront.open_shop(text, text), storefront.join_shop(text) to barid_caller;
