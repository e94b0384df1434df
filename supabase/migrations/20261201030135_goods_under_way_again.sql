-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.lock_outcome_effects(o delivery.outcomes, d delivery.deliveries)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(o.tenant_id);
  perform from storefront.storefront_orders x where x.tenant_id = o.tenant_id and x.id = d.order_id for no key update;
  perform from warehousing.receiving_orders r
  where r.tenant_id = o.tenant_id and r.id = (
    select p.receiving_order_id from storefront.storefront_order_parts p where p.tenant_id = o.tenant_id and p.delivery_id = d.id) for no key update;
  perform from delivery.drivers x where x.tenant_id = o.tenant_id and x.user_id = o.driver_id for no key update;
  perform from money.cod_collections c
  where c.tenant_id = o.tenant_id and c.delivery_id = delivery.parcel_of(d) and c.collected_at = o.created_at order by c.id for no key update;
  perform money.lock_open_handovers(c.driver_id, c.currency) from money.cod_collections c
  where c.tenant_id = o.tenant_id and c.delivery_id = delivery.parcel_of(d) and c.collected_at = o.created_at;
  perform from money.driver_pay p
  where p.tenant_id = o.tenant_id and p.delivery_id = d.id and p.status <> 'reversed' order by p.id for no key update;
  perform money.lock_carrier_cash(d, o.created_at);
end $function$;

CREATE OR REPLACE FUNCTION delivery.outcome_obstacle(o delivery.outcomes, d delivery.deliveries, OUT code text, OUT params jsonb)
 RETURNS record
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_parcel_id uuid := delivery.parcel_of(d);
  v_brought_back uuid := case d.delivery_flow when 'operational_return' then d.original_delivery_id end;
  v_until timestamptz := delivery.outcome_undo_until(o);
begin
  perform app.require_tenant(o.tenant_id);
  select x.code, x.params into code, params from (values
    -- Of a carrier's reports `delivered` alone leaves an outcome: after any other it reports again. One from before outcomes of carriers were
    -- kept left none: nobody knows any more what it changed.
    (1, 'carrier_reports_outcome', d.carrier_type = 'external' and d.status in ('failed', 'returned')
      and delivery.last_move(d.id) is distinct from o.last_move_id, '{}'),
    (2, 'no_outcome_to_undo', o.id is null or d.carrier_type = 'external' and d.status = 'delivered'
      and delivery.last_move(d.id) is distinct from o.last_move_id, jsonb_build_object('status', d.status)),
    (3, 'outcome_already_undone', o.undone_at is not null, '{}'),
    (4, 'undo_period_over', now() > v_until, jsonb_build_object('undo_until', v_until, 'until', app.clock(v_until))),
    -- It made another move.
    (5, 'outcome_went_on', delivery.last_move(d.id) > o.last_move_id, jsonb_build_object('status', d.status)),
    -- An assignment waits for its driver's answer, or another driver has it. A handover that was rejected does not count.
    (6, 'outcome_went_on', exists (select from delivery.assignments a where a.tenant_id = o.tenant_id and a.delivery_id = d.id
      and (a.status = 'pending' or (a.status in ('assigned', 'accepted') and a.driver_id is distinct from o.driver_id))),
      jsonb_build_object('status', d.status)),
    -- A return that it made is not in its driver's hands any more, or on its way to another driver's, or was lost; or another one was ordered since,
    -- and is not cancelled, or was fetched before that.
    (7, 'outcome_went_on', exists (select from delivery.deliveries r where r.tenant_id = o.tenant_id and r.original_delivery_id = v_parcel_id
      and r.created_at >= o.created_at and (r.status <> 'cancelled' or r.created_at = o.created_at or r.picked_up_at is not null)
      and ((r.created_at, r.status) is distinct from (o.created_at, 'picked_up')
        or not exists (select from delivery.assignments a where a.tenant_id = r.tenant_id and a.delivery_id = r.id
          and a.status in ('assigned', 'accepted') and a.driver_id = o.driver_id))),
      jsonb_build_object('delivery_ids', delivery.made_of(v_parcel_id))),
    -- A warehouse received it.
    (8, 'outcome_went_on', exists (select from warehousing.receiving_orders r where r.tenant_id = o.tenant_id and r.delivery_id = d.id
      and r.created_at >= o.created_at and r.status not in ('pending', 'cancelled')), '{}'),
    -- Or the goods that were in it, which its store expected back.
    (8, 'outcome_went_on', exists (select from storefront.storefront_order_parts p
      join warehousing.receiving_orders r on r.tenant_id = p.tenant_id and r.id = p.receiving_order_id
      where p.tenant_id = o.tenant_id and p.delivery_id = d.id and r.created_at >= o.created_at and r.status = 'received'), '{}'),
    -- Of an operational return: the parcel that it brings back has become returned.
    (9, 'outcome_went_on', exists (select from delivery.delivery_status_history h
      join delivery.deliveries x on x.tenant_id = h.tenant_id and x.id = h.delivery_id
      where h.tenant_id = o.tenant_id and v_brought_back in (x.id, x.parent_id) and h.to_status = 'returned' and h.created_at >= o.created_at), '{}'),
    -- It gave something back, and its customer has ordered another return of that parcel.
    (9, 'outcome_went_on', d.status = 'delivered' and exists (select from delivery.deliveries r where r.tenant_id = o.tenant_id
      and r.original_delivery_id = delivery.gave_back_of(d.id) and r.created_at >= o.created_at
      and (r.status <> 'cancelled' or r.picked_up_at is not null)), '{}'),
    -- It came back to the customer who sends it, and they have ordered another return since.
    (9, 'outcome_went_on', o.result = 'returned' and d.delivery_flow = 'customer_return' and exists (select from delivery.deliveries r
      where r.tenant_id = o.tenant_id and r.original_delivery_id = d.original_delivery_id and r.id <> d.id and r.created_at >= o.created_at
        and r.status <> 'cancelled'), '{}'),
    -- Its fee was given back since; by its return alone, that is reversed, unless a desk has paid it.
    (10, 'outcome_went_on', exists (select from money.payments p where p.tenant_id = o.tenant_id and p.type = 'REFUND'
      and p.delivery_id in (v_parcel_id, v_brought_back) and p.created_at >= o.created_at and p.status <> 'CANCELLED'
      and not (o.result = 'returned' and p.created_at = o.created_at and (p.payment_method = 'wallet' or p.status = 'pending'))), '{}'),
    -- The goods of a store's order are its stock again.
    (11, 'outcome_went_on', o.result = 'returned' and d.order_id is not null, '{}'),
    -- The store's order ended, or money of it was given back.
    (11, 'outcome_went_on', exists (select from storefront.storefront_orders s where s.tenant_id = o.tenant_id and s.id = d.order_id
      and (s.status not in ('shipped', 'delivered') or exists (select from money.payments p where p.tenant_id = s.tenant_id and p.order_id = s.id
        and p.type = 'REFUND' and p.created_at >= o.created_at))), '{}'),
    (12, 'outcome_is_settled', exists (select from money.cod_collections c where c.tenant_id = o.tenant_id and c.delivery_id = v_parcel_id
      and c.collected_at = o.created_at and c.status <> 'collected'), '{}'),
    (12, 'outcome_is_settled', exists (select from money.carrier_collections c where c.tenant_id = o.tenant_id and c.delivery_id = v_parcel_id
      and c.collected_at = o.created_at and c.status in ('remitted', 'written_off')), '{}'),
    (13, 'outcome_is_settled', exists (select from money.driver_pay p where p.tenant_id = o.tenant_id and p.delivery_id = d.id
      and p.accrued_at = o.created_at and p.status = 'paid'), '{}'),
    (14, 'outcome_is_settled', money.stated_since(v_parcel_id, o.created_at), '{}')
  ) x (place, code, applies, params) where x.applies order by x.place limit 1;
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_goods_unexpect(o storefront.storefront_orders, p_delivery uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  update warehousing.receiving_orders r set status = 'cancelled'
  from storefront.storefront_order_parts p
  where p.tenant_id = o.tenant_id and p.order_id = o.id and p.delivery_id = p_delivery
    and r.tenant_id = p.tenant_id and r.id = p.receiving_order_id and r.status = 'pending';
end $function$;

REVOKE ALL ON FUNCTION "storefront"."order_goods_unexpect"(storefront.storefront_orders, uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION storefront.orders_after_deliveries_moved()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_moved record;
  o storefront.storefront_orders;
begin
  for v_moved in
    select n.id, n.order_id, n.status, w.status as was, n.tenant_id, n.carrier_type from new_rows n join old_rows w on w.id = n.id
    where n.order_id is not null and n.status <> w.status and n.status in ('picked_up', 'in_transit', 'delivered', 'returned', 'cancelled')
    order by n.order_id, n.id
  loop
    select * into o from storefront.storefront_orders x where x.tenant_id = v_moved.tenant_id and x.id = v_moved.order_id for no key update;
    if v_moved.status in ('picked_up', 'in_transit', 'delivered') then
      perform storefront.order_part_leaves(p, v_moved.carrier_type = 'external')
      from storefront.storefront_order_parts p where p.tenant_id = o.tenant_id and p.delivery_id = v_moved.id;
      if o.status in ('approved', 'confirmed') then
        perform storefront.order_shipped(o);
        o.status := 'shipped';
      end if;
    end if;
    if v_moved.was = 'returned' then
      perform storefront.order_goods_unexpect(o, v_moved.id);
      perform storefront.order_fee_comes_back(o, v_moved.id);
    elsif v_moved.status in ('returned', 'cancelled') then
      perform storefront.order_fee_passes(o, v_moved.id);
    end if;
    -- Undone.
    if v_moved.was = 'delivered' or v_moved.was = 'returned' and o.status = 'delivered' then
      perform storefront.order_undelivered(o);
    elsif v_moved.status in ('delivered', 'returned', 'cancelled') and o.status = 'shipped' then
      perform storefront.order_after_delivery_ended(o);
    end if;
    if v_moved.status = 'cancelled' then
      perform storefront.order_stranded_notify(o.id, v_moved.id);
    end if;
  end loop;
  perform storefront.order_failed_notify(n)
  from new_rows n join old_rows w on w.id = n.id where n.order_id is not null and n.status = 'failed' and w.status <> 'failed';
  perform storefront.order_again_notify(n)
  from new_rows n join old_rows w on w.id = n.id
  where n.order_id is not null and n.status <> w.status and n.status in ('picked_up', 'in_transit') and w.status <> 'delivered';
  -- Goods that were sent back are received when their parcel is back, whatever becomes of the rest of the order.
  for v_moved in
    select p.order_id from new_rows n join old_rows w on w.id = n.id
    join delivery.deliveries p on p.tenant_id = n.tenant_id and p.id = n.original_delivery_id
    where n.delivery_flow = 'operational_return' and n.status = 'delivered' and w.status <> 'delivered' and p.order_id is not null
    order by p.order_id
  loop
    perform from storefront.storefront_orders x where x.tenant_id = app.tenant_id() and x.id = v_moved.order_id for no key update;
    perform storefront.order_goods_expect(v_moved.order_id);
  end loop;
  return null;
end $function$;

REVOKE ALL ON FUNCTION "storefront"."order_goods_unexpect"(storefront.storefront_orders, uuid) FROM PUBLIC;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201030135';
end $$;

grant execute on function private.schema_version() to barid_api;
