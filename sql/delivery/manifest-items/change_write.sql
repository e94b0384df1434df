-- Books and writes the changed orders of manifest items. `lines` is the jsonb array of
-- delivery.order_changes_evaluate (change.sql): one object for each item, in the order the items were sent.
-- `destination` is that of delivery.manifest_place.

-- Books the price difference of each line: a dearer order debits the institution's wallet and credits the tenant's, a
-- cheaper one the reverse. A line whose wallet holds too little gets the failure insufficient_wallet_balance; a later,
-- smaller line may still pass. Returns the lines; each that changes a balance has gained wallet_id (the institution's)
-- and, unless it failed, new_payment_id. A dry run checks the balances and books nothing.
create or replace function delivery.order_changes_settle(lines jsonb, dry_run boolean) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_currency text := (app.currency()).code;
  v_tenant uuid := app.tenant_id();
  v_tenant_wallet uuid;
  v_institution_wallets jsonb;
  v_balances jsonb;
  v_line jsonb;
  v_lines jsonb[] := '{}';
  v_difference numeric;
  v_debit_account text;
begin
  if not exists (
    select from jsonb_array_elements(lines) l
    where l ->> 'failure' is null and (l ->> 'difference')::numeric <> 0
  ) then
    return lines;
  end if;
  -- Both wallets exist: delivery.manifest_orders_paid opened them when it booked the order's first price.
  select jsonb_object_agg(a.owner_user_id, a.id) filter (where a.owner_type = 'institution'),
    min(a.id::text) filter (where a.owner_type = 'tenant'), jsonb_object_agg(a.id, a.balance)
  into v_institution_wallets, v_tenant_wallet, v_balances
  from money.accounts a
  where a.tenant_id = v_tenant and a.kind = 'wallet' and a.currency = v_currency and (
    a.owner_type = 'tenant'
    or (a.owner_type = 'institution' and a.owner_user_id = any (array(
      select distinct (l ->> 'institution_user_id')::uuid from jsonb_array_elements(lines) l))));
  if not dry_run then
    v_balances := money.lock_balances(array(select k::uuid from jsonb_object_keys(v_balances) k));
  end if;

  for v_line in select l from jsonb_array_elements(lines) l loop
    v_difference := (v_line ->> 'difference')::numeric;
    if v_line ->> 'failure' is null and v_difference <> 0 then
      v_line := v_line || jsonb_build_object(
        'wallet_id', v_institution_wallets -> (v_line ->> 'institution_user_id'));
      v_debit_account := case when v_difference > 0 then v_line ->> 'wallet_id' else v_tenant_wallet::text end;
      if (v_balances ->> v_debit_account)::numeric < abs(v_difference) then
        v_line := v_line || jsonb_build_object('failure', 'insufficient_wallet_balance',
          'failure_params', jsonb_build_object('text_key', 'reason_wallet_holds',
            'balance', v_balances -> v_debit_account, 'required', abs(v_difference), 'currency', v_currency));
      else
        -- Refunds are not added to the available balance, so they cannot fund other lines of this batch.
        v_balances := v_balances || jsonb_build_object(v_debit_account,
          (v_balances ->> v_debit_account)::numeric - abs(v_difference));
        v_line := v_line || jsonb_build_object('new_payment_id', gen_random_uuid());
      end if;
    end if;
    v_lines := array_append(v_lines, v_line);
  end loop;

  if not dry_run then
    perform money.post(coalesce((
      select jsonb_agg(jsonb_build_object('journal', l.line ->> 'new_payment_id', 'kind', 'delivery_fee_change',
          'reference_type', 'payment', 'reference_id', l.line ->> 'new_payment_id',
          'description', 'Delivery ' || (l.line ->> 'delivery_code'),
          'account_id', entry.account, 'amount', entry.amount)
        order by
          entry.amount > 0, -- debits first
          l.place)
      from unnest(v_lines) with ordinality l (line, place)
      cross join lateral (values
        ((l.line ->> 'wallet_id')::uuid, -(l.line ->> 'difference')::numeric),
        (v_tenant_wallet, (l.line ->> 'difference')::numeric)
      ) entry (account, amount)
      where l.line ? 'new_payment_id'), '[]'));
  end if;
  return to_jsonb(v_lines);
end $$;

-- Writes the changed orders, given the lines of delivery.order_changes_settle that did not fail: replaces the payment
-- where the price changed, then updates the parcels, their legs and items, and adds to the manifests' history.
-- Notifies drivers already assigned to these deliveries.
create or replace function delivery.order_changes_write(lines jsonb, destination jsonb) returns void
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_branch uuid := (destination ->> 'branch_id')::uuid;
  v_address uuid := (destination ->> 'address_id')::uuid;
  v_address_snapshot jsonb;
  v_delivery_ids uuid[] := array(select (l ->> 'delivery_id')::uuid from jsonb_array_elements(lines) l);
begin
  if v_delivery_ids = '{}' then
    return;
  end if;
  select to_jsonb(a) into v_address_snapshot from delivery.addresses_list a where a.id = v_address;

  update money.payments payment set status = 'CANCELLED'
  where payment.tenant_id = v_tenant and payment.id = any (array(
    select (l ->> 'payment_id')::uuid from jsonb_array_elements(lines) l where l ? 'new_payment_id'));
  -- `reference` is the id of the payment that this one replaces.
  insert into money.payments (id, tenant_id, category, type, status, payment_method, amount, currency, account_id,
    delivery_id, reference, actor_id, processed_at)
  select (l ->> 'new_payment_id')::uuid, v_tenant, 'DELIVERY', 'DELIVERY_FEE', 'SUCCESS', 'wallet',
    (l ->> 'price')::numeric, (app.currency()).code, (l ->> 'wallet_id')::uuid, (l ->> 'delivery_id')::uuid,
    l ->> 'payment_id', app.user_id(), now()
  from jsonb_array_elements(lines) l where l ? 'new_payment_id';

  update delivery.deliveries parent set
    dropoff_address_id = v_address,
    dropoff_snapshot = v_address_snapshot,
    dropoff_zone_id = (v_address_snapshot ->> 'zone_id')::uuid,
    recipient = destination -> 'recipient',
    delivery_service_id = l.service_id,
    service_snapshot = delivery.service_snapshot(l.service_id),
    delivery_fee = l.price,
    unit_size = l.unit_size,
    unit_size_source = l.unit_size_source,
    distance_km = l.distance_km,
    label_outdated = true
  from jsonb_to_recordset(lines) l (
    delivery_id uuid, service_id uuid, price numeric, unit_size numeric, unit_size_source text, distance_km numeric)
  where parent.tenant_id = v_tenant and parent.id = l.delivery_id;
  -- Both legs get the new recipient; only leg B gets the new drop-off.
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
  where parent.tenant_id = v_tenant and parent.id = any (v_delivery_ids)
    and leg.tenant_id = parent.tenant_id and leg.parent_id = parent.id;
  update delivery.transfer_manifest_items item set
    destination_branch_id = v_branch,
    destination_address_id = case when v_branch is null then v_address end
  where item.tenant_id = v_tenant
    and item.id = any (array(select (l ->> 'item_id')::uuid from jsonb_array_elements(lines) l));

  perform delivery.drivers_notify(v_delivery_ids);
  perform delivery.routes_remeasure(v_delivery_ids);
  perform delivery.manifest_events_add((
    select jsonb_agg(jsonb_build_object('manifest_id', l.line -> 'manifest_id', 'manifest_item_id', l.line -> 'item_id',
      'event_type', 'destination_changed', 'payload', jsonb_build_object(
        'delivery_id', l.line -> 'delivery_id', 'delivery_code', l.line -> 'delivery_code',
        'destination_branch_id', v_branch, 'destination_address_id', v_address,
        'delivery_service_id', l.line -> 'service_id', 'price_difference', l.line -> 'difference')) order by l.place)
    from jsonb_array_elements(lines) with ordinality l (line, place)));
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

-- Clears cached routes of open assignments and queues delivery.measure_routes.
create or replace function delivery.routes_remeasure(delivery_ids uuid[]) returns void
language plpgsql set search_path = '' as $$
declare
  v_assignments uuid[];
begin
  with stale as (
    update delivery.assignments a set route_details = null
    where a.tenant_id = app.tenant_id() and a.delivery_id = any (delivery_ids)
      and a.status in ('pending', 'assigned', 'accepted')
    returning a.id
  )
  select array_agg(s.id) into v_assignments from stale s;
  if v_assignments is not null then
    perform app.job_add('delivery.measure_routes', jsonb_build_object('assignment_ids', v_assignments));
  end if;
end $$;
