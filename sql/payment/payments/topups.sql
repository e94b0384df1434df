-- Money into one's own wallet through a gateway.

-- Asks for a payment into the caller's own wallet; it is credited when the gateway says that it was made.
-- {id, amount, payment_method_type_id, back_ref?, back_ref_host?, platform_host} -> {payment_id, amount, currency}
-- Fails: wallet_not_found, forbidden, too_many_decimals, payment_method_not_found, invalid_payment_method,
-- gateway_not_configured, back_ref_required, back_ref_not_allowed.
create or replace function money.wallet_top_up(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_wallet jsonb := delivery.wallet_get(input);
  v_amount numeric := (input ->> 'amount')::numeric;
  v_currency text := v_wallet ->> 'currency';
  v_decimals integer;
  v_method storefront.payment_method_types;
begin
  perform app.keep_currency();
  v_decimals := money.decimals_of(v_currency);
  if (v_wallet ->> 'owner_id')::uuid is distinct from app.user_id() then
    perform app.fail('forbidden');
  elsif v_amount <> round(v_amount, v_decimals) then
    perform app.fail('too_many_decimals', jsonb_build_object('field', 'amount', 'currency', v_currency, 'decimals', v_decimals));
  end if;
  select * into v_method from storefront.payment_method_types t where t.id = (input ->> 'payment_method_type_id')::uuid and t.is_active;
  if v_method.id is null then
    perform app.fail('payment_method_not_found', '{"field": "paymentMethodTypeId"}');
  elsif v_method.type <> 'gateway' then
    perform app.fail('invalid_payment_method', '{"field": "paymentMethodTypeId"}');
  end if;
  perform money.require_back_ref(input);
  if not money.gateway_in_use(v_method.gateway_code) then
    perform app.fail('gateway_not_configured', '{"field": "paymentMethodTypeId"}');
  end if;
  v_decimals := money.gateway_digits(v_method.gateway_code, v_currency);
  if v_amount <> round(v_amount, v_decimals) then
    perform app.fail('too_many_decimals', jsonb_build_object('field', 'amount', 'currency', v_currency, 'decimals', v_decimals));
  end if;
  return jsonb_build_object('payment_id', money.top_up_request((input ->> 'id')::uuid, v_amount, v_method.gateway_code, input ->> 'back_ref'),
    'amount', v_amount, 'currency', v_currency);
end $$;

-- The payment of a top-up. SECURITY DEFINER: its owner writes no payments.
create or replace function money.top_up_request(p_wallet uuid, p_amount numeric, p_gateway text, p_back_ref text) returns uuid
language plpgsql security definer set search_path = '' as $$
declare
  v_payment uuid;
begin
  insert into money.payments (tenant_id, category, type, status, payment_method, amount, currency, account_id, gateway_code,
    gateway_order_id, back_ref, expires_at, reference, actor_id)
  select a.tenant_id, 'WALLET', 'WALLET_TOPUP', 'pending', 'gateway', p_amount, a.currency, a.id, p_gateway,
    nextval('money.gateway_order_ids')::text, p_back_ref, now() + interval '24 hours', 'Top-up', app.user_id()
  from money.accounts a
  where a.tenant_id = app.tenant_id() and a.id = p_wallet and a.owner_user_id = app.user_id() and a.kind = 'wallet'
  returning id into v_payment;
  return v_payment;
end $$;
grant execute on function money.top_up_request(uuid, numeric, text, text) to barid_caller;

-- Where a gateway may send people back to: the market's own domains, hosts the tenant named (settings
-- general.storefront.return_hosts), and the host of the platform's stores. {back_ref?, back_ref_host?, platform_host}
-- Fails: back_ref_required, back_ref_not_allowed.
create or replace function money.require_back_ref(input jsonb) returns void
language plpgsql stable set search_path = '' as $$
declare
  v_host text := lower(input ->> 'back_ref_host');
begin
  if input ->> 'back_ref' is null then
    perform app.fail('back_ref_required', '{"field": "backRef"}');
  elsif not (v_host = lower(input ->> 'platform_host') or money.domain_of_shop(v_host)
      or coalesce(app.settings('general', 'storefront') -> 'return_hosts' ? v_host, false)) then
    perform app.fail('back_ref_not_allowed', '{"field": "backRef"}');
  end if;
end $$;

-- True for an active domain of the caller's tenant. SECURITY DEFINER: customers see no domains.
create or replace function money.domain_of_shop(host text) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return exists (select from storefront.custom_domains d
    where d.tenant_id = app.tenant_id() and d.custom_domain = host and d.status = 'active');
end $$;

grant execute on function money.domain_of_shop(text) to barid_caller;
