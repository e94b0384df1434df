-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION warehousing.receipt_entries(r warehousing.receiving_orders, details jsonb)
 RETURNS TABLE(place bigint, line uuid, item_id uuid, bin_id uuid, received_quantity bigint, condition text, damaged_quantity bigint)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return query
  select s.position - 1, s.line, s.item_id, s.bin_id, case when s.received_quantity is not null then s.come end, s.condition,
    case when s.damaged_quantity is not null then s.come - greatest(0, least(s.come, s.received - s.damaged_quantity - s.before))
      + case when s.is_last then greatest(0, s.damaged_quantity - s.received) else 0 end end
  from (
    select e.*, coalesce(e.received_quantity, e.whole) as received, case when e.received_quantity is null then e.quantity
      else greatest(0, case when e.is_last then e.received_quantity - e.before else least(e.quantity, e.received_quantity - e.before) end) end as come
    from (
      select n.*, o.id as line, o.quantity, (sum(o.quantity) over entry)::bigint as whole,
        (sum(o.quantity) over earlier)::bigint - o.quantity as before,
        lead(o.id) over earlier is null as is_last
      from rows from (jsonb_to_recordset(details)
        as (item_id uuid, bin_id uuid, received_quantity bigint, condition text, damaged_quantity bigint))
        with ordinality n (item_id, bin_id, received_quantity, condition, damaged_quantity, position)
      left join warehousing.receiving_order_items o on o.tenant_id = r.tenant_id and o.receiving_order_id = r.id
        and case when n.item_id is null then n.position = o.position else n.item_id = o.item_id end
      window entry as (partition by n.position), earlier as (partition by n.position order by o.position)
    ) e
  ) s;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.receipt_fill(r warehousing.receiving_orders, details jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_details jsonb := coalesce(nullif(details, 'null'), '[]');
  v_bin uuid := coalesce((v_details #>> '{0,bin_id}')::uuid, warehousing.default_receiving_bin(r.warehouse_id));
  v_wrong record;
begin
  select e.place, e.line is null as unknown, e.twice, e.item_id into v_wrong
  from (
    select n.*, row_number() over (partition by n.line order by n.place) > 1 and n.line is not null as twice,
      n.bin_id is not null and not exists (select from warehousing.bins b
        where b.tenant_id = r.tenant_id and b.warehouse_id = r.warehouse_id and b.id = n.bin_id) as nowhere
    from warehousing.receipt_entries(r, v_details) n) e
  where e.line is null or e.twice or e.nowhere
  order by e.place limit 1;
  if found then
    if v_wrong.unknown then
      perform app.fail('inventory_item_not_found', jsonb_build_object('field', format('item_details.%s.item_id', v_wrong.place)));
    elsif v_wrong.twice then
      perform app.fail('item_named_twice', jsonb_build_object('field',
        format('item_details.%s', v_wrong.place) || case when v_wrong.item_id is null then '' else '.item_id' end));
    end if;
    perform app.fail('bin_not_found', jsonb_build_object('field', format('item_details.%s.bin_id', v_wrong.place)));
  end if;
  update warehousing.receiving_order_items i set
    received_quantity = coalesce(n.received_quantity, i.quantity),
    bin_id = coalesce(n.bin_id, v_bin),
    condition = coalesce(n.condition, case when n.damaged_quantity > 0 or n.line is null and l.damaged > 0 then 'damaged' end, 'good'),
    damaged_quantity = least(coalesce(n.received_quantity, i.quantity),
      coalesce(n.damaged_quantity, case n.condition when 'damaged' then coalesce(n.received_quantity, i.quantity) end,
        case when n.line is null then l.damaged end, 0))
  from warehousing.receiving_order_items o
  left join warehousing.receipt_entries(r, v_details) n on n.line = o.id
  left join (select g.* from delivery.deliveries d cross join lateral warehousing.return_left_with(d) g
    where d.tenant_id = r.tenant_id and d.id = r.delivery_id) l on l.item_id = o.item_id
  where o.tenant_id = r.tenant_id and o.receiving_order_id = r.id and i.id = o.id;
  select e.place into v_wrong
  from warehousing.receipt_entries(r, v_details) e
  join warehousing.receiving_order_items i on i.tenant_id = r.tenant_id and i.id = e.line
  where e.damaged_quantity > i.received_quantity order by e.place limit 1;
  if found then
    perform app.fail('damaged_too_much', jsonb_build_object('field', format('item_details.%s.damaged_quantity', v_wrong.place)));
  end if;
  -- A line that nobody wrote of is wrong because of the bin that serves for all.
  select i.*, coalesce(n.place, 0) as place, case when n.bin_id is null then 0 else n.place end as bin_place,
    case when n.item_id is null then i.quantity else (select sum(x.quantity) from warehousing.receiving_order_items x
      where x.tenant_id = r.tenant_id and x.receiving_order_id = r.id and x.item_id = n.item_id) end as expected into v_wrong
  from warehousing.receiving_order_items i
  left join warehousing.receipt_entries(r, v_details) n on n.line = i.id
  left join warehousing.bins b on b.tenant_id = i.tenant_id and b.id = i.bin_id
  where i.tenant_id = r.tenant_id and i.receiving_order_id = r.id
    and (i.received_quantity > i.quantity or (i.received_quantity > 0 and b.is_active is not true))
  order by i.position limit 1;
  if found then
    if v_wrong.received_quantity > v_wrong.quantity then
      perform app.fail('received_too_much', jsonb_build_object('field', format('item_details.%s.received_quantity', v_wrong.place),
        'expected', v_wrong.expected));
    elsif v_wrong.bin_id is null then
      perform app.fail('bin_id_required_for_received_items', jsonb_build_object('field', format('item_details.%s.bin_id', v_wrong.place)));
    end if;
    perform app.fail('bin_inactive', jsonb_build_object('field', format('item_details.%s.bin_id', v_wrong.bin_place)));
  end if;
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201031512';
end $$;

grant execute on function private.schema_version() to barid_api;
