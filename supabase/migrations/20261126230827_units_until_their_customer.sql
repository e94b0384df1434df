-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.gave_back_of(p_delivery uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select r.original_delivery_id from delivery.deliveries d
    join delivery.deliveries r on r.tenant_id = d.tenant_id and r.id = d.original_delivery_id
      and r.delivery_flow = 'customer_return' and r.status = 'cancelled'
    where d.tenant_id = app.tenant_id() and d.id = p_delivery and d.delivery_flow = 'operational_return');
end $function$;

CREATE OR REPLACE FUNCTION delivery.lock_for_undo(p_delivery uuid)
 RETURNS delivery.deliveries
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
begin
  select * into d from delivery.deliveries x where x.id = p_delivery;
  if not found then
    perform delivery.delivery_unseen(p_delivery);
  end if;
  perform delivery.lock_deliveries(array[d.id, delivery.gave_back_of(d.id)] || delivery.made_of(delivery.parcel_of(d)));
  return delivery.delivery_to_move(d.id);
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
    (1, 'no_outcome_to_undo', o.id is null, jsonb_build_object('status', d.status)),
    (2, 'carrier_reports_outcome', d.carrier_type = 'external', '{}'),
    (3, 'outcome_already_undone', o.undone_at is not null, '{}'),
    (4, 'undo_period_over', now() > v_until, jsonb_build_object('undo_until', v_until)),
    -- It made another move.
    (5, 'outcome_went_on', delivery.last_move(d.id) > o.last_move_id, jsonb_build_object('status', d.status)),
    -- An assignment waits for its driver's answer, or another driver has it. A handover that was rejected does not count.
    (6, 'outcome_went_on', exists (select from delivery.assignments a where a.tenant_id = o.tenant_id and a.delivery_id = d.id
      and (a.status = 'pending' or (a.status in ('assigned', 'accepted') and a.driver_id is distinct from o.driver_id))),
      jsonb_build_object('status', d.status)),
    -- A return that it made is not in its driver's hands any more, or on its way to another driver's, or was lost; or another one was ordered since.
    (7, 'outcome_went_on', exists (select from delivery.deliveries r where r.tenant_id = o.tenant_id and r.original_delivery_id = v_parcel_id
      and r.created_at >= o.created_at and (r.status <> 'cancelled' or r.created_at = o.created_at)
      and ((r.created_at, r.status) is distinct from (o.created_at, 'picked_up')
        or not exists (select from delivery.assignments a where a.tenant_id = r.tenant_id and a.delivery_id = r.id
          and a.status in ('assigned', 'accepted') and a.driver_id = o.driver_id))),
      jsonb_build_object('delivery_ids', delivery.made_of(v_parcel_id))),
    -- A warehouse received it.
    (8, 'outcome_went_on', exists (select from warehousing.receiving_orders r where r.tenant_id = o.tenant_id and r.delivery_id = d.id
      and r.created_at >= o.created_at and r.status not in ('pending', 'cancelled')), '{}'),
    -- Of an operational return: the parcel that it brings back has become returned.
    (9, 'outcome_went_on', exists (select from delivery.delivery_status_history h
      join delivery.deliveries x on x.tenant_id = h.tenant_id and x.id = h.delivery_id
      where h.tenant_id = o.tenant_id and v_brought_back in (x.id, x.parent_id) and h.to_status = 'returned' and h.created_at >= o.created_at), '{}'),
    -- It gave something back, and its customer has ordered another return of that parcel.
    (9, 'outcome_went_on', d.status = 'delivered' and exists (select from delivery.deliveries r where r.tenant_id = o.tenant_id
      and r.original_delivery_id = delivery.gave_back_of(d.id) and r.created_at >= o.created_at and r.status <> 'cancelled'), '{}'),
    -- Its fee was given back since.
    (10, 'outcome_went_on', exists (select from money.payments p where p.tenant_id = o.tenant_id and p.type = 'REFUND'
      and p.delivery_id in (v_parcel_id, v_brought_back) and p.created_at >= o.created_at), '{}'),
    -- The store's order ended, or money of it was given back.
    (11, 'outcome_went_on', exists (select from storefront.storefront_orders s where s.tenant_id = o.tenant_id and s.id = d.order_id
      and (s.status not in ('shipped', 'delivered') or exists (select from money.payments p where p.tenant_id = s.tenant_id and p.order_id = s.id
        and p.type = 'REFUND' and p.created_at >= o.created_at))), '{}'),
    (12, 'outcome_is_settled', exists (select from money.cod_collections c where c.tenant_id = o.tenant_id and c.delivery_id = v_parcel_id
      and c.collected_at = o.created_at and c.status <> 'collected'), '{}'),
    (13, 'outcome_is_settled', exists (select from money.driver_pay p where p.tenant_id = o.tenant_id and p.delivery_id = d.id
      and p.accrued_at = o.created_at and p.status = 'paid'), '{}'),
    (14, 'outcome_is_settled', money.stated_since(v_parcel_id, o.created_at), '{}')
  ) x (place, code, applies, params) where x.applies order by x.place limit 1;
end $function$;

CREATE OR REPLACE FUNCTION delivery.return_counts(r delivery.deliveries)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return case
    when r.status = 'cancelled' then (r.delivery_flow = 'customer_return' or r.made_at_door) and (r.current_warehouse_id is not null or exists (
      select from delivery.deliveries b
      where b.tenant_id = r.tenant_id and b.original_delivery_id = r.id and b.delivery_flow = 'operational_return' and b.status <> 'cancelled'
        and (b.status <> 'delivered' or b.current_warehouse_id is not null)))
    when r.status = 'returned' and r.delivery_flow = 'customer_return' then r.current_warehouse_id is not null or exists (
      select from warehousing.receiving_orders n
      join warehousing.receiving_order_items i on i.tenant_id = n.tenant_id and i.receiving_order_id = n.id
      join warehousing.inventory_items k on k.tenant_id = i.tenant_id and k.id = i.item_id and k.parcel_delivery_id is null
      where n.tenant_id = r.tenant_id and n.delivery_id = r.id and n.status = 'received')
    else true end;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."gave_back_of"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."gave_back_of"(uuid) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126230827';
end $$;

grant execute on function private.schema_version() to barid_api;
