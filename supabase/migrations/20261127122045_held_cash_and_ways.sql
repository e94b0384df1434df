-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.assignments_begin()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
begin
  select * into d from delivery.deliveries x where x.tenant_id = new.tenant_id and x.id = new.delivery_id;
  new.from_warehouse_id := case when d.delivery_flow <> 'pnd_inbound' then d.current_warehouse_id end;
  new.to_warehouse_id := case when d.transfer_kind is not null and delivery.is_transferred(d) then d.dropoff_warehouse_id end;
  if new.route_details is null then
    new.route_details := delivery.straight_route(d, new.from_warehouse_id, new.to_warehouse_id);
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION delivery.routes_remeasure(delivery_ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION delivery.routes_to_measure(tenant uuid, assignment_ids text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('id', a.id, 'from', jsonb_build_array(p.from_latitude, p.from_longitude),
      'to', jsonb_build_array(p.to_latitude, p.to_longitude)) order by a.id), '[]')
    from delivery.assignments a
    join delivery.deliveries d on d.tenant_id = a.tenant_id and d.id = a.delivery_id
    cross join lateral delivery.work_places(d, a.from_warehouse_id, a.to_warehouse_id) p
    where a.tenant_id = tenant and a.id = any (app.uuids(assignment_ids::jsonb)) and a.route_details ->> 'source' is distinct from 'routing');
end $function$;

CREATE OR REPLACE FUNCTION delivery.straight_route(d delivery.deliveries, from_warehouse uuid, to_warehouse uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select jsonb_build_object('distance_km',
      round(app.distance_km(p.from_latitude, p.from_longitude, p.to_latitude, p.to_longitude)::numeric, 3), 'source', 'haversine')
    from delivery.work_places(d, from_warehouse, to_warehouse) p);
end $function$;

CREATE OR REPLACE FUNCTION delivery.work_places(d delivery.deliveries, from_warehouse uuid, to_warehouse uuid)
 RETURNS TABLE(from_latitude double precision, from_longitude double precision, to_latitude double precision, to_longitude double precision)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return query
    select f.latitude, f.longitude, t.latitude, t.longitude
    from delivery.addresses f
    join delivery.addresses t on t.tenant_id = d.tenant_id and t.id = coalesce(
      (select w.address_id from warehousing.warehouses w where w.tenant_id = d.tenant_id and w.id = to_warehouse), d.dropoff_address_id)
    where f.tenant_id = d.tenant_id and f.id = coalesce(
        (select w.address_id from warehousing.warehouses w where w.tenant_id = d.tenant_id and w.id = from_warehouse), d.pickup_address_id)
      and f.latitude is not null and t.latitude is not null;
end $function$;

CREATE OR REPLACE FUNCTION money.cod_holds_of(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(reference_id uuid, account_id uuid, carrier boolean, out_amount numeric, held numeric, later numeric, sound boolean, at_desk boolean)
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  -- Results are brought together by grouping, and rows are read by their keys (offset 0): without statistics a join may read all of one for
  -- each row of the other.
  with brought as (
    -- The rows that were in, by what brought them; there: a part of that lies on a desk.
    select m.kind, m.id, bool_or(m.lies) as there
    from (
      select 'cod_collection' as kind, i.cod_collection_id as id, i.payment_id as brought_by, false as lies
      from money.cod_settlement_items i
      join money.cod_settlements s on s.tenant_id = i.tenant_id and s.payment_id = i.payment_id
      where i.tenant_id = tenant and s.settled_at <= as_of and (s.reversed_at is null or s.reversed_at > as_of)
      union all
      select 'carrier_collection', p.carrier_collection_id, p.remittance_id, false from money.carrier_paid(tenant, as_of) p
      union all
      select p.reference_type, p.reference_id, p.brought_by, true
      from money.desk_parts p
      cross join lateral (
        select sum(n.amount) as amount from (
          select x.account_id, x.created_at, x.amount from money.desk_part_moves x where x.tenant_id = tenant and x.part_id = p.part_id offset 0) n
        where n.account_id = p.account_id and n.created_at <= as_of) m
      where p.tenant_id = tenant and p.reference_id is not null
      group by p.reference_type, p.reference_id, p.brought_by, p.account_id having sum(m.amount) <> 0
    ) m
    group by m.kind, m.id, m.brought_by having not bool_and(m.lies)
  ), held as (
    select m.kind, m.id, (array_agg((m.h).account_id order by (m.h).step) filter (where (m.h).step is not null))[1] as account_id,
      min((m.h).release) as release, sum((m.h).amount) as held,
      coalesce(-sum((m.h).amount) filter (where (m.h).counts_from > as_of), 0) as later, max((m.h).amount) as amount,
      count((m.h).step) = max((m.h).step) and count(distinct (m.h).account_id) = 1 and count(distinct abs((m.h).amount)) = 1 as sound,
      bool_or(m.there) is not null as is_in, coalesce(bool_or(m.there), false) as is_there
    from (
      select h.reference_type as kind, h.reference_id as id, null::boolean as there, h
      from money.wallet_holds h where h.tenant_id = tenant and h.created_at <= as_of
      union all
      select b.kind, b.id, b.there, null::money.wallet_holds from brought b
    ) m
    group by m.kind, m.id having count((m.h).step) > 0
  ), taken as (
    select h.*, coalesce(c.delivery_id, r.delivery_id) as delivery_id, coalesce(c.cod_amount, r.cod_amount) as cod_amount,
      not h.is_in and (c.id is null or c.reversed_at is null or c.reversed_at > as_of) as is_out
    from held h
    left join lateral (
      select x.id, x.tenant_id, x.delivery_id, x.cod_amount, x.reversed_at from money.cod_collections x
      where h.kind = 'cod_collection' and x.id = h.id offset 0) c on c.tenant_id = tenant
    left join lateral (
      select x.tenant_id, x.delivery_id, x.cod_amount from money.carrier_collections x
      where h.kind = 'carrier_collection' and x.id = h.id offset 0) r on r.tenant_id = tenant
  )
  select t.id, t.account_id, t.kind = 'carrier_collection',
    case when t.release <> 'on_delivery' and t.is_out or t.release = 'on_bank' and t.is_there then coalesce(t.cod_amount, 0) else 0 end,
    t.held, t.later,
    coalesce(t.sound and t.amount = t.cod_amount and exists (
      select from money.payments p where p.tenant_id = tenant and p.delivery_id = t.delivery_id and p.type = 'COD_COLLECTION'
        and p.account_id = t.account_id), false),
    coalesce(t.release = 'on_bank' and t.is_there, false)
  from taken t
$function$;

REVOKE ALL ON FUNCTION "delivery"."straight_route"(delivery.deliveries, uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."straight_route"(delivery.deliveries, uuid, uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."work_places"(delivery.deliveries, uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."work_places"(delivery.deliveries, uuid, uuid) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261127122045';
end $$;

grant execute on function private.schema_version() to barid_api;
