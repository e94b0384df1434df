-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.outcome_reason(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_at timestamptz := app.instant(input ->> 'occurred_at');
  v_reason jsonb;
  v_now jsonb;
  v_missing jsonb;
  v_field text;
begin
  if input ->> 'reason_code' is null then
    perform app.fail('outcome_evidence_required', '{"field": "reason_code", "missing": ["reason_code"]}'::jsonb || case
      when not exists (select from jsonb_array_elements(tenancy.attempt_settings() -> 'reasons') r (reason) where r.reason ->> 'kind' = input ->> 'result')
      then '{"text_key": "reason_not_offered"}' else '{}' end::jsonb);
  end if;
  v_now := delivery.attempt_reason(tenancy.attempt_settings(), input);
  v_reason := case when v_at is null then v_now else coalesce(
    delivery.attempt_reason(tenancy.attempt_settings_of(app.settings_at('delivery', 'attempts', v_at)), input), v_now) end;
  if v_reason is null then
    perform app.fail('invalid_reference', '{"field": "reason_code"}');
  end if;
  select jsonb_agg(n.need order by n.position), (array_agg(n.field order by n.position))[1] into v_missing, v_field
  from (values
    (1, 'photo', 'proofs.photo_urls', coalesce(nullif(input #> '{proofs,photo_urls}', 'null'), '[]') <> '[]'),
    (2, 'note', 'note', coalesce(input ->> 'note', '') <> ''),
    (3, 'place', 'latitude', input ->> 'latitude' is not null)) n (position, need, field, given)
  where not n.given and (v_reason #> array['needs', n.need])::boolean and (coalesce(v_now, v_reason) #> array['needs', n.need])::boolean;
  if v_missing is not null then
    perform app.fail('outcome_evidence_required', jsonb_build_object('field', v_field, 'missing', v_missing));
  end if;
  return v_reason;
end $function$;

CREATE OR REPLACE FUNCTION delivery.service_update(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_service delivery.delivery_services := delivery.lock_service((input ->> 'id')::uuid);
  v_references jsonb;
  -- The service as it shall be: what is sent over what is stored, a null as well.
  v_wanted delivery.delivery_services := jsonb_populate_record(v_service, input - array['name', 'description', 'service_options']);
begin
  perform delivery.require_service_ranges(v_wanted.unit_min, v_wanted.unit_max,
    v_wanted.estimated_delivery_time_min, v_wanted.estimated_delivery_time_max);
  if v_wanted.delivery_type_id <> v_service.delivery_type_id then
    perform delivery.require_delivery_type(v_wanted.delivery_type_id);
    v_references := delivery.service_setting_references(v_service.id);
    if v_references <> '[]' then
      perform app.fail('delivery_service_type_change_blocked_by_settings', jsonb_build_object('setting_references', v_references));
    end if;
  end if;
  if v_service.active and not v_wanted.active then
    v_references := jsonb_path_query_array(delivery.service_setting_references(v_service.id),
      '$[*] ? (@.setting_key like_regex "default_delivery_service_id$")');
    if v_references <> '[]' then
      perform app.fail('delivery_service_in_use_by_settings', jsonb_build_object('setting_references', v_references));
    end if;
  end if;
  update delivery.delivery_services s set
    name = case when input ? 'name' then delivery.translated(input -> 'name', s.name) else s.name end,
    description = case when input ? 'description' then delivery.translated(input -> 'description', s.description) else s.description end,
    service_options = s.service_options || coalesce(input -> 'service_options', '{}'),
    code = v_wanted.code, image_url = v_wanted.image_url, priority = v_wanted.priority, service_level = v_wanted.service_level,
    default_price = v_wanted.default_price, price_per_km = v_wanted.price_per_km, free_km = v_wanted.free_km,
    estimated_delivery_time_min = v_wanted.estimated_delivery_time_min,
    estimated_delivery_time_max = v_wanted.estimated_delivery_time_max,
    allowed_delivery_attempts = v_wanted.allowed_delivery_attempts, unit_min = v_wanted.unit_min, unit_max = v_wanted.unit_max,
    delivery_type_id = v_wanted.delivery_type_id, active = v_wanted.active, allow_returns = v_wanted.allow_returns,
    access_mode = v_wanted.access_mode, zone_access_mode = v_wanted.zone_access_mode,
    zone_selector_type = v_wanted.zone_selector_type, policy_mode = v_wanted.policy_mode,
    policy_overrides = v_wanted.policy_overrides
  where s.id = v_service.id
  returning * into v_service;
  perform delivery.service_set_users(v_service, input -> 'user_ids');
  perform delivery.service_set_zones(v_service, input -> 'zone_ids', input -> 'zone_tag_ids');
  return '{}';
end $function$;

CREATE OR REPLACE FUNCTION integration.subscription_disabled_event_emit(tenant_id uuid, subscription_id uuid, reason text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(tenant_id);
  insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
  select s.tenant_id, 'webhook_subscription.disabled', 'webhooks', 'webhook_subscription', s.id,
    jsonb_build_object('subscription_id', s.id, 'reason', reason)
  from integration.webhook_subscriptions s
  where s.id = subscription_disabled_event_emit.subscription_id and s.tenant_id = subscription_disabled_event_emit.tenant_id and not s.is_active;
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select s.tenant_id, u.user_id, 'webhook_disabled', jsonb_build_object('subscription_id', s.id, 'url', s.url, 'reason', reason)
  from integration.webhook_subscriptions s
  join tenancy.tenant_user_roles r on r.tenant_id = s.tenant_id and r.role_key = 'tenant_admin'
  join tenancy.tenant_users u on u.tenant_id = r.tenant_id and u.user_id = r.user_id and u.is_active
  where s.id = subscription_disabled_event_emit.subscription_id and s.tenant_id = subscription_disabled_event_emit.tenant_id and not s.is_active;
end $function$;

CREATE OR REPLACE FUNCTION money.cod_settle(method text, scope text, collection_ids uuid[], driver_id text, receiver_id uuid, notes text, reference text, fingerprint bytea)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_actor uuid := app.user_id();
  v_key text := app.request_setting('idempotency_key');
  v_rows money.cod_collections[];
  v_driver uuid;
  v_receiver uuid;
  v_currency text;
  v_wallet uuid;
  v_total numeric;
  v_fees numeric;
  v_mixed boolean;
  v_ids uuid[];
  v_payment uuid := gen_random_uuid();
  v_settlement money.cod_settlements;
  v_items money.cod_settlement_items[];
  v_receipt text;
  v_open money.cash_handovers[];
  v_handover money.cash_handovers;
  v_short numeric := 0;
  v_borne text;
begin
  if v_key is not null then
    select s.* into v_settlement from money.cod_settlements s
    where s.tenant_id = v_tenant and s.actor_id = v_actor and s.idempotency_key = v_key;
    if found then
      if v_settlement.input_hash <> fingerprint then
        perform app.fail('settlement_idempotency_conflict');
      end if;
      return money.cod_settlement_to_json(v_settlement, money.cod_items_of(v_settlement), (
        select r.status from money.settlement_receipts r where r.tenant_id = v_tenant and r.payment_id = v_settlement.payment_id));
    end if;
  end if;

  v_rows := money.lock_cod_collections(scope, collection_ids, driver_id);
  v_driver := v_rows[1].driver_id;
  v_currency := v_rows[1].currency;
  select sum(r.amount), sum(r.delivery_fee_amount), min(r.currency) <> max(r.currency), array_agg(r.id)
  into v_total, v_fees, v_mixed, v_ids from unnest(v_rows) r;
  if method = 'remit' then
    v_receiver := money.cod_receiver(receiver_id);
    -- Also people of the office who took it as a driver name somebody else.
    if v_receiver = v_driver and app.settings('delivery', 'cod') ->> 'driver_self_remit' = 'require_receiver' then
      perform app.fail('receiver_required', '{"field": "remitted_to_user_id"}');
    end if;
  end if;
  if v_mixed or (method = 'remit' and v_currency <> (app.currency()).code) then
    perform app.fail('settlement_amount_mismatch', jsonb_build_object('currency', v_currency));
  end if;
  v_open := money.lock_open_handovers(v_driver, v_currency);
  if method = 'wallet' then
    v_wallet := money.cod_wallet(v_driver, v_currency);
  else
    v_handover := money.handover_of(v_driver, v_currency, v_total);
    if v_handover.status = 'resolved' and v_handover.resolution in ('driver_owes', 'written_off') and not money.shortage_is_booked(v_handover) then
      v_borne := v_handover.resolution;
    end if;
    v_short := case when v_handover.status = 'discrepancy' or v_borne is not null then v_handover.declared_amount - v_handover.counted_amount else 0 end;
  end if;

  insert into money.payments (id, tenant_id, category, type, status, payment_method, amount, currency, account_id, reference,
    actor_id, processed_at, snapshot)
  values (v_payment, v_tenant, 'DELIVERY', 'COD_SETTLEMENT', 'SUCCESS', case method when 'remit' then 'cash' else 'wallet' end, v_total,
    v_currency, v_wallet, cod_settle.reference, v_actor, now(),
    money.cod_snapshot(v_rows, method, scope, reference, notes, v_receiver)
    || case when v_short > 0 then jsonb_build_object('counted', v_total - v_short, 'shortage', v_short) else '{}' end);
  insert into money.cod_settlements (payment_id, tenant_id, method, scope, driver_id, actor_id, receiver_id, currency, total, cod_total,
    fee_total, collections, shortage, shortage_handover_id, notes, reference, idempotency_key, input_hash)
  values (v_payment, v_tenant, method, scope, v_driver, v_actor, v_receiver, v_currency,
    v_total, v_total - v_fees, v_fees, cardinality(v_rows), v_short, case when v_short > 0 then v_handover.id end, notes, reference, v_key, fingerprint)
  returning * into v_settlement;
  v_items := money.cod_items_record(v_payment, v_rows);
  update money.cod_collections c set
    status = case method when 'remit' then 'remitted' else 'settled_by_wallet' end,
    remitted_at = case method when 'remit' then now() end,
    settled_at = case method when 'wallet' then now() end,
    remitted_to_user_id = v_receiver,
    settlement_payment_id = v_payment, notes = coalesce(cod_settle.notes, c.notes),
    reference = coalesce(cod_settle.reference, c.reference)
  where c.tenant_id = v_tenant and c.id = any (v_ids);
  perform money.handovers_settle(v_settlement, v_handover, v_open);
  v_receipt := money.receipt_request(v_settlement, v_items);
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'cod_settlement.created', 'source_module', 'delivery',
    'entity_type', 'cod_settlement', 'entity_id', v_payment, 'event_data', jsonb_build_object('settlement_payment_id', v_payment,
      'method', method, 'driver_id', v_driver, 'receiver_id', v_receiver, 'currency', v_currency, 'total', v_total,
      'shortage', v_short, 'collections', cardinality(v_rows), 'actor_id', v_actor))));
  -- Last, because everybody who hands cash to the same desk waits for its account from here to the commit.
  perform money.cod_book(v_settlement, v_wallet, v_borne);
  return money.cod_settlement_to_json(v_settlement, v_items, v_receipt);
end $function$;

CREATE OR REPLACE FUNCTION money.handover_count(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_counted numeric := (input ->> 'counted_amount')::numeric;
  v_row money.cash_handovers := money.lock_handover((input ->> 'id')::uuid, '{declared}', 'handover_not_declared');
begin
  perform money.require_others_cash(v_row);
  perform money.decimals_checked(v_counted, v_row.currency, 'counted_amount');
  update money.cash_handovers h set counted_amount = v_counted, counted_by = app.user_id(), counted_at = now(),
    status = case when v_counted = h.declared_amount then 'counted' else 'discrepancy' end,
    notes = coalesce(input ->> 'notes', h.notes)
  where h.tenant_id = v_row.tenant_id and h.id = v_row.id
  returning * into v_row;
  perform money.handover_event_emit(case v_row.status when 'counted' then 'cash_handover.counted' else 'cash_handover.discrepancy' end, v_row);
  return money.handover_to_json(v_row);
end $function$;

CREATE OR REPLACE FUNCTION money.handover_resolve(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_row money.cash_handovers := money.lock_handover((input ->> 'id')::uuid, '{discrepancy}', 'handover_not_in_discrepancy');
  v_way text := input ->> 'resolution';
  v_counted numeric := coalesce((input ->> 'counted_amount')::numeric, v_row.counted_amount);
  v_short numeric := v_row.declared_amount - v_row.counted_amount;
  v_wallet money.accounts;
  s money.cod_settlements;
begin
  perform money.require_others_cash(v_row);
  if v_way = 'recounted' and v_counted <> v_row.declared_amount
    or v_way in ('driver_owes', 'written_off') and v_short <= 0
    or v_way = 'returned' and v_short >= 0 then
    perform app.fail('invalid_resolution', '{"field": "resolution"}');
  end if;
  select x.* into s from money.cod_settlements x where x.tenant_id = v_row.tenant_id and x.payment_id = v_row.settlement_payment_id;
  if v_way in ('driver_owes', 'written_off') and s.payment_id is null then
    if v_row.declared_amount > money.cash_in_hand(v_row.driver_id, v_row.currency) then
      perform app.fail('invalid_resolution', '{"field": "resolution", "text_key": "reason_declared_too_much"}');
    elsif v_way = 'driver_owes' then
      select a.* into v_wallet from money.accounts a where a.tenant_id = v_row.tenant_id and a.id = money.cod_wallet(v_row.driver_id, v_row.currency);
      if v_wallet.balance < v_short then
        perform money.wallet_short(v_wallet, -v_short);
      end if;
    end if;
  end if;
  update money.cash_handovers h set status = 'resolved', resolution = v_way, resolved_by = app.user_id(), resolved_at = now(),
    counted_amount = case v_way when 'recounted' then v_counted else h.counted_amount end,
    notes = coalesce(input ->> 'notes', h.notes)
  where h.tenant_id = v_row.tenant_id and h.id = v_row.id
  returning * into v_row;
  if s.shortage > 0 then
    perform money.post_journal('cash_shortage', 'cash_handover', v_row.id, 'Shortage of a cash handover',
      p.accounts, p.amounts)
    from money.shortage_borne(s, v_way) p;
  end if;
  return money.handover_to_json(v_row);
end $function$;

CREATE OR REPLACE FUNCTION money.require_others_cash(h money.cash_handovers)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if h.driver_id = app.user_id() then
    perform app.fail('own_cash');
  end if;
end $function$;

REVOKE ALL ON FUNCTION "money"."require_others_cash"(money.cash_handovers) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."require_others_cash"(money.cash_handovers) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128095737';
end $$;

grant execute on function private.schema_version() to barid_api;
