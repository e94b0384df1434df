-- Books the differences of changed orders and writes where they go now.

-- Books the difference of each line, all debits before all credits: what a cheaper order gives back pays for no dearer one
-- of the same part. A line that its wallet (the institution's, or the tenant's for what is given back) cannot bear gets the
-- failure insufficient_wallet_balance and later, smaller ones may pass. A dry run looks at the wallets and books nothing.
-- Lines that pay get new_payment_id.
create or replace function delivery.order_changes_paid(lines jsonb, dry_run boolean) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_currency text := (app.currency()).code;
  v_tenant uuid := app.tenant_id();
  v_tenant_wallet uuid;
  v_wallets jsonb;
  v_left jsonb;
  v_line jsonb;
  v_lines jsonb[] := '{}';
  v_difference numeric;
  v_from text;
begin
  if not exists (select from jsonb_array_elements(lines) l where l ->> 'failure' is null and (l ->> 'difference')::numeric <> 0) then
    return lines;
  end if;
  select jsonb_object_agg(a.owner_user_id, a.id) filter (where a.owner_type = 'institution'),
    min(a.id::text) filter (where a.owner_type = 'tenant'), jsonb_object_agg(a.id, a.balance)
  into v_wallets, v_tenant_wallet, v_left
  from money.accounts a
  where a.tenant_id = v_tenant and a.kind = 'wallet' and a.currency = v_currency and (a.owner_type = 'tenant'
    or (a.owner_type = 'institution' and a.owner_user_id = any (array(select distinct (l ->> 'institution_user_id')::uuid
      from jsonb_array_elements(lines) l))));
  if not dry_run then
    v_left := money.lock_balances(array(select k::uuid from jsonb_object_keys(v_left) k));
  end if;

  for v_line in select l from jsonb_array_elements(lines) l loop
    v_difference := (v_line ->> 'difference')::numeric;
    if v_line ->> 'failure' is null and v_difference <> 0 then
      v_line := v_line || jsonb_build_object('wallet_id', v_wallets -> (v_line ->> 'institution_user_id'));
      v_from := case when v_difference > 0 then v_line ->> 'wallet_id' else v_tenant_wallet::text end;
      if (v_left ->> v_from)::numeric < abs(v_difference) then
        v_line := v_line || jsonb_build_object('failure', 'insufficient_wallet_balance', 'failure_params', jsonb_build_object(
          'text_key', 'reason_wallet_holds', 'balance', v_left -> v_from, 'required', abs(v_difference), 'currency', v_currency));
      else
        v_left := v_left || jsonb_build_object(v_from, (v_left ->> v_from)::numeric - abs(v_difference));
        v_line := v_line || jsonb_build_object('new_payment_id', gen_random_uuid());
      end if;
    end if;
    v_lines := array_append(v_lines, v_line);
  end loop;

  if not dry_run then
    perform money.post(coalesce((
      select jsonb_agg(jsonb_build_object('journal', l.line ->> 'new_payment_id', 'kind', 'delivery_fee_change',
          'reference_type', 'payment', 'reference_id', l.line ->> 'new_payment_id', 'description', 'Delivery ' || (l.line ->> 'delivery_code'),
          'account_id', e.account, 'amount', e.amount) order by e.amount > 0, l.place)
      from unnest(v_lines) with ordinality l (line, place)
      cross join lateral (values
        ((l.line ->> 'wallet_id')::uuid, -(l.line ->> 'difference')::numeric), (v_tenant_wallet, (l.line ->> 'difference')::numeric)
      ) e (account, amount)
      where l.line ? 'new_payment_id'), '[]'));
  end if;
  return to_jsonb(v_lines);
end $$;

-- Writes the changed orders: the payment of the new price in place of the old one, the parcel and its legs, the item, the
-- history. A driver who has one already is told.
create or replace function delivery.order_changes_write(lines jsonb, destination jsonb) returns void
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_branch uuid := (destination ->> 'branch_id')::uuid;
  v_address uuid := (destination ->> 'address_id')::uuid;
  v_to jsonb;
  v_parcels uuid[] := array(select (l ->> 'delivery_id')::uuid from jsonb_array_elements(lines) l);
begin
  if v_parcels = '{}' then
    return;
  end if;
  select to_jsonb(a) into v_to from delivery.addresses_list a where a.id = v_address;

  update money.payments p set status = 'CANCELLED'
  where p.tenant_id = v_tenant and p.id = any (array(select (l ->> 'payment_id')::uuid from jsonb_array_elements(lines) l
    where l ? 'new_payment_id'));
  insert into money.payments (id, tenant_id, category, type, status, payment_method, amount, currency, account_id, delivery_id, reference,
    actor_id, processed_at)
  select (l ->> 'new_payment_id')::uuid, v_tenant, 'DELIVERY', 'DELIVERY_FEE', 'SUCCESS', 'wallet', (l ->> 'price')::numeric,
    (app.currency()).code, (l ->> 'wallet_id')::uuid, (l ->> 'delivery_id')::uuid, l ->> 'payment_id', app.user_id(), now()
  from jsonb_array_elements(lines) l where l ? 'new_payment_id';

  update delivery.deliveries d set dropoff_address_id = v_address, dropoff_snapshot = v_to, dropoff_zone_id = (v_to ->> 'zone_id')::uuid,
    recipient = destination -> 'recipient', delivery_service_id = l.service_id, service_snapshot = delivery.service_snapshot(l.service_id),
    delivery_fee = l.price, unit_size = l.unit_size, unit_size_source = l.unit_size_source, distance_km = l.distance_km, label_outdated = true
  from jsonb_to_recordset(lines) l (delivery_id uuid, service_id uuid, price numeric, unit_size numeric, unit_size_source text, distance_km numeric)
  where d.tenant_id = v_tenant and d.id = l.delivery_id;
  -- Both legs show whom the parcel is for; the second one goes there.
  update delivery.deliveries g set recipient = p.recipient, delivery_service_id = p.delivery_service_id, service_snapshot = p.service_snapshot,
    unit_size = p.unit_size, unit_size_source = p.unit_size_source, label_outdated = true,
    dropoff_address_id = case g.leg when 'B' then p.dropoff_address_id else g.dropoff_address_id end,
    dropoff_snapshot = case g.leg when 'B' then p.dropoff_snapshot else g.dropoff_snapshot end,
    dropoff_zone_id = case g.leg when 'B' then p.dropoff_zone_id else g.dropoff_zone_id end
  from delivery.deliveries p
  where p.tenant_id = v_tenant and p.id = any (v_parcels) and g.tenant_id = p.tenant_id and g.parent_id = p.id;
  update delivery.transfer_manifest_items i set destination_branch_id = v_branch,
    destination_address_id = case when v_branch is null then v_address end
  where i.tenant_id = v_tenant and i.id = any (array(select (l ->> 'item_id')::uuid from jsonb_array_elements(lines) l));

  perform delivery.drivers_notify(v_parcels);
  perform delivery.routes_remeasure(v_parcels);
  perform delivery.manifest_events_add((
    select jsonb_agg(jsonb_build_object('manifest_id', l.line -> 'manifest_id', 'manifest_item_id', l.line -> 'item_id',
      'event_type', 'destination_changed', 'payload', jsonb_build_object('delivery_id', l.line -> 'delivery_id',
        'delivery_code', l.line -> 'delivery_code', 'destination_branch_id', v_branch, 'destination_address_id', v_address,
        'delivery_service_id', l.line -> 'service_id', 'price_difference', l.line -> 'difference')) order by l.place)
    from jsonb_array_elements(lines) with ordinality l (line, place)));
end $$;

-- A service as orders remember it.
create or replace function delivery.service_snapshot(service_id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select jsonb_build_object('id', s.id, 'code', s.code, 'name', s.name, 'service_level', s.service_level,
      'default_price', s.default_price, 'price_per_km', s.price_per_km, 'free_km', s.free_km)
    from delivery.delivery_services s where s.id = service_id);
end $$;

-- Has the routes of these deliveries measured once more, for the drivers who have them.
create or replace function delivery.routes_remeasure(deliveries uuid[]) returns void
language plpgsql set search_path = '' as $$
declare
  v_assignments uuid[];
begin
  with stale as (
    update delivery.assignments a set route_details = null
    where a.tenant_id = app.tenant_id() and a.delivery_id = any (deliveries) and a.status in ('pending', 'assigned', 'accepted')
    returning a.id
  )
  select array_agg(s.id) into v_assignments from stale s;
  if v_assignments is not null then
    perform app.job_add('delivery.measure_routes', jsonb_build_object('assignment_ids', v_assignments));
  end if;
end $$;
