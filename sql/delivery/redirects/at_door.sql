-- The place and the fee that held where a parcel was, of a report that comes after it was redirected. Functions are SECURITY DEFINER, since drivers
-- neither redirect nor see the parcel of a leg; each names the caller's tenant.

-- The state of a parcel p that a redirect is about to change, as delivery.redirects.before keeps it.
create or replace function delivery.redirect_kept(p delivery.deliveries) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return jsonb_build_object('dropoff_address_id', p.dropoff_address_id, 'dropoff_snapshot', p.dropoff_snapshot,
    'dropoff_zone_id', p.dropoff_zone_id, 'recipient', p.recipient, 'delivery_fee', p.delivery_fee,
    'delivery_service_id', p.delivery_service_id, 'service_snapshot', p.service_snapshot, 'unit_size', p.unit_size,
    'unit_size_source', p.unit_size_source, 'distance_km', p.distance_km, 'dropoff_warehouse_id', p.dropoff_warehouse_id,
    'ordered_to_warehouse_id', p.ordered_to_warehouse_id, 'item', (
      select jsonb_build_object('destination_branch_id', i.destination_branch_id, 'destination_address_id', i.destination_address_id)
      from delivery.transfer_manifest_items i where i.tenant_id = p.tenant_id and i.id = p.manifest_item_id));
end $$;

-- Keeps what a redirect of a parcel p is about to change. late: as delivery.redirects.late_at has it. -> its id. The parcel is locked.
-- Fails: forbidden (app.require_tenant).
create or replace function delivery.redirect_record(p delivery.deliveries, charged text, difference numeric, late text default null) returns uuid
language plpgsql security definer set search_path = '' as $$
declare
  v_id uuid;
begin
  perform app.require_tenant(p.tenant_id);
  insert into delivery.redirects (tenant_id, delivery_id, before, charged, difference, late_at, redirected_by)
  values (p.tenant_id, p.id, delivery.redirect_kept(p), redirect_record.charged, redirect_record.difference, late, app.user_id())
  returning id into v_id;
  return v_id;
end $$;

-- Keeps what a change of these orders' destination is about to change, since it is a redirect to those who have the parcels: the price is paid by
-- wallet. changes: [{delivery_id, difference}]. The parcels are locked.
create or replace function delivery.redirects_record(changes jsonb) returns void
language plpgsql security definer set search_path = '' as $$
begin
  insert into delivery.redirects (tenant_id, delivery_id, before, charged, difference, redirected_by)
  select p.tenant_id, p.id, delivery.redirect_kept(p), case when c.difference <> 0 then 'wallet' else 'none' end, c.difference, app.user_id()
  from jsonb_to_recordset(changes) c (delivery_id uuid, difference numeric)
  join delivery.deliveries p on p.tenant_id = app.tenant_id() and p.id = c.delivery_id;
end $$;

-- The redirects of a parcel since a moment, the oldest first, unless this reporter made one of them: then they know where it goes now.
create or replace function delivery.redirects_unheard(parcel uuid, since timestamptz, reporter uuid) returns setof delivery.redirects
language plpgsql stable set search_path = '' as $$
begin
  return query
  select r.* from delivery.redirects r
  where r.tenant_id = app.tenant_id() and r.delivery_id = parcel and r.redirected_at > since
    and not exists (select from delivery.redirects x where x.tenant_id = r.tenant_id and x.delivery_id = parcel and x.redirected_at > since
      and x.late_at is null and x.redirected_by = reporter)
  order by r.redirected_at, r.id;
end $$;

-- Locks the manifest and the item of a delivery that was redirected since this moment, before its family: a late report may put them back.
create or replace function delivery.lock_redirected(p_delivery uuid, since timestamptz) returns void
language plpgsql security definer set search_path = '' as $$
begin
  if exists (
      select from delivery.deliveries d
      join delivery.redirects r on r.tenant_id = d.tenant_id and r.delivery_id = coalesce(d.parent_id, d.id) and r.redirected_at > since
      where d.tenant_id = app.tenant_id() and d.id = p_delivery) then
    perform delivery.lock_manifest_item(p_delivery);
  end if;
end $$;

-- Writes place, recipient and terms to a parcel p, its legs and the item of its manifest, as a redirect has kept them, with this fee.
-- The last argument names place, amount or recipient, for those who follow the parcel. Nobody calls it but the functions beside it.
create or replace function delivery.redirect_restore(p delivery.deliveries, kept jsonb, fee numeric, what text[]) returns void
language plpgsql set search_path = '' as $$
begin
  update delivery.deliveries x set
    dropoff_address_id = (kept ->> 'dropoff_address_id')::uuid,
    dropoff_snapshot = kept -> 'dropoff_snapshot',
    dropoff_zone_id = (kept ->> 'dropoff_zone_id')::uuid,
    recipient = kept -> 'recipient',
    delivery_fee = fee,
    -- Rows of before 1.9.1 have neither service nor units: a redirect changes none.
    delivery_service_id = case when kept ? 'delivery_service_id' then (kept ->> 'delivery_service_id')::uuid else x.delivery_service_id end,
    unit_size = case when kept ? 'unit_size' then (kept ->> 'unit_size')::numeric else x.unit_size end,
    unit_size_source = case when kept ? 'unit_size_source' then kept ->> 'unit_size_source' else x.unit_size_source end,
    service_snapshot = kept -> 'service_snapshot',
    distance_km = (kept ->> 'distance_km')::numeric,
    dropoff_warehouse_id = (kept ->> 'dropoff_warehouse_id')::uuid,
    ordered_to_warehouse_id = (kept ->> 'ordered_to_warehouse_id')::uuid,
    label_outdated = true
  where x.tenant_id = p.tenant_id and x.id = p.id;
  perform delivery.legs_take_destination(array[p.id]);
  update delivery.transfer_manifest_items i set destination_branch_id = (kept #>> '{item,destination_branch_id}')::uuid,
    destination_address_id = (kept #>> '{item,destination_address_id}')::uuid
  where i.tenant_id = p.tenant_id and i.id = p.manifest_item_id and jsonb_typeof(kept -> 'item') = 'object';
  if p.manifest_item_id is not null then
    perform delivery.manifest_event_add(p.manifest_id, 'destination_changed', jsonb_build_object('delivery_id', p.id,
      'delivery_code', p.delivery_code, 'destination_branch_id', kept #> '{item,destination_branch_id}',
      'destination_address_id', kept #> '{item,destination_address_id}', 'delivery_service_id', coalesce(kept ->> 'delivery_service_id',
        p.delivery_service_id::text), 'price_difference', fee - p.delivery_fee), p.manifest_item_id);
  end if;
  perform delivery.change_announce(array[p.id], what);
  if 'place' = any (what) then
    perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.redirected',
      'entity_type', 'delivery', 'entity_id', p.id, 'event_data', jsonb_build_object('delivery_id', p.id, 'delivery_code', p.delivery_code,
        'previous_address_id', p.dropoff_address_id, 'dropoff_address_id', kept -> 'dropoff_address_id', 'dropoff_zone_id', kept -> 'dropoff_zone_id',
        'delivery_fee', fee, 'price_difference', fee - p.delivery_fee, 'currency', p.currency, 'driver_unassigned', false,
        'actor_id', app.user_id()))));
  end if;
end $$;

-- The differences of a parcel from a kept state of it, in the words of delivery.change_announce.
create or replace function delivery.redirect_differences(p delivery.deliveries, kept jsonb, fee numeric) returns text[]
language plpgsql stable set search_path = '' as $$
begin
  return array_remove(array[
    case when p.dropoff_address_id <> (kept ->> 'dropoff_address_id')::uuid then 'place' end,
    case when p.recipient <> kept -> 'recipient' then 'recipient' end,
    case when p.delivery_fee <> fee then 'amount' end], null);
end $$;

-- Notifies those members of the tenant who redirected a parcel too late. redirects: theirs
create or replace function delivery.redirects_late(p delivery.deliveries, redirects delivery.redirects[], type text, amount numeric) returns void
language plpgsql set search_path = '' as $$
begin
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select p.tenant_id, r.redirected_by, redirects_late.type, jsonb_build_object('delivery_id', p.id, 'delivery_code', p.delivery_code,
    'amount', redirects_late.amount, 'currency', p.currency)
  from (
    select distinct x.redirected_by from unnest(redirects) x
    where x.late_at is null and x.redirected_by is distinct from app.user_id()) r
  -- Administrators of the system redirect where they are no members.
  join tenancy.tenant_users u on u.tenant_id = p.tenant_id and u.user_id = r.redirected_by;
end $$;

-- Puts a parcel p back to where it was handed over, with the recipient and the fee of then, where it was redirected after the time that the report
-- came with; those who redirected it are notified. A fee that was taken in cash stays but for what a wallet bore of it since, which
-- delivery.redirect_settle books. Cash of today's fee says that the driver had heard of it.
-- {occurred_at?, cash_collected?} -> the id of what was put back; null: what holds now counts. The family is locked. Fails: forbidden (app.require_tenant).
create or replace function delivery.redirect_at_door(p delivery.deliveries, input jsonb) returns uuid
language plpgsql security definer set search_path = '' as $$
declare
  v_redirects delivery.redirects[];
  v_kept jsonb;
  v_by_wallet numeric;
  v_in_cash numeric;
  v_id uuid;
  v_what text[];
begin
  perform app.require_tenant(p.tenant_id);
  if input ->> 'occurred_at' is null or delivery.shipment_lives(p.id) then
    return null;
  end if;
  v_redirects := array(select r from delivery.redirects_unheard(p.id, app.instant(input ->> 'occurred_at'), app.user_id()) r);
  if v_redirects = '{}' then
    return null;
  end if;
  v_kept := v_redirects[1].before;
  select coalesce(sum(r.difference) filter (where r.charged = 'wallet'), 0), coalesce(sum(r.difference) filter (where r.charged = 'cash'), 0)
  into v_by_wallet, v_in_cash from unnest(v_redirects) r;
  v_in_cash := case when money.delivery_fee_taken(p.id) then 0 else v_in_cash end;
  v_what := delivery.redirect_differences(p, v_kept, p.delivery_fee - v_by_wallet - v_in_cash);
  if v_what = '{}' or v_in_cash <> 0 and (input #>> '{cash_collected,delivery_fee}')::numeric = p.delivery_fee then
    return null;
  end if;
  v_id := delivery.redirect_record(p, case when v_by_wallet <> 0 then 'wallet' when v_in_cash <> 0 then 'cash' else 'none' end,
    -v_by_wallet - v_in_cash, 'door');
  perform delivery.redirect_restore(p, v_kept, p.delivery_fee - v_by_wallet - v_in_cash, v_what);
  perform delivery.redirects_late(p, v_redirects, 'redirect_late', p.delivery_fee - v_by_wallet - v_in_cash);
  return v_id;
end $$;

-- Puts back the fee that a sender paid in cash at the pickup of a parcel p, where it was redirected after the time that the report came with; its
-- redirectors are notified, and it goes where they sent it: the fee counts as taken, as of a redirect on its way.
-- {occurred_at?, cash_collected?}. The family is locked. Fails: forbidden (app.require_tenant).
create or replace function delivery.redirect_at_pickup(p delivery.deliveries, input jsonb) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_redirects delivery.redirects[];
  v_difference numeric;
begin
  perform app.require_tenant(p.tenant_id);
  if input ->> 'occurred_at' is null or p.payer_type <> 'sender' or p.payment_method = 'wallet' or p.order_id is not null
      or money.delivery_fee_taken(p.id) then
    return;
  end if;
  v_redirects := array(select r from delivery.redirects_unheard(p.id, app.instant(input ->> 'occurred_at'), app.user_id()) r);
  v_difference := (select sum(r.difference) from unnest(v_redirects) r where r.charged = 'cash');
  if coalesce(v_difference, 0) = 0 or (input #>> '{cash_collected,delivery_fee}')::numeric = p.delivery_fee then
    return;
  end if;
  perform delivery.redirect_record(p, 'cash', -v_difference, 'pickup');
  update delivery.deliveries x set delivery_fee = x.delivery_fee - v_difference, service_snapshot = v_redirects[1].before -> 'service_snapshot',
    label_outdated = true
  where x.tenant_id = p.tenant_id and x.id = p.id;
  perform delivery.legs_take_destination(array[p.id]);
  perform delivery.change_announce(array[p.id], '{amount}');
  perform delivery.redirects_late(p, v_redirects, 'redirect_fee_late', p.delivery_fee - v_difference);
end $$;

-- Books with the owner's wallet what this transaction put back of its fee (delivery.redirect_at_door), before the cash that this driver brings.
-- Where the wallet that it comes from is short the fee stays as it was paid, and administrators are notified: nobody at a door can fill a wallet.
-- Accounts are locked in one order. driver: null where no cash is brought.
create or replace function delivery.redirect_settle(parcel uuid, driver uuid) returns void
language plpgsql security definer set search_path = '' as $$
declare
  p delivery.deliveries;
  r delivery.redirects;
  v_cash record;
begin
  select * into r from delivery.redirects x
  where x.tenant_id = app.tenant_id() and x.delivery_id = parcel and x.created_at = now() and x.late_at = 'door' and x.charged = 'wallet';
  if not found then
    return;
  end if;
  select * into strict p from delivery.deliveries x where x.tenant_id = r.tenant_id and x.id = parcel;
  v_cash := money.cash_due(p, 'dropoff');
  perform money.lock_balances(array[money.owner_wallet(p), money.account_of('wallet', 'tenant', null, p.currency::text)]
    || case when driver is not null and v_cash.cod + v_cash.delivery_fee > 0 then array[
      money.account_of('external', 'tenant', null, p.currency::text), money.account_of('driver_cash', 'driver', driver, p.currency::text),
      money.account_of('cod_clearing', 'tenant', null, p.currency::text)] end);
  begin
    perform money.delivery_fee_change(parcel, r.difference, false);
  exception when sqlstate 'RULE0' then
    if sqlerrm <> 'insufficient_wallet_balance' then
      raise;
    end if;
    update delivery.deliveries x set delivery_fee = x.delivery_fee - r.difference where x.tenant_id = r.tenant_id and x.id = parcel;
    update delivery.redirects x set charged = 'none', difference = 0 where x.tenant_id = r.tenant_id and x.id = r.id;
    perform tenancy.notify_tenant_admins('redirect_fee_due', jsonb_build_object('delivery_id', p.id, 'delivery_code', p.delivery_code,
      'amount', -r.difference, 'currency', p.currency));
  end;
end $$;

-- Sends a parcel where it was redirected to once more, when the outcome that put it back is undone: with the fee of then, which its owner's wallet
-- pays where that had paid it. Nothing where the outcome put nothing back. Fails: insufficient_wallet_balance.
create or replace function delivery.redirect_again(parcel uuid, put_back uuid) returns void
language plpgsql set search_path = '' as $$
declare
  p delivery.deliveries;
  r delivery.redirects;
begin
  select * into r from delivery.redirects x where x.tenant_id = app.tenant_id() and x.id = put_back;
  if not found then
    return;
  end if;
  select * into strict p from delivery.deliveries x where x.tenant_id = r.tenant_id and x.id = parcel;
  perform delivery.redirect_record(p, r.charged, -r.difference, 'undo');
  perform delivery.redirect_restore(p, r.before, p.delivery_fee - r.difference,
    delivery.redirect_differences(p, r.before, p.delivery_fee - r.difference));
  perform delivery.routes_remeasure(p.id || array(select l.id from delivery.deliveries l where l.tenant_id = p.tenant_id and l.parent_id = p.id));
  if r.charged = 'wallet' then
    -- All accounts in one order, with those of the cash that is reversed after this.
    perform money.lock_balances(array[money.owner_wallet(p), money.account_of('wallet', 'tenant', null, p.currency::text)] || array(
      select e.account_id from money.cod_collections c
      join money.ledger_transactions t on t.tenant_id = c.tenant_id and t.reference_type = 'cod_collection' and t.reference_id = c.id
      join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id
      where c.tenant_id = p.tenant_id and c.delivery_id = p.id and c.collected_at = r.created_at));
    perform money.delivery_fee_change(parcel, -r.difference, false);
  end if;
end $$;

-- Puts the fee of a redirect in force again when the pickup that had put it back is undone: the sender has not paid it. A report from the door, and
-- its undo, leave the fee of a sender who paid at the pickup: their rows have no cash in them.
create or replace function delivery.redirect_fee_again(parcel uuid) returns void
language plpgsql set search_path = '' as $$
declare
  p delivery.deliveries;
  r delivery.redirects;
begin
  select * into r from delivery.redirects x
  where x.tenant_id = app.tenant_id() and x.delivery_id = parcel and x.late_at in ('pickup', 'undo') and x.charged = 'cash'
  order by x.redirected_at desc limit 1;
  if r.late_at is distinct from 'pickup' then
    return;
  end if;
  select * into strict p from delivery.deliveries x where x.tenant_id = r.tenant_id and x.id = parcel;
  perform delivery.redirect_record(p, 'cash', -r.difference, 'undo');
  update delivery.deliveries x set delivery_fee = x.delivery_fee - r.difference, service_snapshot = r.before -> 'service_snapshot', label_outdated = true
  where x.tenant_id = p.tenant_id and x.id = p.id;
  perform delivery.legs_take_destination(array[p.id]);
  perform delivery.change_announce(array[p.id], '{amount}');
end $$;

grant execute on function delivery.redirect_record(delivery.deliveries, text, numeric, text), delivery.redirects_record(jsonb),
  delivery.lock_redirected(uuid, timestamptz),
  delivery.redirect_at_door(delivery.deliveries, jsonb), delivery.redirect_at_pickup(delivery.deliveries, jsonb),
  delivery.redirect_settle(uuid, uuid) to barid_caller;
