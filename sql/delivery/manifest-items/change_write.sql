-- Books and writes the changed orders of manifest items. `destination` is that of delivery.manifest_place.

-- Books the price difference of each change: a dearer order debits the institution's wallet and credits the tenant's, a
-- cheaper one the reverse. A change whose wallet holds too little gets the failure insufficient_wallet_balance; a later,
-- smaller one may still pass. A dry run checks the balances and books nothing.
create or replace function delivery.order_changes_settle(changes private.order_change[], dry_run boolean) returns private.order_change[]
language plpgsql set search_path = '' as $$
declare
  v_currency text := (app.currency()).code;
  v_tenant uuid := app.tenant_id();
  v_tenant_wallet uuid;
  v_institution_wallets jsonb;
  v_balances jsonb;
  v_balance numeric;
  v_change private.order_change;
  v_settled private.order_change[] := '{}';
  v_debit_account uuid;
begin
  if not exists (select from unnest(changes) c where c.failure is null and c.difference <> 0) then
    return changes;
  end if;
  -- Both wallets exist: delivery.manifest_orders_charge opened them when it booked the order's first price.
  select jsonb_object_agg(a.owner_user_id, a.id) filter (where a.owner_type = 'institution'),
    min(a.id::text) filter (where a.owner_type = 'tenant'), jsonb_object_agg(a.id, a.balance - money.wallet_held(a.id) - money.wallet_stated(a.id))
  into v_institution_wallets, v_tenant_wallet, v_balances
  from money.accounts a
  where a.tenant_id = v_tenant and a.kind = 'wallet' and a.currency = v_currency and (
    a.owner_type = 'tenant'
    or (a.owner_type = 'institution' and a.owner_user_id = any (array(select distinct c.institution_user_id from unnest(changes) c))));
  if not dry_run then
    v_balances := money.lock_balances(array(select k::uuid from jsonb_object_keys(v_balances) k));
  end if;

  foreach v_change in array changes loop
    if v_change.failure is null and v_change.difference <> 0 then
      v_change.wallet_id := v_institution_wallets ->> v_change.institution_user_id::text;
      v_debit_account := case when v_change.difference > 0 then v_change.wallet_id else v_tenant_wallet end;
      v_balance := v_balances ->> v_debit_account::text;
      if v_balance < abs(v_change.difference) then
        v_change.failure := 'insufficient_wallet_balance';
        v_change.failure_params := money.wallet_shortage(v_balance,
          money.wallet_held(v_debit_account::uuid) + money.wallet_stated(v_debit_account::uuid), abs(v_change.difference), v_currency);
      else
        -- Refunds are not added to the available balance, so they cannot fund other changes of this batch.
        v_balances := v_balances || jsonb_build_object(v_debit_account, v_balance - abs(v_change.difference));
        v_change.new_payment_id := gen_random_uuid();
      end if;
    end if;
    v_settled := v_settled || v_change;
  end loop;

  if not dry_run then
    perform money.post(coalesce((
      select jsonb_agg(jsonb_build_object('journal', c.new_payment_id, 'kind', 'delivery_fee_change',
          'reference_type', 'payment', 'reference_id', c.new_payment_id, 'description', 'Delivery ' || c.delivery_code,
          'account_id', entry.account, 'amount', entry.amount)
        order by
          entry.amount > 0, -- debits first
          c.position)
      from unnest(v_settled) c
      cross join lateral (values (c.wallet_id, -c.difference), (v_tenant_wallet, c.difference)) entry (account, amount)
      where c.new_payment_id is not null), '[]'));
  end if;
  return v_settled;
end $$;

-- Writes the changes that delivery.order_changes_settle booked: replaces the payment
-- where the price changed, then updates the parcels, their legs and items, and adds to the manifests' history.
-- To those who have a parcel it is a redirect: a late report from its old door puts it back, subscribers get delivery.redirected, and drivers who
-- are assigned already are notified.
create or replace function delivery.order_changes_write(changes private.order_change[], destination jsonb) returns void
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_branch uuid := (destination ->> 'branch_id')::uuid;
  v_address uuid := (destination ->> 'address_id')::uuid;
  v_address_snapshot jsonb;
  v_delivery_ids uuid[] := array(select c.delivery_id from unnest(changes) c);
begin
  if v_delivery_ids = '{}' then
    return;
  end if;
  select to_jsonb(a) into v_address_snapshot from delivery.addresses_list a where a.id = v_address;
  perform delivery.redirects_record((
    select jsonb_agg(jsonb_build_object('delivery_id', c.delivery_id, 'difference', c.difference) order by c.position) from unnest(changes) c));
  perform app.events_add((
    select jsonb_agg(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.redirected', 'entity_type', 'delivery',
      'entity_id', d.id, 'event_data', jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code,
        'previous_address_id', d.dropoff_address_id, 'dropoff_address_id', v_address, 'dropoff_zone_id', v_address_snapshot -> 'zone_id',
        'delivery_fee', c.price, 'price_difference', c.difference, 'currency', d.currency, 'driver_unassigned', false,
        'actor_id', app.user_id())) order by c.position)
    from unnest(changes) c
    join delivery.deliveries d on d.tenant_id = v_tenant and d.id = c.delivery_id));

  update money.payments payment set status = 'CANCELLED'
  where payment.tenant_id = v_tenant and payment.status = 'SUCCESS' and payment.type in ('DELIVERY_FEE', 'DELIVERY_FEE_CHANGE')
    and payment.delivery_id = any (array(select c.delivery_id from unnest(changes) c where c.new_payment_id is not null));
  -- `reference` is the id of the payment that this one replaces.
  insert into money.payments (id, tenant_id, category, type, status, payment_method, amount, currency, account_id,
    delivery_id, reference, actor_id, processed_at)
  select c.new_payment_id, v_tenant, 'DELIVERY', 'DELIVERY_FEE', 'SUCCESS', 'wallet', c.price, (app.currency()).code, c.wallet_id,
    c.delivery_id, c.payment_id::text, app.user_id(), now()
  from unnest(changes) c where c.new_payment_id is not null;

  update delivery.deliveries parent set
    dropoff_address_id = v_address,
    dropoff_snapshot = v_address_snapshot,
    dropoff_zone_id = (v_address_snapshot ->> 'zone_id')::uuid,
    recipient = destination -> 'recipient',
    delivery_service_id = c.service_id,
    service_snapshot = delivery.service_snapshot(c.service_id),
    delivery_fee = c.price,
    unit_size = c.unit_size,
    unit_size_source = c.unit_size_source,
    distance_km = c.distance_km,
    label_outdated = true
  from unnest(changes) c
  where parent.tenant_id = v_tenant and parent.id = c.delivery_id;
  perform delivery.legs_take_destination(v_delivery_ids);
  update delivery.transfer_manifest_items item set
    destination_branch_id = v_branch,
    destination_address_id = case when v_branch is null then v_address end
  where item.tenant_id = v_tenant
    and item.id = any (array(select c.item_id from unnest(changes) c));

  perform delivery.change_announce(array_agg(c.delivery_id), '{place,recipient}'::text[] || case when c.difference <> 0 then '{amount}'::text[] end)
  from unnest(changes) c group by c.difference <> 0;
  perform delivery.routes_remeasure(v_delivery_ids);
  perform integration.shipments_end(v_delivery_ids || array(
    select l.id from delivery.deliveries l where l.tenant_id = v_tenant and l.parent_id = any (v_delivery_ids)));
  perform delivery.manifest_events_add((
    select jsonb_agg(jsonb_build_object('manifest_id', c.manifest_id, 'manifest_item_id', c.item_id,
      'event_type', 'destination_changed', 'payload', jsonb_build_object(
        'delivery_id', c.delivery_id, 'delivery_code', c.delivery_code,
        'destination_branch_id', v_branch, 'destination_address_id', v_address,
        'delivery_service_id', c.service_id, 'price_difference', c.difference)) order by c.position)
    from unnest(changes) c));
end $$;

-- Lets the legs of parcels follow a new destination: both get the recipient and the service, only leg B gets the drop-off.
create or replace function delivery.legs_take_destination(parcels uuid[]) returns void
language plpgsql set search_path = '' as $$
begin
  update delivery.deliveries leg set
    recipient = parent.recipient,
    delivery_service_id = parent.delivery_service_id,
    service_snapshot = parent.service_snapshot,
    unit_size = parent.unit_size,
    unit_size_source = parent.unit_size_source,
    label_outdated = true,
    dropoff_address_id = case leg.leg when 'B' then parent.dropoff_address_id else leg.dropoff_address_id end,
    dropoff_snapshot = case leg.leg when 'B' then parent.dropoff_snapshot else leg.dropoff_snapshot end,
    dropoff_zone_id = case leg.leg when 'B' then parent.dropoff_zone_id else leg.dropoff_zone_id end
  from delivery.deliveries parent
  where parent.tenant_id = app.tenant_id() and parent.id = any (parcels)
    and leg.tenant_id = parent.tenant_id and leg.parent_id = parent.id;
end $$;

-- Snapshot of a delivery service, stored on deliveries: {id, code, name, service_level, default_price, price_per_km,
-- free_km}. Null if there is no such service.
create or replace function delivery.service_snapshot(service_id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select jsonb_build_object('id', s.id, 'code', s.code, 'name', s.name, 'service_level', s.service_level,
      'default_price', s.default_price, 'price_per_km', s.price_per_km, 'free_km', s.free_km)
    from delivery.delivery_services s where s.id = service_id);
end $$;

-- Measures the ways of open assignments anew, straight at once and by road after the commit.
create or replace function delivery.routes_remeasure(delivery_ids uuid[]) returns void
language plpgsql set search_path = '' as $$
declare
  v_assignments uuid[];
begin
  with stale as (
    update delivery.assignments a
    set route_details = delivery.straight_route(d, a.from_warehouse_id, a.to_warehouse_id)
    from delivery.deliveries d
    where a.tenant_id = app.tenant_id() and a.delivery_id = any (delivery_ids) and d.tenant_id = a.tenant_id and d.id = a.delivery_id
      and a.status in ('pending', 'assigned', 'accepted')
    returning a.id
  )
  select array_agg(s.id) into v_assignments from stale s;
  if v_assignments is not null then
    perform app.job_add('delivery.measure_routes', jsonb_build_object('assignment_ids', v_assignments));
  end if;
end $$;
