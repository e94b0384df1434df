-- Another destination for a parcel that is ordered or on its way.

-- Redirects a parcel, whichever of its legs is named: priced anew, the difference between the owner's wallet and the tenant's in the same
-- transaction, or in the cash that is due. Before pickup a driver who may not go there is unassigned; a parcel on the road stays with its
-- driver. A dry run checks and prices, and neither locks nor writes.
-- {id, dropoff_address_id? | dropoff? {latitude, longitude, ...}, recipient? {name, phone}, charge? wallet, dry_run?}
-- -> {delivery, price: {before, after, difference, currency, charged}, driver_unassigned, dry_run}
-- Locks: manifest and item, the delivery's family, drivers, wallets by id.
-- Fails: delivery_not_found, forbidden, what delivery.require_changeable fails with, delivery_already_picked_up (the owner is too late),
-- return_under_way, redirect_to_customer (of what it sends back), what delivery.redirect_place and delivery.redirect_terms fail with,
-- redirect_needs_other_driver, customer_required_for_wallet, insufficient_wallet_balance.
create or replace function delivery.delivery_redirect(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_id uuid := (input ->> 'id')::uuid;
  v_dry_run boolean := coalesce((input ->> 'dry_run')::boolean, false);
  v_office boolean := app.has_permission('manage:operations:tenant');
  d delivery.deliveries;
  p delivery.deliveries;
  v_to delivery.addresses;
  v_terms record;
  v_difference numeric;
  v_unassigned uuid[];
begin
  if not v_dry_run then
    perform delivery.lock_manifest_item(v_id);
    d := delivery.lock_delivery(v_id);
  else
    select * into d from delivery.deliveries x where x.id = v_id;
    if not found then
      perform app.fail('delivery_not_found');
    end if;
  end if;
  p := delivery.parcel_terms(d);
  perform delivery.require_owner(p);
  if input ->> 'charge' is not null and not v_office then
    perform app.fail('forbidden');
  end if;
  perform delivery.require_changeable(p);
  if not v_office and delivery.was_picked_up(p) then
    perform app.fail('delivery_already_picked_up');
  end if;
  perform delivery.require_no_return(p);
  v_to := delivery.redirect_place(p, input, v_dry_run);
  if p.delivery_flow = 'customer_return' and not p.made_at_door and v_to.id = (delivery.ordered_from(p)).address_id then
    perform app.fail('redirect_to_customer', jsonb_build_object('field', 'dropoff_address_id'));
  end if;
  v_terms := delivery.redirect_terms(p, v_to, input ->> 'charge' is not null);
  v_difference := (v_terms.priced).delivery_fee - p.delivery_fee;
  if exists (select from delivery.redirect_misfits(p.id, v_to.zone_id) m where m.in_hand) then
    perform app.fail('redirect_needs_other_driver', jsonb_build_object('field', 'dropoff_address_id'));
  end if;
  v_unassigned := array(select m.assignment_id from delivery.redirect_misfits(p.id, v_to.zone_id) m);
  if not v_dry_run then
    perform delivery.redirect_record(p, v_terms.charged, v_difference);
    perform delivery.redirect_write(p, v_to.id, v_terms.priced, input -> 'recipient', v_unassigned);
  end if;
  if v_terms.charged = 'wallet' then
    perform money.delivery_fee_change(p.id, v_difference, v_dry_run);
  end if;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'dry_run', v_dry_run, 'driver_unassigned', v_unassigned <> '{}',
    'price', jsonb_build_object('before', p.delivery_fee, 'after', (v_terms.priced).delivery_fee, 'difference', v_difference,
      'currency', p.currency, 'charged', v_terms.charged));
end $$;

-- Writes a redirect to the parcel, its legs and the item of its manifest, unassigns these assignments, and notifies. The family is locked.
-- SECURITY DEFINER: an owner sees neither all legs nor the drivers' assignments and notices.
create or replace function delivery.redirect_write(
  p delivery.deliveries, to_address uuid, priced delivery.deliveries, recipient jsonb, unassigned uuid[]
) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_place jsonb;
  v_ends_in uuid := delivery.redirect_ends_in(p, to_address);
  v_family uuid[] := p.id || array(select l.id from delivery.deliveries l where l.tenant_id = v_tenant and l.parent_id = p.id);
begin
  select to_jsonb(a) into strict v_place from delivery.addresses x join delivery.addresses_list a on a.id = x.id
  where x.tenant_id = v_tenant and x.id = to_address;
  perform from delivery.drivers r
  where r.tenant_id = v_tenant and r.user_id in (
    select a.driver_id from delivery.assignments a where a.tenant_id = v_tenant and a.id = any (unassigned))
  order by r.user_id for no key update;
  perform delivery.assignments_return(unassigned, 'redirected');
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select a.tenant_id, a.driver_id, 'assignment_returned', delivery.return_noted(a.tenant_id, a.id, a.delivery_id, 'redirected')
  from delivery.assignments a where a.tenant_id = v_tenant and a.id = any (unassigned) and a.driver_id is distinct from app.user_id();
  update delivery.deliveries x set
    dropoff_address_id = to_address,
    dropoff_snapshot = v_place,
    dropoff_zone_id = (v_place ->> 'zone_id')::uuid,
    recipient = case when jsonb_typeof(redirect_write.recipient) = 'object' then delivery.recipient_corrected(x.recipient, redirect_write.recipient)
      else x.recipient end,
    delivery_fee = priced.delivery_fee,
    service_snapshot = priced.service_snapshot,
    distance_km = priced.distance_km,
    -- A transfer to another warehouse on the way stays.
    dropoff_warehouse_id = case when x.transfer_kind is null then v_ends_in else x.dropoff_warehouse_id end,
    ordered_to_warehouse_id = case when x.transfer_kind is not null then v_ends_in end,
    label_outdated = true
  where x.tenant_id = v_tenant and x.id = p.id;
  perform delivery.legs_take_destination(array[p.id]);
  if p.manifest_item_id is not null then
    update delivery.transfer_manifest_items i set destination_branch_id = null, destination_address_id = to_address
    where i.tenant_id = v_tenant and i.id = p.manifest_item_id;
    perform delivery.manifest_event_add(p.manifest_id, 'destination_changed', jsonb_build_object('delivery_id', p.id,
      'delivery_code', p.delivery_code, 'destination_branch_id', null, 'destination_address_id', to_address,
      'delivery_service_id', p.delivery_service_id, 'price_difference', priced.delivery_fee - p.delivery_fee), p.manifest_item_id);
  end if;
  perform delivery.change_announce(array[p.id], array_remove(array['place',
    case when jsonb_typeof(redirect_write.recipient) = 'object'
      and delivery.recipient_corrected(p.recipient, redirect_write.recipient) <> p.recipient then 'recipient' end,
    case when priced.delivery_fee <> p.delivery_fee then 'amount' end], null));
  perform delivery.routes_remeasure(v_family);
  -- A carrier that has brought it back would bring it to the place of before.
  perform integration.shipments_end(v_family);
  -- The driver did not refuse it, and the office has not taken it in hand: the search for another one begins anew.
  if unassigned <> '{}' and (delivery.auto_assignment_settings()).enabled and delivery.is_auto_assignable(p) then
    perform delivery.searches_begin(array[p.id]);
  end if;
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.redirected',
    'entity_type', 'delivery', 'entity_id', p.id, 'event_data', jsonb_build_object('delivery_id', p.id, 'delivery_code', p.delivery_code,
      'previous_address_id', p.dropoff_address_id, 'dropoff_address_id', to_address, 'dropoff_zone_id', v_place -> 'zone_id',
      'delivery_fee', priced.delivery_fee, 'price_difference', priced.delivery_fee - p.delivery_fee, 'currency', p.currency,
      'driver_unassigned', unassigned <> '{}', 'actor_id', app.user_id()))));
end $$;

grant execute on function delivery.redirect_write(delivery.deliveries, uuid, delivery.deliveries, jsonb, uuid[]) to barid_caller;
