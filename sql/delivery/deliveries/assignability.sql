-- The reasons why a delivery cannot be assigned, and small reads about parcels for other features.

-- The delivery that is the parcel: the parent of a leg, otherwise itself.
create or replace function delivery.parcel_of(d delivery.deliveries) returns uuid
language plpgsql immutable set search_path = '' as $$
begin
  return coalesce(d.parent_id, d.id);
end $$;

-- True for what leaves a warehouse as a parcel of its own: it has to be picked there before a driver gets it.
create or replace function delivery.leaves_warehouse(d delivery.deliveries) returns boolean
language plpgsql immutable set search_path = '' as $$
begin
  return d.delivery_flow = 'pnd_outbound' or (d.delivery_flow = 'operational_return' and d.pickup_warehouse_id is not null);
end $$;

-- True for what goes back into a warehouse when it does not come to its door: what left one as a parcel, or as goods of a store.
create or replace function delivery.returns_to_warehouse(d delivery.deliveries) returns boolean
language plpgsql immutable set search_path = '' as $$
begin
  return delivery.leaves_warehouse(d) or (d.order_id is not null and d.pickup_warehouse_id is not null);
end $$;

-- The warehouse its order ends in, whatever transfers have recorded meanwhile; null: somebody's door.
create or replace function delivery.ends_in(d delivery.deliveries) returns uuid
language plpgsql immutable set search_path = '' as $$
begin
  return case when d.transfer_kind is null then d.dropoff_warehouse_id else d.ordered_to_warehouse_id end;
end $$;

-- True for what a driver of ours brings to another warehouse first (a transfer of a single delivery).
create or replace function delivery.is_transferred(d delivery.deliveries) returns boolean
language plpgsql immutable set search_path = '' as $$
begin
  return d.carrier_type = 'internal' and d.transfer_kind is not distinct from 'single_delivery';
end $$;

-- Facts about a parcel do not depend on the caller: the functions down to their grant are SECURITY DEFINER, and each statement
-- names the caller's tenant. Under the policies of their tables they would also cost ten times as much, at every scan.

-- The operational return that a parcel is on its way back by, or waits in a warehouse for, or whose receipt is expected; null: it is not
-- sent back, or is back already.
create or replace function delivery.return_under_way(parcel uuid) returns uuid
language plpgsql stable security definer set search_path = '' as $$
declare
  v_return uuid;
begin
  select r.id into v_return from delivery.deliveries r
  where r.tenant_id = app.tenant_id() and r.original_delivery_id = parcel and r.delivery_flow = 'operational_return'
    and r.status <> 'cancelled' and (r.status <> 'delivered' or exists (
      select from warehousing.receiving_orders n where n.tenant_id = r.tenant_id and n.delivery_id = r.id and n.status = 'pending'));
  return v_return;
end $$;

-- True for a delivery whose parcel is on its way back by an operational return, or has come back by one. SECURITY DEFINER: functions of carriers
-- ask, outside any request. Fails: forbidden (app.require_tenant).
create or replace function delivery.is_sent_back(d delivery.deliveries) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  perform app.require_tenant(d.tenant_id);
  return delivery.return_under_way(delivery.parcel_of(d)) is not null or d.status = 'returned' and exists (
    select from delivery.deliveries r
    where r.tenant_id = d.tenant_id and r.original_delivery_id = delivery.parcel_of(d) and r.delivery_flow = 'operational_return'
      and r.status = 'delivered');
end $$;

-- The returns under way of many parcels at once: those that are sent back, each with its return.
create or replace function delivery.returns_under_way(parcels uuid[]) returns table (parcel uuid, return_id uuid)
language plpgsql stable security definer set search_path = '' as $$
#variable_conflict use_column
declare
  v_tenant uuid := app.tenant_id();
begin
  return query
  select r.original_delivery_id, r.id from delivery.deliveries r
  where r.tenant_id = v_tenant and r.original_delivery_id = any (parcels) and r.delivery_flow = 'operational_return'
    and r.status <> 'cancelled' and (r.status <> 'delivered' or exists (
      select from warehousing.receiving_orders n where n.tenant_id = r.tenant_id and n.delivery_id = r.id and n.status = 'pending'));
end $$;

-- Of these deliveries the ones of which delivery.has_unresolved_exception is true.
create or replace function delivery.with_unresolved_exception(delivery_ids uuid[]) returns uuid[]
language plpgsql stable security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  return array(
    select e.delivery_id from delivery.delivery_exceptions e
    where e.tenant_id = v_tenant and e.delivery_id = any (delivery_ids) and e.status = 'open'
    union all
    select w.delivery_id from warehousing.waybill_discrepancies w
    where w.tenant_id = v_tenant and w.delivery_id = any (delivery_ids) and w.status = 'open');
end $$;

-- True when a delivery has an open exception, or is missing from a waybill and nobody has said why.
create or replace function delivery.has_unresolved_exception(delivery_id uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  return exists (select from delivery.delivery_exceptions e
      where e.tenant_id = v_tenant and e.delivery_id = has_unresolved_exception.delivery_id and e.status = 'open')
    or exists (select from warehousing.waybill_discrepancies w
      where w.tenant_id = v_tenant and w.delivery_id = has_unresolved_exception.delivery_id and w.status = 'open');
end $$;

-- True for an operational return of which something lies in its warehouse that no pick has set aside, such as damaged units: it goes along as
-- it is. SECURITY DEFINER: drivers and carriers see no stock.
create or replace function delivery.leaves_as_it_is(d delivery.deliveries) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  perform app.require_tenant(d.tenant_id);
  return d.delivery_flow = 'operational_return' and d.pickup_warehouse_id is not null and warehousing.parcel_lies_in(d.id, d.pickup_warehouse_id);
end $$;

-- True for a parcel on a waybill that was not received yet. SECURITY DEFINER: its owner sees no waybill.
create or replace function delivery.on_waybill(parcel uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return exists (
    select from warehousing.waybill_deliveries w where w.tenant_id = app.tenant_id() and w.delivery_id = parcel and w.is_open);
end $$;

-- True for a draft of which a waybill has the parcel on the road, or was received without it and nobody has said yet what became of it. That of a
-- piece of inventory binds nobody on the road either: its goods are what travels. SECURITY DEFINER, as above. Fails: forbidden (app.require_tenant).
create or replace function delivery.draft_travels(d delivery.deliveries) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  perform app.require_tenant(d.tenant_id);
  return d.status = 'draft' and d.current_warehouse_id is null and exists (
    select from warehousing.waybill_deliveries b
    join warehousing.waybills y on y.tenant_id = b.tenant_id and y.id = b.waybill_id
    where b.tenant_id = d.tenant_id and b.delivery_id = d.id and (b.is_open and y.status = 'in_transit' or exists (
      select from warehousing.waybill_discrepancies m
      where m.tenant_id = b.tenant_id and m.waybill_id = b.waybill_id and m.delivery_id = b.delivery_id and m.status = 'open')))
    and not delivery.is_for_waybill(d);
end $$;

-- True for a draft whose parcel a waybill has lost, and nobody has put on another since. SECURITY DEFINER, as above.
-- Fails: forbidden (app.require_tenant).
create or replace function delivery.draft_is_lost(d delivery.deliveries) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  perform app.require_tenant(d.tenant_id);
  return d.status = 'draft' and d.current_warehouse_id is null and exists (
    select from warehousing.waybill_deliveries b
    join warehousing.waybill_discrepancies m on m.tenant_id = b.tenant_id and m.waybill_id = b.waybill_id and m.delivery_id = b.delivery_id
    where b.tenant_id = d.tenant_id and b.delivery_id = d.id and m.status = 'resolved' and m.resolution = 'lost')
    and not delivery.is_for_waybill(d);
end $$;

-- True when a delivery that leaves a warehouse is ready for a driver: one completed picking order, all that is
-- in the parcel reserved for it, and no receipt of it still expected. Of an operational return is reserved what is available of it; what has
-- become available since is not left behind.
create or replace function delivery.is_prepared(d delivery.deliveries) returns boolean
language plpgsql stable security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_parcel uuid := delivery.parcel_of(d);
  v_picked uuid;
begin
  -- Most that are asked about are not picked yet: nothing else is looked up for them.
  for v_picked in select p.id from warehousing.picking_orders p
    where p.tenant_id = v_tenant and p.delivery_id = d.id and p.status = 'completed'
  loop
    if exists (select from delivery.delivery_items i where i.tenant_id = v_tenant and i.delivery_id = v_parcel)
      and not exists (
        select from delivery.delivery_items i
        where i.tenant_id = v_tenant and i.delivery_id = v_parcel
        group by i.item_id
        having sum(i.quantity) > coalesce((
            select sum(s.quantity) from warehousing.stock s
            where s.tenant_id = v_tenant and s.reserved_for_id = v_picked and s.item_id = i.item_id), 0)
          and (d.delivery_flow <> 'operational_return' or warehousing.units_available(i.item_id, d.pickup_warehouse_id) > 0))
      and (exists (select from warehousing.stock s where s.tenant_id = v_tenant and s.reserved_for_id = v_picked and s.quantity > 0)
        or delivery.leaves_as_it_is(d))
    then
      return not exists (select from warehousing.receiving_orders r
        where r.tenant_id = v_tenant and r.delivery_id = d.id and r.status = 'pending');
    end if;
  end loop;
  return false;
end $$;

-- True when things of the same parcel have an open exception on another of its legs, or on the delivery it comes back from.
create or replace function delivery.has_item_exception_beside(d delivery.deliveries) returns boolean
language plpgsql stable security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_beside uuid[] := array(
    select o.id from delivery.deliveries o
    where o.tenant_id = v_tenant and o.id <> d.id
      and (o.parent_id = d.parent_id or o.id = d.original_delivery_id or o.parent_id = d.original_delivery_id));
begin
  return v_beside <> '{}' and exists (
    select from delivery.delivery_exceptions e
    where e.tenant_id = v_tenant and e.delivery_id = any (v_beside) and e.status = 'open' and jsonb_array_length(e.items) > 0);
end $$;

grant execute on function delivery.return_under_way(uuid), delivery.is_sent_back(delivery.deliveries), delivery.returns_under_way(uuid[]),
  delivery.has_unresolved_exception(uuid), delivery.with_unresolved_exception(uuid[]), delivery.leaves_as_it_is(delivery.deliveries),
  delivery.on_waybill(uuid), delivery.draft_travels(delivery.deliveries), delivery.draft_is_lost(delivery.deliveries),
  delivery.is_prepared(delivery.deliveries), delivery.has_item_exception_beside(delivery.deliveries) to barid_caller;

-- Fails: return_under_way {return_delivery_id}.
create or replace function delivery.require_no_return(d delivery.deliveries) returns void
language plpgsql stable set search_path = '' as $$
declare
  v_return uuid := delivery.return_under_way(delivery.parcel_of(d));
begin
  if v_return is not null then
    perform app.fail('return_under_way', jsonb_build_object('return_delivery_id', v_return));
  end if;
end $$;

-- Of these deliveries the ones that may not be given to a driver now, with the first reason:
--   return_under_way                    its parcel goes back to who sent it
--   delivery_has_open_exception         an exception of its own, or missing from a waybill
--   parent_exception_open               the same of its parcel
--   warehouse_item_exception_open       items of the parcel are in question, recorded at another leg or at the original
--   warehouse_preparation_inconsistent  leaves a warehouse and is not picked in full, or comes back and is not received,
--                                       or is on a waybill to another warehouse
-- Of the delivery's state (pending, internal carrier, active leg) it says nothing. For staff: it looks into warehouses.
create or replace function delivery.preparation_problem(delivery_ids uuid[])
returns table (delivery_id uuid, code text)
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
declare
  v_tenant uuid := app.tenant_id();
  v_parcels uuid[];
  v_sent_back uuid[];
  v_in_question uuid[];
begin
  -- The facts of all at once, however many are asked about.
  select array_agg(coalesce(d.parent_id, d.id)) into v_parcels
  from delivery.deliveries d where d.tenant_id = v_tenant and d.id = any (delivery_ids);
  if v_parcels is null then
    return;
  end if;
  v_sent_back := array(select u.parcel from delivery.returns_under_way(v_parcels) u);
  v_in_question := delivery.with_unresolved_exception(delivery_ids || v_parcels);
  return query
  select p.id, p.problem
  from (
    select d.id, case
      when coalesce(d.parent_id, d.id) = any (v_sent_back) then 'return_under_way'
      when d.id = any (v_in_question) then 'delivery_has_open_exception'
      when d.parent_id = any (v_in_question) then 'parent_exception_open'
      -- Between two doors there is nothing to prepare; a call for each would cost more than all the rest.
      when d.delivery_flow <> 'standard' and delivery.leaves_warehouse(d) and delivery.has_item_exception_beside(d)
        then 'warehouse_item_exception_open'
      when d.delivery_flow <> 'standard' and delivery.leaves_warehouse(d) and not delivery.is_prepared(d) then 'warehouse_preparation_inconsistent'
      -- It travels to another warehouse first.
      when exists (select from warehousing.waybill_deliveries w
        where w.tenant_id = d.tenant_id and w.delivery_id = coalesce(d.parent_id, d.id) and w.is_open) then 'warehouse_preparation_inconsistent'
    end as problem
    from delivery.deliveries d
    where d.tenant_id = v_tenant and d.id = any (delivery_ids)
    -- Kept apart: flattened, every problem would be looked for twice.
    offset 0
  ) p
  where p.problem is not null;
end $$;

-- Locks parcels and all their legs, whoever the caller is: parents by id, then legs by id; with an operational return also what it brings
-- back, which ends with it, and with a delivery of a store's order all that bring it, since another one may have to collect its fee. Every
-- core that moves a delivery begins with it. SECURITY DEFINER, because a driver does not see the parent of what they carry.
create or replace function delivery.lock_deliveries(delivery_ids uuid[]) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_parcels uuid[];
  v_orders uuid[];
begin
  select array_agg(distinct p.id), array_agg(distinct p.order_id) filter (where p.order_id is not null) into v_parcels, v_orders
  from delivery.deliveries d
  cross join lateral (values (coalesce(d.parent_id, d.id), d.order_id), (
    case d.delivery_flow when 'operational_return' then d.original_delivery_id end,
    case d.delivery_flow when 'operational_return' then (
      select o.order_id from delivery.deliveries o where o.tenant_id = d.tenant_id and o.id = d.original_delivery_id) end)) p (id, order_id)
  where d.tenant_id = v_tenant and d.id = any (delivery_ids) and p.id is not null;
  if v_orders is not null then
    v_parcels := v_parcels || array(select d.id from delivery.deliveries d where d.tenant_id = v_tenant and d.order_id = any (v_orders));
  end if;
  perform from delivery.deliveries d where d.tenant_id = v_tenant and d.id = any (v_parcels) order by d.id for no key update;
  perform from delivery.deliveries d where d.tenant_id = v_tenant and d.parent_id = any (v_parcels) order by d.id for no key update;
end $$;

grant execute on function delivery.lock_deliveries(uuid[]) to barid_caller;
