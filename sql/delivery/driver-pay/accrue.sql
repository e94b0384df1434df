-- Pay of drivers accrues when a delivery is delivered, in the transaction that completes it.

-- The pay for bringing a delivery, or a leg of a staged one, by the setting general.driver as it is now, and what it follows from; amount
-- null: none. Rounded half up to the currency's decimals; of two legs each has half, the one into the warehouse the larger one.
create or replace function money.driver_pay_due(
  d delivery.deliveries, out mode text, out percentage numeric, out base_amount numeric, out delivery_fee numeric, out currency text, out amount numeric
)
language plpgsql stable set search_path = '' as $$
declare
  v_rule jsonb := app.settings('general', 'driver');
  v_parcel delivery.deliveries := delivery.parcel_terms(d);
  v_decimals integer;
  v_larger numeric;
begin
  mode := v_rule ->> 'mode';
  delivery_fee := v_parcel.delivery_fee;
  if mode = 'percentage' then
    percentage := case jsonb_typeof(v_rule #> '{percentage,percentage_of_delivery_fee}')
      when 'number' then (v_rule #>> '{percentage,percentage_of_delivery_fee}')::numeric end;
    currency := v_parcel.currency;
  elsif mode = 'per_delivery' then
    base_amount := case jsonb_typeof(v_rule #> '{per_delivery,base_amount}') when 'number' then (v_rule #>> '{per_delivery,base_amount}')::numeric end;
    -- A setting is in the tenant's own currency.
    currency := (app.currency()).code;
  end if;
  v_decimals := money.decimals_of(currency);
  amount := round(coalesce(base_amount, delivery_fee * percentage / 100), v_decimals);
  if d.parent_id is not null then
    v_larger := amount - trunc(amount / 2, v_decimals);
    amount := case d.delivery_flow when 'pnd_inbound' then v_larger else amount - v_larger end;
  end if;
  amount := nullif(greatest(amount, 0), 0);
end $$;

-- Books the pay of the driver who delivered p_delivery: a row, its journal and its event. Without a driver (a carrier brought it), without
-- a rule, of a return that was made at the door, or accrued before: nothing happens.
-- Last in its transaction: everybody who earns waits for the account of the costs.
create or replace function money.driver_pay_accrue(p_delivery uuid, p_driver uuid) returns void
language plpgsql security definer set search_path = '' as $$
declare
  d delivery.deliveries;
  v_due record;
  v_id uuid;
begin
  if p_driver is null then
    return;
  end if;
  select * into strict d from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = p_delivery;
  v_due := money.driver_pay_due(d);
  if v_due.amount is null or d.made_at_door then
    return;
  end if;
  insert into money.driver_pay (tenant_id, delivery_id, driver_id, mode, percentage, base_amount, delivery_fee, amount, currency, delivery_code)
  values (d.tenant_id, d.id, p_driver, v_due.mode, v_due.percentage, v_due.base_amount, v_due.delivery_fee, v_due.amount, v_due.currency, d.delivery_code)
  on conflict (tenant_id, delivery_id) where status <> 'reversed' do nothing
  returning id into v_id;
  if v_id is null then
    return;
  end if;
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'driver_pay.accrued', 'source_module', 'delivery',
    'entity_type', 'driver_pay', 'entity_id', v_id, 'event_data', jsonb_build_object('driver_pay_id', v_id, 'delivery_id', d.id,
      'delivery_code', d.delivery_code, 'driver_id', p_driver, 'amount', v_due.amount, 'currency', v_due.currency, 'actor_id', app.user_id()))));
  perform money.post_journal('driver_pay', 'driver_pay', v_id, 'Delivery ' || d.delivery_code,
    array[money.account_of('driver_payable', 'driver', p_driver, v_due.currency), money.account_of('driver_cost', 'tenant', null, v_due.currency)],
    array[v_due.amount, -v_due.amount]);
end $$;

-- Reverses the pay of a delivery that was not delivered after all, by the mirror of its journal; it is not paid out, and locked. None accrued:
-- nothing happens. Last in its transaction, as its accrual.
create or replace function money.driver_pay_unaccrue(p_delivery uuid, p_reason text) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_id uuid;
begin
  update money.driver_pay p set status = 'reversed', reversed_at = now()
  where p.tenant_id = app.tenant_id() and p.delivery_id = p_delivery and p.status = 'accrued'
  returning p.id into v_id;
  if v_id is not null then
    perform money.reverse('driver_pay', 'driver_pay', v_id, p_reason);
  end if;
end $$;
